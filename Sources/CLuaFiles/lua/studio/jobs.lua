-- The functions that run in workers: exports, imports, rehearsals and completions. They see the globals of a script.
local jobs = {}

function jobs.export(results, file) return results:export(file) end

-- Rehearsals ----------------------------------------------------------------------------------------------------------

local shown

-- Whether a value is data that JSON cannot represent.
local function is_data(value) return type(value) == "string" and not utf8.len(value) end

local function start_of(text)
  local stop = #text > 200 and utf8.offset(text, 201) or #text + 1
  return stop > #text and text or string.sub(text, 1, stop - 1) .. "…"
end

-- Returns the elements of a list or set. The text of an object would contain its other properties.
local function elements(collection)
  local parts = {}
  for i = 1, math.min(#collection, 20) do parts[i] = shown(collection[i] == nil and error() or collection[i]) end
  return "[" .. table.concat(parts, ", ") .. (#collection > 20 and ", …]" or "]")
end

function shown(value)
  if value == nil then return "nil" end
  if type(value) == "string" then return is_data(value) and #value .. " bytes" or value end
  local is_object, class = pcall(moonpool.class_of, value)
  if is_object then return class .. " #" .. moonpool.id_of(value) end
  local is_list, text = pcall(elements, value)
  return is_list and text or moonpool.inspect and moonpool.inspect(value) or tostring(value)
end

-- Returns the objects of a class that differ between two stores.
local function compare(before, after, schema, new_schema, name, most)
  local rows, changed, class, new_class = {}, 0, schema[name] or {}, new_schema[name]
  local names, seen, key, later = {}, {}, nil, {}
  for _, list in ipairs { class, new_class or {} } do
    for _, pair in ipairs(list) do
      local kind = type(pair[2]) == "table" and pair[2].type or pair[2]
      if string.find(kind, " primary", 1, true) and list == class then key = pair[1] end
      if not seen[pair[1]] and not string.find(kind, "^backlinks") then
        names[#names + 1], seen[pair[1]] = pair[1], true
      end
    end
  end
  for _, pair in ipairs(new_class or {}) do later[pair[1]] = true end
  local function add(object, other)
    local identity, parts = object or other, {}
    for _, property in ipairs(names) do
      local is_old, old = pcall(function() return object[property] end)
      local is_new, new = pcall(function() return other[property] end)
      local first, second = object and is_old and shown(old) or "", other and is_new and shown(new) or ""
      if other and not later[property] then second = "dropped" end
      local is_empty = first == "" and second == "nil" or first == "nil" and second == "dropped"
      if first ~= second and not is_empty then
        local is_dropped = not other or not later[property]
        parts[#parts + 1] = {
          property = property, before = start_of(first), after = start_of(second), is_dropped = is_dropped,
        }
      end
    end
    if not parts[1] then return end
    changed = changed + 1
    if changed > most then return end
    local is_keyed, value = pcall(function() return identity[key] end)
    local shown_key = key and is_keyed and tostring(value) or "#" .. moonpool.id_of(identity)
    rows[changed] = { name = name .. " " .. start_of(shown_key), changes = parts }
  end
  local old, new = schema[name] and before:objects(name) or {}, new_class and after:objects(name) or {}
  local i, j = 1, 1
  while i <= #old or j <= #new do -- both are in the order of their numbers
    local first, second = old[i] and moonpool.id_of(old[i]) or math.huge, new[j] and moonpool.id_of(new[j]) or math.huge
    add(first <= second and old[i] or nil, second <= first and new[j] or nil)
    i, j = first <= second and i + 1 or i, second <= first and j + 1 or j
  end
  return { class = name, rows = rows, count = changed }
end

-- Applies the pending files of a folder to a copy of a store, and returns the differences as JSON. A store without
-- classes has no objects, so it is opened by its path.
function jobs.rehearse(objects, source, copy, dir, most, realm)
  local before = objects and moonpool.store_of(objects) or moonpool.open { path = source, read_only = true }
  local first = moonpool.migrate.status(before, { dir = dir }).pending[1]
  if realm and first and first.number <= before.schema_version then
    -- The first file has the schema of the Realm file, as `migrate plan` writes it; the data follow.
    moonpool.migrate.up(copy, { dir = dir, to = first.number, backup = false })
    local target <close> = moonpool.open { path = copy }
    target:import(realm.path, realm.options)
  else
    before:backup(copy)
  end
  local report = moonpool.migrate.up(copy, { dir = dir, backup = false })
  local after <close> = moonpool.open { path = copy, read_only = true }
  local schema, new_schema = before:schema(nil, { ordered = true }), after:schema(nil, { ordered = true })
  local names, list = {}, {}
  for name in pairs(schema) do names[#names + 1] = name end
  for name in pairs(new_schema) do names[#names + 1] = not schema[name] and name or nil end
  table.sort(names)
  for _, name in ipairs(names) do
    local found = compare(before, after, schema, new_schema, name, most)
    if found.count > 0 then list[#list + 1] = found end
  end
  local dropped = {}
  for _, applied in ipairs(report.applied) do
    for _, item in ipairs(applied.dropped) do
      dropped[#dropped + 1] = { name = item.name, count = item.count, what = item.what }
    end
  end
  return moonpool.json.encode { classes = list, dropped = dropped, count = #report.applied }
end

-- Imports -------------------------------------------------------------------------------------------------------------

-- Imports a file into a store. `name` is that of the file for the user.
local function import(target, path, options, name)
  local ok, report = pcall(target.import, target, path, options)
  if not ok then
    local message, shown = report.message or tostring(report), string.gsub(name, "%%", "%%%%")
    error(string.gsub(message, "/proc/%d+/fd/%d+", shown), 0)
  end
  return { created = report.created or 0, updated = report.updated or 0, notes = report.notes or {} }
end

function jobs.import(objects, path, options, name)
  return moonpool.json.encode(import(moonpool.store_of(objects), path, options, name))
end

-- Returns what a file contains: it is imported into a store in memory, which is then forgotten.
function jobs.preview(_, path, options, name)
  local into <close> = moonpool.open { in_memory = "preview " .. tostring(moonpool.uuid()) }
  local answer, names = import(into, path, options, name), {}
  answer.classes = {}
  for class, declared in pairs(into:schema(nil, { ordered = true })) do
    names[#names + 1] = not declared.embedded and class or nil
  end
  table.sort(names)
  for i, class in ipairs(names) do
    local found = { class = class, count = #into:objects(class), columns = {}, rows = {} }
    for _, pair in ipairs(into:schema(class, { ordered = true })) do
      local kind = type(pair[2]) == "table" and pair[2].type or pair[2]
      if not string.find(kind, "^backlinks") and #found.columns < 12 then
        found.columns[#found.columns + 1] = { name = pair[1], type = kind }
      end
    end
    for row = 1, math.min(6, found.count) do
      local object, texts = into:objects(class)[row], {}
      for column, property in ipairs(found.columns) do
        local value = object[property.name]
        local is_object, linked = pcall(moonpool.class_of, value)
        local is_counted, count = pcall(function() return type(value) ~= "string" and #value end)
        local text = value == nil and "nil" or is_data(value) and #value .. " bytes"
          or is_object and linked .. " #" .. moonpool.id_of(value)
          or is_counted and count and count .. " elements" or tostring(value)
        local cut = utf8.len(text) and utf8.offset(text, 61)
        texts[column] = cut and string.sub(text, 1, cut - 1) .. "…" or text
      end
      found.rows[row] = texts
    end
    answer.classes[i] = found
  end
  return moonpool.json.encode(answer)
end

-- Completions ---------------------------------------------------------------------------------------------------------

local escapes = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

-- Returns the values of a property that begin with a text, as literals of the predicate language.
function jobs.complete(objects, name, base, text, most)
  if base == "string" and text ~= "" then objects = objects:where("`" .. name .. "` beginswith[c] $1", text) end
  local literals = {}
  for object in objects:distinct(name):sorted(name):each() do
    local value = object[name]
    local shown = math.type(value) == "float" and moonpool.json.encode(value) or tostring(value)
    local is_valid = base == "string" and #shown <= 200 or base ~= "string" and string.find(shown, text, 1, true) == 1
    if value ~= nil and is_valid then
      literals[#literals + 1] = base == "string"
        and "'" .. string.gsub(string.gsub(value, "[\\']", "\\%0"), "[\n\t\r]", escapes) .. "'"
        or base == "uuid" and "uuid(" .. shown .. ")" or base == "object_id" and "oid(" .. shown .. ")" or shown
    end
    if #literals == most then break end
  end
  return moonpool.json.encode { values = literals }
end

return jobs

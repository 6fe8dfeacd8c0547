-- Texts that several commands of the prompt share.
local text = {}

-- Returns a number with thousands separators, followed by a noun in the singular or plural.
function text.count(number, noun, plural)
  local digits = string.reverse(string.format("%d", number))
  digits = string.reverse((string.gsub(string.gsub(digits, "(%d%d%d)", "%1,"), ",(-?)$", "%1")))
  if not noun then return digits end
  return digits .. " " .. (number == 1 and noun or plural or noun .. "s")
end

-- Returns a path as an argument of a shell command.
function text.shell_word(path)
  if string.find(path, "^[%w_+,./:=@%-\x80-\xff]+$") then return path end
  return "'" .. string.gsub(path, "'", "'\\''") .. "'"
end

function text.size(bytes)
  if bytes < 10 << 10 then return text.count(bytes) .. " bytes" end
  if bytes < 10 << 20 then return text.count(bytes >> 10) .. " KiB" end
  return text.count(bytes >> 20) .. " MiB"
end

-- Returns a duration in microseconds with its unit.
function text.duration(us)
  if us < 1000 then return math.floor(us) .. " µs" end
  if us < 1e6 then return math.floor(us / 100) / 10 .. " ms" end
  return math.floor(us / 10000) / 100 .. " s"
end

function text.sorted_keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- Returns the store of the prompt; raises an error if there is none.
function text.store()
  return prompt.store() or error('no store is open; open one with: store = moonpool.open "name.moonpool"', 0)
end

-- Returns the number of a version, with or without a leading `v`.
function text.version(word)
  return math.tointeger(tonumber(string.match(word, "^v?(%d+)$")))
    or error("expected the number of a version, got '" .. word .. "'; .history lists them", 0)
end

-- Returns what a function returns for the differences between two versions. Collects garbage afterward, because the
-- objects in the differences keep the versions, and with them space of the file.
function text.with_difference(store, first, second, body)
  local result = body(store:diff(first, second))
  collectgarbage()
  return result
end

-- Returns a property by its declaration, as `schema` returns it.
local function property(name, declaration)
  if type(declaration) == "table" then declaration = declaration.type end
  local origin = string.match(declaration, "^backlinks (%S+)%.[^.]+$")
  local kind = string.match(declaration, "^backlinks %S+") or string.match(declaration, "^%S+")
  local element, mark = string.match(kind, "^([^?%[<{]*)%??([%[<{]?)")
  return {
    name = name,
    type = kind,
    target = origin or not session.property_types[element] and element or nil,
    collection = mark ~= "" and mark or nil,
    is_backlinks = origin ~= nil,
    is_single = not origin and mark == "",
    is_primary = string.find(declaration, " primary", 1, true) ~= nil,
    is_full_text = string.find(declaration, " fulltext", 1, true) ~= nil,
  }
end

-- Returns the properties of a class in the order of the schema; nil for an unknown class.
function text.properties(store, class)
  local is_known, schema = pcall(store.schema, store, class, { ordered = true })
  if not is_known then return nil end
  for i, pair in ipairs(schema) do schema[i] = property(pair[1], pair[2]) end
  return schema
end

-- Returns the text of the primary key of an object; nil if its class has none.
local function key(object, class)
  for _, found in ipairs(text.properties(moonpool.store_of(object), class)) do
    if found.is_primary then return text.value(object[found.name]) end
  end
end

-- Returns a label such as `Dog 3`, or `Dog #17` for an object without a primary key.
function text.label(object)
  local class = moonpool.class_of(object)
  local is_readable, value = pcall(key, object, class)
  return class .. " " .. (is_readable and value or "#" .. moonpool.id_of(object))
end

-- Returns a value on one line.
function text.value(value)
  if type(value) == "string" then
    value = string.gsub(string.gsub(value, '[\\"]', "\\%0"), "[\n\t]", { ["\n"] = "\\n", ["\t"] = "\\t" })
    return prompt.truncate('"' .. value .. '"', 60)
  end
  if type(value) == "table" then
    local size = 0
    for _ in pairs(value) do size = size + 1 end
    return (size == #value and "a list of " or "a table of ") .. size
  end
  if pcall(moonpool.class_of, value) then return text.label(value) end
  return prompt.truncate(moonpool.inspect(value), 60)
end

-- Returns the number of changes of a version by class and property, in color: `+1 Dog ~2 Dog.age -1 Toy`.
function text.changes(version)
  local paint, parts = prompt.paint, {}
  local function add(sign, number, name, style)
    if number > 0 then parts[#parts + 1] = paint(sign .. text.count(number) .. " " .. name, style) end
  end
  if version.restored then parts[1] = "= version " .. version.restored end
  if version.changes_schema then parts[#parts + 1] = paint("schema", "word") end
  for _, name in ipairs(text.sorted_keys(version.classes)) do
    local class = version.classes[name]
    add("+", class.inserted, name, "added")
    for _, changed in ipairs(class.properties) do add("~", changed.count, name .. "." .. changed.name, "changed") end
    add("-", class.deleted, name, "removed")
  end
  return #parts == 0 and paint("no changes", "dim") or table.concat(parts, " ")
end

-- Returns a time, such as `14:02:11`; with the date if it is on another day.
function text.clock(date)
  local time, today = tostring(date), tostring(moonpool.date())
  if string.sub(time, 1, 10) == string.sub(today, 1, 10) then return string.sub(time, 12, 19) end
  return string.sub(time, 1, 10) .. " " .. string.sub(time, 12, 16)
end

-- Returns the time and the process of a commit, such as `14:02:11  repl (4711)`; empty if nothing is known.
function text.origin(commit)
  if not commit.time then return "" end
  local clock = text.clock(commit.time)
  if not commit.script then return clock .. "  another process" end
  return clock .. "  " .. commit.script .. " (" .. commit.process .. ")"
end

return text

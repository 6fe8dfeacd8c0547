-- What the studio does with a store: the requests of StudioProtocol.md over the public Lua API, on the script's thread.
-- `host` has the options of the command line, send(page, text), folder, pid, and the globals and the store of the script.
local host = ...
local null, encode_json = moonpool.null, moonpool.json.encode
local most_rows, longest_text, most_ranges, most_values, most_changes = 500, 200, 1000, 12, 20000

-- The target ------------------------------------------------------------------------------------------------------------

local title = host.target and host.target:match("[^/]*$") or "new store"

local function open_target()
  if host.socket then return host.store or error("no store is open in the script", 0) end
  if not host.target then return moonpool.open { in_memory = "studio" } end
  if not host.realm then return moonpool.open { path = host.target, read_only = host.read_only == "true" } end
  local copy = moonpool.open(host.to and { path = host.to } or { in_memory = title })
  local report = copy:import(host.target, {
    format = "realm", key = host.key, rescue = host.rescue == "true" or nil, dotnet_guids = host.dotnet_guids == "true" or nil,
  })
  for _, note in ipairs(report.notes) do io.stderr:write("moonpool: note: ", note, "\n") end
  return copy
end

local is_open, store = pcall(open_target)
if not is_open then return nil, store.message or tostring(store) end
local is_read_only = host.read_only == "true" or host.realm ~= nil or store.is_read_only
if host.socket then title = (store.path or "store"):match("[^/]*$") end

-- Classes ---------------------------------------------------------------------------------------------------------------

local classes, class_names, schema_version

-- Describes each class once per schema: its properties in declared order, with their forms and base types.
local function read_schema()
  classes, class_names = {}, {}
  for name, declared in pairs(store:schema(nil, { ordered = true })) do
    local class = { name = name, embedded = declared.embedded, properties = {}, keypaths = {} }
    for index, pair in ipairs(declared) do
      local text = type(pair[2]) == "table" and pair[2].type or pair[2]
      local base, rest = text:match("^([^%?%[<{%s]+)(.*)$")
      local property = { name = pair[1], type = text, base = base }
      if base == "backlinks" then
        property.form, property.base, property.path = "backlinks", rest:match("^%s+(.-)%.(.+)$")
      else
        property.form = rest:find("[", 1, true) and "list" or rest:find("<", 1, true) and "set" or rest:find("{", 1, true) and "map"
          or "value"
        if rest:find(" primary", 1, true) then class.key, class.key_property = pair[1], property end
      end
      class.properties[index], class.keypaths[index] = property, pair[1]
    end
    classes[name], class_names[#class_names + 1] = class, name
  end
  for _, class in pairs(classes) do
    for _, property in ipairs(class.properties) do
      if property.form == "value" and classes[property.base] then property.form = "link" end
    end
  end
  table.sort(class_names)
end

local function class_named(name)
  local class = classes[name]
  if not class then store:objects(name) end -- raises unknown_class
  return class
end

local function name_of(object)
  local class = moonpool.class_of(object)
  local key = classes[class].key
  return key and class .. " " .. tostring(object[key]) or class .. " #" .. moonpool.id_of(object)
end

-- Finds an object by its number: objects are in the order of their creation. `space` is the store at a version.
local function object_of(class, ref, space)
  local objects = (space or store):objects(class)
  local low, high = 1, #objects
  while low <= high do
    local middle = (low + high) // 2
    local id = moonpool.id_of(objects[middle])
    if id == ref then return objects[middle] end
    if id < ref then low = middle + 1 else high = middle - 1 end
  end
end

-- Earlier versions ------------------------------------------------------------------------------------------------------

local pages = {} -- by number: { subscriptions by id, is_welcome }
local past = {} -- the frozen stores in use, by version

-- Returns the store at a version, which stays open until the end of the request and of the subscriptions that use it.
local function space_of(version)
  if version == nil then return store end
  past[version] = past[version] or store:at(version)
  return past[version]
end

local function close_unused_versions()
  for version, space in pairs(past) do
    local is_used = false
    for _, page in pairs(pages) do
      for _, subscription in pairs(page.subscriptions) do is_used = is_used or subscription.space == space end
    end
    if not is_used then
      past[version] = nil
      space:close()
    end
  end
end

-- Values ----------------------------------------------------------------------------------------------------------------

local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(bytes)
  local text = bytes:gsub("..?.?", function(group)
    local a, b, c = group:byte(1, 3)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    local out = {}
    for i = 0, 3 do
      local index = (bits >> (18 - 6 * i) & 63) + 1
      out[i + 1] = i > #group and "=" or letters:sub(index, index)
    end
    return table.concat(out)
  end)
  return text
end

local function text_value(text, whole)
  if whole or (utf8.len(text) or #text) <= longest_text then return text end
  return { text = text:sub(1, utf8.offset(text, longest_text + 1) - 1), size = #text }
end

-- Returns a property or an element. The key of a map can be the name of a method.
local function element_of(container, key)
  local value = container[key]
  if type(value) == "function" then return container:get(key) end
  return value
end

-- Returns the form that a value of an object, list, set or map has in the protocol; base is its declared type.
local function value_of(container, key, base, whole)
  local value, kind = element_of(container, key), moonpool.type_of(container, key)
  if kind == "nil" or not kind then return null end
  if kind == "bool" then return value end
  if kind == "string" then return text_value(value, whole) end
  if kind == "int" then return -2 ^ 53 < value and value < 2 ^ 53 and value or { int = tostring(value) } end
  if kind == "double" and value - value == 0 and (base == "double" or value % 1 ~= 0) then return value end
  if kind == "object" then return { link = moonpool.class_of(value), ref = moonpool.id_of(value), text = name_of(value) } end
  if kind == "backlinks" then return { backlinks = base, count = #value } end
  if kind == "list" or kind == "set" or kind == "map" then
    local head, count = {}, math.min(whole and most_rows or 5, #value)
    if kind == "map" then
      for name in pairs(value) do
        if #head == count then break end
        head[#head + 1] = { name, value_of(value, name, base) }
      end
    else
      for i = 1, count do head[i] = value_of(value, i, base) end
    end
    return { [kind] = #value, head = head }
  end
  local text = tostring(value)
  if kind == "data" then return { data = base64(whole and text or text:sub(1, 48)), size = #text } end
  return { [kind] = text }
end

local function property_value(object, property, whole) return value_of(object, property.name, property.base, whole) end

local function row_of(object, class)
  local values = {}
  for i, property in ipairs(class.properties) do values[i] = property_value(object, property) end
  return { ref = moonpool.id_of(object), name = name_of(object), values = values }
end

-- Copies ----------------------------------------------------------------------------------------------------------------

local literal

-- Returns the Lua code that finds an object of the store.
local function reference(object)
  local class = classes[moonpool.class_of(object)]
  if class.key then return ("store:object(%q, %s)"):format(class.name, literal(object, class.key)) end
  local index = store:objects(class.name):index_of(object)
  return index and ("store:objects(%q)[%d]"):format(class.name, index) or "nil"
end

local function table_literal(object)
  local fields = {}
  for _, property in ipairs(classes[moonpool.class_of(object)].properties) do
    local name = property.name
    if property.form ~= "backlinks" and object[name] ~= nil then
      local is_name = name:find("^[%a_][%w_]*$") and load("local " .. name)
      fields[#fields + 1] = (is_name and name or ("[%q]"):format(name)) .. " = " .. literal(object, name)
    end
  end
  return fields[1] and "{ " .. table.concat(fields, ", ") .. " }" or "{}"
end

-- Returns the Lua code of a value in an object, list, set or map.
function literal(container, key)
  local value, kind = element_of(container, key), moonpool.type_of(container, key)
  if kind == "nil" then return "moonpool.null" end
  if kind == "object" then return classes[moonpool.class_of(value)].embedded and table_literal(value) or reference(value) end
  if kind == "list" or kind == "set" or kind == "map" then
    local items = {}
    if kind == "map" then
      for name in pairs(value) do items[#items + 1] = ("[%q] = %s"):format(name, literal(value, name)) end
    else
      for i = 1, #value do items[i] = literal(value, i) end
    end
    return items[1] and "{ " .. table.concat(items, ", ") .. " }" or kind == "map" and "moonpool.json.empty_object" or "{}"
  end
  if math.type(value) == "float" and value - value == 0 then
    local text = encode_json(value)
    return kind == "float" and "moonpool.float(" .. text .. ")" or text
  end
  if kind == "int" or kind == "double" or kind == "float" or kind == "bool" then return ("%q"):format(value) end
  local text = ("%q"):format(tostring(value)):gsub("\\\n", "\\n")
  return kind == "string" and text or "moonpool." .. kind .. "(" .. text .. ")"
end

local function csv_field(text)
  return (text == "" or text:find('[",\r\n]')) and '"' .. text:gsub('"', '""') .. '"' or text
end

local copies = { json = encode_json }

function copies.lua(object) return ("store:create(%q, %s)"):format(moonpool.class_of(object), table_literal(object)) end

function copies.csv(object)
  local names, fields, values = {}, {}, moonpool.json.decode(encode_json(object))
  for _, property in ipairs(classes[moonpool.class_of(object)].properties) do
    if property.form ~= "backlinks" then
      local value = values[property.name]
      local is_nil = value == nil or value == null
      names[#names + 1] = csv_field(property.name)
      fields[#fields + 1] = is_nil and "" or csv_field(type(value) == "string" and value or encode_json(value))
    end
  end
  return table.concat(names, ",") .. "\r\n" .. table.concat(fields, ",") .. "\r\n"
end

-- Messages --------------------------------------------------------------------------------------------------------------

local function reply(page, id, ok) host.send(page, encode_json { id = id, ok = ok }) end

local function report(page, id, err)
  local is_error, code = pcall(function() return err.code end)
  local message = is_error and err.message or tostring(err)
  local shown = { code = is_error and code or "invalid_argument", message = message }
  local text, space = message:match("\n  ([^\n]*)\n  ( *)%^")
  if text then
    shown.line, shown.column, shown.length, shown.text = 1, #space + 1, #message:match("%^~*"), text
    shown.message = message:match("^[^\n]*")
  end
  if type(err) == "table" then shown.current = err.current end
  host.send(page, encode_json { id = id, error = shown })
end

-- A subscription has at most one event that the page has not seen.
local function send_event(page, subscription, event)
  event.on, event.version = subscription.id, store.version
  subscription.unseen = true
  host.send(page, encode_json(event))
end

-- Changes ---------------------------------------------------------------------------------------------------------------

-- Changes that the page has not received are merged in pieces: the present rows in order, as ranges of the rows that the
-- page has ({ first, count, is_modified }) and of inserted rows ({ count }).

local function add_range(list, first, count)
  local last = list[#list]
  if last and last[1] + last[2] == first then last[2] = last[2] + count else list[#list + 1] = { first, count } end
end

local function ranges(indexes)
  local result = {}
  for _, index in ipairs(indexes) do add_range(result, index - 1, 1) end
  return result
end

-- Returns the pieces after one kind of change.
local function changed_pieces(pieces, kind, changed)
  local result, number, offset, index = {}, 1, 0, 0
  local function take(count, action)
    while count > 0 and pieces[number] do
      local piece = pieces[number]
      local taken = math.min(count, piece.count - offset)
      if action ~= "deletions" then
        local first = piece.first and piece.first + offset
        result[#result + 1] = { first = first, count = taken, is_modified = piece.is_modified or action == "modifications" }
      end
      count, offset = count - taken, offset + taken
      if offset == piece.count then number, offset = number + 1, 0 end
    end
  end
  for _, range in ipairs(changed) do
    take(range[1] - index)
    if kind == "insertions" then result[#result + 1] = { count = range[2] } else take(range[2], kind) end
    index = range[1] + range[2]
  end
  take(math.huge)
  return result
end

-- Returns the change set from `total` rows to the pieces.
local function change_of(pieces, total)
  local change = { deletions = {}, insertions = {}, modifications = {} }
  local old, new = 0, 0
  for _, piece in ipairs(pieces) do
    if piece.first then
      if piece.first > old then add_range(change.deletions, old, piece.first - old) end
      if piece.is_modified then add_range(change.modifications, piece.first, piece.count) end
      old = piece.first + piece.count
    else
      add_range(change.insertions, new, piece.count)
    end
    new = new + piece.count
  end
  if old < total then add_range(change.deletions, old, total - old) end
  change.total = new
  return change
end

-- The grid --------------------------------------------------------------------------------------------------------------

local function results_of(request)
  local space = space_of(request.at)
  class_named(request.class)
  local results = space:objects(request.class)
  if request.where and request.where:find("%S") then results = results:where(request.where) end
  local linked = request.linked
  if linked then
    local target = object_of(linked.class, linked.ref, space) or error("the linked object was deleted", 0)
    local found = class_named(request.class)
    for _, property in ipairs(found.properties) do
      if property.name == linked.property then
        results = results:where((property.form == "link" and "" or "any ") .. property.name .. " == $1", target)
      end
    end
  end
  local keys = {}
  for i, key in ipairs(request.sort or {}) do keys[i] = { key[1], key[2] == "descending" and "desc" or "asc" } end
  if #keys > 0 then results = results:sorted(keys) end
  return results
end

local function window_rows(subscription)
  local rows, results = {}, subscription.results
  for i = subscription.first + 1, math.min(subscription.first + subscription.count, #results) do
    rows[#rows + 1] = row_of(results[i], subscription.class)
  end
  return rows
end

local function set_window(subscription, request)
  local first = request.first or 0
  if math.type(first) ~= "integer" or first < 0 then error("'first' is not an index", 0) end
  subscription.first, subscription.count = first, math.min(request.count or 60, most_rows)
end

local function window_of(subscription)
  return {
    total = #subscription.results, all = #subscription.space:objects(subscription.class.name), version = subscription.space.version,
    first = subscription.first,
    rows = window_rows(subscription),
  }
end

-- Sends what has changed since the last event: one change set with the rows of the window, or a reset.
local function send_change(page, subscription)
  local pieces, first = subscription.pieces, subscription.first
  if not pieces then return end
  local event = pieces.reset and { reset = true, total = #subscription.results } or change_of(pieces, subscription.total)
  event.all = #store:objects(subscription.class.name)
  subscription.pieces, subscription.total = nil, event.total
  if not event.reset then
    local rows = {}
    local function add(from, to)
      for index = math.max(from, first), math.min(to, first + subscription.count) - 1 do
        local object = subscription.results[index + 1]
        if object then rows[tostring(index)] = row_of(object, subscription.class) end
      end
    end
    if event.deletions[1] or event.insertions[1] then
      add(0, math.huge)
    else
      for _, range in ipairs(event.modifications) do add(range[1], range[1] + range[2]) end
    end
    event.rows = next(rows) and rows or moonpool.json.empty_object
  end
  send_event(page, subscription, event)
end

local function reply_with_rows(page, id, request, subscription)
  local answer = window_of(subscription)
  subscription.total = answer.total
  answer.columns = subscription.class.properties
  if request.reveal then
    local object = object_of(request.class, request.reveal, subscription.space)
    answer.index = object and (subscription.results:index_of(object) or 0) - 1
  end
  reply(page, id, answer)
end

local function observe_rows(page, id, request, subscription)
  local function receive(change)
    if change.type == "error" then return report(page, id, change.error) end
    if change.type == "initial" then return reply_with_rows(page, id, request, subscription) end
    local pieces = subscription.pieces or { { first = 0, count = subscription.total } }
    if not pieces.reset then
      local count = 0
      for _, kind in ipairs { "modifications", "deletions", "insertions" } do
        local changed = ranges(change[kind])
        count = count + #changed
        if changed[1] and count <= most_ranges then pieces = changed_pieces(pieces, kind, changed) end
      end
      if count > most_ranges or #pieces > 2 * most_ranges then pieces = { reset = true } end
    end
    subscription.pieces = pieces
    if not subscription.unseen then send_change(page, subscription) end
  end
  return subscription.results:observe(function(change)
    local ok, err = pcall(receive, change)
    if not ok then report(page, id, err) end
  end, { keypaths = subscription.class.keypaths, name = "studio grid", hidden = true })
end

-- What follows each commit: the classes with their counts, and the inspected object ------------------------------------

local function schema_of()
  local list = {}
  for i, name in ipairs(class_names) do
    local class = classes[name]
    list[i] = { name = name, embedded = class.embedded, properties = class.properties, count = #store:objects(name) }
  end
  return { classes = list }
end

-- Returns each property that links to an object, with the number of objects.
local function links_to(object, class, space)
  local links, key = {}, class.key
  for _, name in ipairs(class_names) do
    for _, property in ipairs(classes[name].properties) do
      if property.base == class.name and property.form ~= "backlinks" then
        local any = property.form == "link" and "" or "any "
        local count = #space:objects(name):where(any .. property.name .. " == $1", object)
        local entry = { class = name, property = property.name, count = count }
        if key and (type(object[key]) == "string" or math.type(object[key]) == "integer") then
          local literal = type(object[key]) == "string" and '"' .. object[key]:gsub('[\\"]', "\\%0") .. '"' or tostring(object[key])
          entry.where = any .. property.name .. "." .. key .. " == " .. literal
        end
        links[#links + 1] = entry
      end
    end
  end
  return links
end

local function object_content(subscription)
  local object = object_of(subscription.class.name, subscription.ref, subscription.space)
  if not object then return { deleted = true } end
  local content = { name = name_of(object), class = subscription.class.name, ref = subscription.ref, properties = {} }
  for i, property in ipairs(subscription.class.properties) do
    content.properties[i] = { name = property.name, type = property.type, value = property_value(object, property) }
  end
  content.links = links_to(object, subscription.class, subscription.space)
  return content
end

-- Sends the content of a subscription if it differs from the last that was sent.
local function follow(page, subscription)
  if subscription.unseen then
    subscription.is_late = true
    return
  end
  local content = subscription.content(subscription)
  local text = encode_json(content)
  if text == subscription.last then return end
  subscription.last, subscription.is_late = text, nil
  send_event(page, subscription, content)
end

local function follow_all()
  for number, page in pairs(pages) do
    for _, subscription in pairs(page.subscriptions) do
      if subscription.content then
        local ok, err = pcall(follow, number, subscription)
        -- The content no longer exists, for example after a change of the schema.
        if not ok then
          subscription.content = nil
          report(number, subscription.id, err)
        end
      end
    end
  end
end

local function subscribe_content(page, id, subscription, content)
  local first = content(subscription)
  if (subscription.space or store) == store then subscription.content, subscription.last = content, encode_json(first) end
  first.version = store.version
  pages[page].subscriptions[id] = subscription
  reply(page, id, first)
end

-- Edits -----------------------------------------------------------------------------------------------------------------

local function fail(code, message, current) error({ code = code, message = message, current = current }, 0) end

local function check_writable()
  if is_read_only then fail("read_only", "the studio shows this store read-only") end
end

-- Code can do more than write to the store, so it is refused as a whole.
local function check_console()
  if not host.evaluate then fail("invalid_argument", "Lua code was switched off with --no-console") end
end

local function bytes_of(base64)
  local bits, count, out = 0, 0, {}
  for letter in base64:gmatch("[%w+/]") do
    bits, count = bits << 6 | letters:find(letter, 1, true) - 1, count + 6
    if count >= 8 then
      count = count - 8
      out[#out + 1] = string.char(bits >> count & 255)
    end
  end
  return moonpool.data(table.concat(out))
end

local function double_of(text)
  local special = { inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0, ["-nan"] = 0 / 0 }
  local number = special[text] or tonumber(text)
  return number and number + 0.0
end

-- The value of a text that a user has typed; nil for a text of another type.
local parsers = {
  bool = function(text) return ({ ["true"] = true, ["false"] = false })[text] end,
  int = function(text) return math.tointeger(tonumber(text:match("^[+-]?%d+$"))) end,
  double = double_of,
  float = function(text) return double_of(text) and moonpool.float(double_of(text)) end,
  decimal = moonpool.decimal, date = moonpool.date, uuid = moonpool.uuid, object_id = moonpool.object_id, data = bytes_of,
}

local function parsed(text, kind)
  local ok, value = pcall(parsers[kind], text)
  if ok and value ~= nil then return value end
  local message = not ok and (type(value) == "string" and value or value.message):match("^bad argument #1 to '[%w_]+' %((.*)%)$")
  fail("type_mismatch", message or ("expected %s, got '%s'"):format(kind, text))
end

local typed_value

local function linked_object(text, name)
  local class = class_named(name)
  if text:find(name .. " ", 1, true) == 1 then text = text:sub(#name + 2) end
  local ref = text:match("^#(%d+)$")
  local object
  if ref and not (class.key and class.key_property.base == "string") then
    object = object_of(name, math.tointeger(ref))
  elseif class.key then
    object = store:object(name, typed_value(text, class.key_property))
  end
  return object or fail("invalid_argument", ("there is no %s '%s'"):format(name, text))
end

-- Returns the value of a text that a user has typed for a property; `kind` is the type of a mixed property's present value.
function typed_value(text, property, kind)
  local base, form = property.base, property.form
  if base == "string" and form == "value" or kind == "string" then return text end
  local trimmed = text:match("^%s*(.-)%s*$")
  if trimmed == "" then return nil end
  if form == "link" then return linked_object(trimmed, base) end
  if form ~= "value" then
    local items = moonpool.json.decode(text)
    if type(items) ~= "table" then fail("type_mismatch", "expected a " .. form .. " in JSON, got '" .. trimmed .. "'") end
    local element = { base = base, form = classes[base] and "link" or "value" }
    for key, item in pairs(items) do
      if type(item) == "string" and base ~= "mixed" then items[key] = typed_value(item, element) end
    end
    return items
  end
  if base ~= "mixed" then return parsed(trimmed, base) end
  for _, candidate in ipairs { kind or "int", "int", "double", "bool" } do
    local ok, value = pcall(parsed, trimmed, candidate)
    if ok then return value end
  end
  return text
end

local function number_of(text) return math.tointeger(tonumber(text)) or tonumber(text) end

-- Returns the Lua value of a value in the protocol. `made` has the objects that earlier operations created.
local function decoded(value, property, made, kind)
  if value == null then return nil end
  if type(value) ~= "table" then return value end
  if value.typed then return typed_value(value.typed, property, kind) end
  if property.form == "list" or property.form == "set" or property.form == "map" then
    local items, element = {}, { base = property.base, form = "value" }
    for key, item in pairs(value) do
      items[key] = decoded(item, element, made)
      if items[key] == nil then items[key] = null end
    end
    return items
  end
  if value.link then
    local object = value.created and made[value.created + 1] or object_of(value.link, value.ref)
    return object or fail("invalid_object", "the linked object was deleted")
  end
  if value.int then return number_of(value.int) end
  for name, parse in pairs(parsers) do
    if type(value[name]) == "string" then return parse(value[name]) end
  end
  return value
end

local function property_named(class, name)
  for _, property in ipairs(class.properties) do
    if property.name == name then return property end
  end
  fail("unknown_property", ("there is no property '%s' in '%s'"):format(name, class.name))
end

local function is_same(first, second)
  if type(first) ~= "table" or type(second) ~= "table" then return first == second end
  for key, value in pairs(first) do
    if not is_same(value, second[key]) then return false end
  end
  for key in pairs(second) do
    if first[key] == nil then return false end
  end
  return true
end

-- Returns the object of an operation, its property, and the form of the property's elements.
local function subject_of(operation, made)
  local class = class_named(operation.class)
  local object = operation.created and made[operation.created + 1] or object_of(operation.class, operation.ref)
  if not object then fail("invalid_object", "the object was deleted") end
  local property = property_named(class, operation.property)
  return object, property, { base = property.base, form = classes[property.base] and "link" or "value" }
end

-- Each operation returns whether it changes something, and an object that it creates.
local operations = {}

function operations.create(operation, made)
  local class, values = class_named(operation.class), {}
  for name, value in pairs(operation.values or {}) do
    values[name] = decoded(value, property_named(class, name), made)
    if values[name] == nil then values[name] = null end
  end
  return true, store:create(operation.class, values)
end

-- Sets a property or, with `key`, an element of a list or map.
function operations.set(operation, made)
  local container, property, element = subject_of(operation, made)
  local key, is_map = property.name, false
  if operation.key ~= nil then
    is_map = moonpool.type_of(container, key) == "map"
    container, property = container[key], element
    key = is_map and operation.key or operation.key + 1
  end
  local before, short = value_of(container, key, property.base, true), value_of(container, key, property.base)
  local value = decoded(operation.value, property, made, moonpool.type_of(container, key))
  if is_map then container:set(key, value) else container[key] = value end
  local is_changed = encode_json(value_of(container, key, property.base, true)) ~= encode_json(before)
  local function was(old) return is_same(moonpool.json.decode(encode_json(old)), operation.was) end
  if is_changed and operation.was ~= nil and not (was(before) or was(short)) then
    fail("conflict", "the value has been changed meanwhile", short)
  end
  return is_changed
end

function operations.append(operation, made)
  local object, property, element = subject_of(operation, made)
  local collection, value = object[property.name], decoded(operation.value, element, made)
  local kind = moonpool.type_of(object, property.name)
  if kind == "set" then return collection:add(value) end
  if kind == "map" then collection:set(operation.key, value) else collection:append(value) end
  return true
end

function operations.remove(operation, made)
  local object, property, element = subject_of(operation, made)
  local collection, kind = object[property.name], moonpool.type_of(object, property.name)
  if kind == "list" then
    collection:remove(operation.key + 1)
    return true
  end
  return collection:remove(kind == "map" and operation.key or decoded(operation.value, element, made))
end

function operations.delete(operation)
  local object = object_of(class_named(operation.class).name, operation.ref)
  if object then store:delete(object) end
  return object ~= nil
end

-- Requests --------------------------------------------------------------------------------------------------------------

local requests = {}
local exports = 0
local send_output

local function subscription_of(page, request)
  local subscription = pages[page].subscriptions[request.on]
  if not subscription then error("there is no subscription " .. tostring(request.on), 0) end
  return subscription
end

function requests.hello(page, id, request)
  if request.protocol ~= 1 then error("this server supports version 1 of the protocol", 0) end
  pages[page].is_welcome = true
  reply(page, id, {
    title = title, read_only = is_read_only, console = host.evaluate ~= nil, stores = { title }, version = store.version, pid = host.pid,
    open_to = host.open_to or null, protocol = 1,
  })
end

function requests.schema(page, id) subscribe_content(page, id, { id = id }, schema_of) end

function requests.rows(page, id, request)
  local subscription = { id = id, class = class_named(request.class), results = results_of(request), space = space_of(request.at) }
  set_window(subscription, request)
  pages[page].subscriptions[id] = subscription
  if request.at then return reply_with_rows(page, id, request, subscription) end
  subscription.token = observe_rows(page, id, request, subscription)
end

function requests.window(page, id, request)
  local subscription = subscription_of(page, request)
  set_window(subscription, request)
  if subscription.pieces then -- the page has not received all changes, so it starts again
    subscription.pieces = { reset = true }
    if not subscription.unseen then send_change(page, subscription) end
    return reply(page, id, { stale = true })
  end
  reply(page, id, window_of(subscription))
end

function requests.seen(page, _, request)
  local subscription = pages[page].subscriptions[request.seen]
  if not subscription then return end
  subscription.unseen = nil
  if subscription.parts then send_output(page, subscription) end
  if subscription.is_late then follow(page, subscription) end
  send_change(page, subscription)
end

local function finish(subscription)
  if subscription.token then subscription.token:invalidate() end
  if subscription.worker then subscription.worker:stop(0) end
end

requests["end"] = function(page, id, request)
  local subscription = pages[page].subscriptions[request.on]
  if subscription then finish(subscription) end
  pages[page].subscriptions[request.on or 0] = nil
  reply(page, id, true)
end
requests.cancel = requests["end"]

function requests.object(page, id, request)
  subscribe_content(page, id, {
    id = id, class = class_named(request.class), ref = request.ref, space = space_of(request.at),
  }, object_content)
end

function requests.value(page, id, request)
  local class = class_named(request.class)
  local object = object_of(request.class, request.ref, space_of(request.at))
  for _, property in ipairs(class.properties) do
    if object and property.name == request.property then return reply(page, id, { value = property_value(object, property, true) }) end
  end
  error("the value does not exist", 0)
end

-- Replies with the properties that link to an object, or to any of several.
function requests.backlinks(page, id, request)
  local class, sums, links = class_named(request.class), {}, {}
  for _, ref in ipairs(request.refs or { request.ref }) do
    local object = object_of(request.class, ref)
    for i, link in ipairs(object and links_to(object, class, store) or {}) do
      if sums[i] then sums[i].count = sums[i].count + link.count else sums[i] = link end
    end
  end
  for i, link in ipairs(sums) do links[i] = link end
  reply(page, id, { links = links })
end

function requests.copy(page, id, request)
  local copy = copies[request.format] or error("unknown format '" .. tostring(request.format) .. "'; use lua, json or csv", 0)
  class_named(request.class)
  reply(page, id, { text = copy(object_of(request.class, request.ref, space_of(request.at)) or error("the object was deleted", 0)) })
end

-- Returns the code of an operation that has changed an object; for a deletion, it is made before.
local function code_of(operation, object)
  if operation["do"] == "create" then return copies.lua(object) end
  if operation["do"] == "delete" then return "store:delete(" .. reference(object) .. ")" end
  return ("%s[%q] = %s"):format(reference(object), operation.property, literal(object, operation.property))
end

local unchanged = {}
local committing = {} -- replies to requests whose transaction is committing

-- Runs the operations in one transaction: all or none. A transaction that changes nothing is not committed.
function requests.write(page, id, request)
  check_writable()
  store:write_async(function()
    local made, objects, code, is_changed = {}, {}, {}, false
    for i, operation in ipairs(request.operations) do
      local target = operation.ref and classes[operation.class] and object_of(operation.class, operation.ref)
      if target and operation["do"] == "delete" then code[#code + 1] = code_of(operation, target) end
      local run = operations[operation["do"]] or fail("invalid_argument", "unknown operation '" .. tostring(operation["do"]) .. "'")
      local changes, object = run(operation, made)
      is_changed, made[i] = is_changed or changes, object or false
      target = target or object or operation.created and made[operation.created + 1]
      if changes and target and operation["do"] ~= "delete" then code[#code + 1] = code_of(operation, target) end
      objects[i] = object and { class = operation.class, ref = moonpool.id_of(object) } or null
    end
    if not is_changed then error(unchanged, 0) end
    committing[#committing + 1] = function()
      host.record("store:write(function()\n  " .. table.concat(code, "\n  ") .. "\nend)")
      reply(page, id, { changed = true, version = store.version, objects = objects })
    end
  end, function(err)
    committing = {}
    if err == unchanged then return reply(page, id, { changed = false, version = store.version }) end
    report(page, id, err)
  end)
end

-- Reverses the last transaction, or restores the state of a version.
function requests.undo(page, id, request)
  check_writable()
  reply(page, id, { reversed = store:undo(request.version), version = store.version })
  host.record("store:undo(" .. (request.version or "") .. ")")
end

function requests.redo(page, id)
  check_writable()
  reply(page, id, { repeated = store:redo(), version = store.version })
  host.record("store:redo()")
end

local function versions_content()
  local list = {}
  for i, version in ipairs(store:versions()) do
    local changed = {}
    for name, counts in pairs(version.classes) do
      changed[#changed + 1] = { class = name, inserted = counts.inserted, deleted = counts.deleted, modified = counts.modified }
    end
    table.sort(changed, function(first, second) return first.class < second.class end)
    list[i] = {
      number = version.version, time = version.time and tostring(version.time), script = version.script, process = version.process,
      is_kept = version.is_kept, restored = version.restored, changes_schema = version.changes_schema, classes = changed,
    }
  end
  return { versions = list }
end

function requests.versions(page, id) subscribe_content(page, id, { id = id }, versions_content) end

-- Returns the number of changes between two versions, or more if an object was changed repeatedly.
local function count_changes(first, second)
  local count, low, high = 0, math.min(first, second), math.max(first, second)
  for _, version in ipairs(store:versions()) do
    if version.version > low and version.version <= high then
      for _, counts in pairs(version.classes) do count = count + counts.inserted + counts.deleted + counts.modified end
    end
  end
  return count
end

-- Replies with the objects that differ between two versions; none above 20,000 changes.
function requests.diff(page, id, request)
  local first, second = request.first, request.second or store.version
  local answer = { first = first, second = second, count = count_changes(first, second), rows = {} }
  if answer.count > most_changes or first == second then return reply(page, id, answer) end
  local older = first == store.version and store or space_of(first)
  local count = 0
  local function add(change, object, properties)
    count = count + 1
    if count > most_rows then return end
    answer.rows[count] = {
      class = moonpool.class_of(object), ref = moonpool.id_of(object), name = name_of(object), change = change, properties = properties,
    }
  end
  local difference = store:diff(first, second)
  for _, name in ipairs(class_names) do
    local changed = difference[name] or { inserted = {}, deleted = {}, modified = {} }
    for _, object in ipairs(changed.inserted) do add("inserted", object) end
    for _, entry in ipairs(changed.modified) do
      local old, properties = count < most_rows and object_of(name, moonpool.id_of(entry.object), older), {}
      for i, pair in ipairs(old and entry.properties or {}) do
        local property = property_named(classes[name], pair.name)
        properties[i] = { name = pair.name, before = property_value(old, property), after = property_value(entry.object, property) }
      end
      add("modified", entry.object, properties)
    end
    for _, object in ipairs(changed.deleted) do add("deleted", object) end
  end
  answer.count = count
  reply(page, id, answer)
end

-- Runs a function in a worker, which `end` stops. It posts whether it succeeded, and the result or a message for `finish`.
local function start_worker(page, id, name, body, finish, results, ...)
  local worker = moonpool.worker(name, body, results, ...)
  pages[page].subscriptions[id] = { id = id, worker = worker, space = results and moonpool.store_of(results) }
  worker:on_message(function(ok, result)
    if pages[page] then pages[page].subscriptions[id] = nil end
    if ok then finish(result) else report(page, id, result) end
  end)
end

local extensions = { csv = "csv", json = "json", jsonl = "jsonl", sqlite = "sqlite", lua = "lua" }

-- Offers a file in the folder to the page once, and returns its address, which has 32 random bytes.
local function offer(path, name)
  local digits = {}
  for i = 1, 3 do digits[i] = tostring(moonpool.uuid()):gsub("^(%x+)%-(%x+)%-%x+%-%x+%-", "%1%2") end
  local bytes = table.concat(digits):sub(1, 64):gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)
  local address = "/download/" .. base64(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" })
  host.send(0, address .. "\n" .. path .. "\n" .. name)
  return address
end

function requests.export(page, id, request)
  local extension = extensions[request.format]
  if not extension then error("unknown format '" .. tostring(request.format) .. "'; use csv, json, jsonl, sqlite or lua", 0) end
  exports = exports + 1
  local path = host.folder .. "/" .. exports .. "." .. extension
  start_worker(page, id, "studio export", function(results, file)
    local ok, count = pcall(results.export, results, file)
    moonpool.post_to_parent(ok, ok and count or count.message or tostring(count))
  end, function(count)
    if not pages[page] then return os.remove(path) end
    local name = request.class .. "." .. extension
    reply(page, id, { count = count, name = name, download = offer(path, name) })
  end, results_of(request), path)
end

-- Observers -------------------------------------------------------------------------------------------------------------

local function title_of(token) return token.name or "observer " .. token.number end

local function observer_of(request)
  for _, token in ipairs(moonpool.observers()) do
    if token.number == request.observer then return token end
  end
  error("the observer has ended", 0)
end

function requests.observers(page, id)
  local list = {}
  for i, token in ipairs(moonpool.observers()) do
    local stats, calls = token:stats(), token:calls()
    list[i] = {
      number = token.number, name = title_of(token), subject = token.subject, keypaths = stats.keypaths, calls = stats.calls,
      is_running = stats.is_running, version = calls[1] and calls[#calls].version, mean_us = stats.mean_us, source = stats.where,
    }
  end
  reply(page, id, { observers = list })
end

local function short_text(value)
  if pcall(moonpool.class_of, value) then return name_of(value) end
  if type(value) ~= "string" then return tostring(value) end
  local shown = text_value(value)
  return '"' .. (type(shown) == "table" and shown.text .. "…" or shown) .. '"'
end

-- Returns the changed objects of a call as nodes of a tree, with old and new values as far as the versions are kept.
local function cause_nodes(reason)
  local is_known, difference = pcall(store.diff, store, reason.previous_version, reason.version)
  local nodes = {}
  for i, cause in ipairs(reason.causes) do
    local class, node = is_known and difference[cause.class] or {}, { class = cause.class, ref = cause.id }
    local function found(kind)
      for _, entry in ipairs(class[kind] or {}) do
        local object = kind == "modified" and entry.object or entry
        if moonpool.id_of(object) == cause.id then return entry, object end
      end
    end
    local inserted, deleted, modified = found("inserted"), found("deleted"), found("modified")
    local object = cause.object or deleted
    node.text = (object and name_of(object) or cause.class .. " #" .. cause.id)
      .. (inserted and " was inserted" or (deleted or not cause.object) and " was deleted" or "")
    node.ref = cause.object and node.ref or nil
    local parts = {}
    for _, property in ipairs(modified and modified.properties or {}) do
      parts[#parts + 1] = { text = property.name .. ": " .. short_text(property.old) .. " → " .. short_text(property.new) }
    end
    if not parts[1] and #cause.properties > 0 then parts[1] = { text = table.concat(cause.properties, ", ") } end
    node.children, nodes[i] = parts, node
  end
  if reason.count > #nodes then nodes[#nodes + 1] = { text = reason.count - #nodes .. " more objects" } end
  return nodes
end

local function time_text(us)
  return us < 1000 and math.floor(us) .. " µs" or us < 1e6 and ("%.1f ms"):format(us / 1000) or ("%.2f s"):format(us / 1e6)
end

-- Replies with the last call of an observer as a tree: the commit, what it changed, and what the observer received.
function requests.why(page, id, request)
  local token = observer_of(request)
  local reason, stats = token:why(), token:stats()
  if not reason then return reply(page, id, { name = title_of(token) }) end
  local commits = reason.version - reason.previous_version
  local watched = reason.keypath and "key path " .. reason.keypath
    or #reason.properties > 0 and "properties " .. table.concat(reason.properties, ", ")
  local call = { text = ("%d %s, the call took %s"):format(reason.rows, reason.rows == 1 and "object" or "objects", time_text(stats.last_us)) }
  local observer = { text = title_of(token) .. (stats.where == "" and "" or " (" .. stats.where .. ")") .. ", of " .. token.subject, children = { call } }
  if stats.cost ~= "" then observer.children[2] = { text = "it " .. stats.cost } end
  local children = cause_nodes(reason)
  children[#children + 1] = watched and { text = watched, children = { observer } } or observer
  collectgarbage() -- the objects of the difference keep versions
  reply(page, id, { name = title_of(token), version = reason.version, tree = { {
    text = "version " .. reason.version .. (commits > 1 and ", " .. commits .. " commits after version " .. reason.previous_version or "")
      .. (reason.script and ", written by " .. reason.script or ""),
    time = reason.time and tostring(reason.time), children = children,
  } } })
end

-- Replies with the conditions under which an observer is called for an object, such as `Dog 3`.
function requests.whynot(page, id, request)
  local token, text = observer_of(request), request.object or ""
  local name, key = text:match("^%s*(%S+)%s+(.-)%s*$")
  if not name then fail("invalid_argument", "expected a class and a key, such as " .. (class_names[1] or "Dog") .. " 3") end
  local object = linked_object(key, name)
  local found = token:whynot(object)
  reply(page, id, {
    name = name_of(object), class = name, ref = moonpool.id_of(object), reasons = found.reasons, summary = found.summary, version = store.version,
  })
end

-- The schema and migrations ---------------------------------------------------------------------------------------------

-- Returns the classes that a text in Lua returns, as `moonpool schema` prints it.
local function classes_of(text)
  check_console()
  local chunk, message = load(text, "=schema", "t", { moonpool = moonpool })
  if not chunk then fail("invalid_schema", message) end
  local ok, found = pcall(chunk)
  if not ok or type(found) ~= "table" then
    fail("invalid_schema", ok and 'expected a schema, such as return { Dog = { name = "string" } }' or tostring(found))
  end
  return found
end

local loss_rules = { lost_values = "values", lost_objects = "objects" }

-- Returns the losses of a change of the schema, and the messages of what prevents it.
local function losses_of(found)
  local losses, problems = {}, {}
  for _, finding in ipairs(moonpool.migrate.lint(store, found)) do
    local what = loss_rules[finding.rule]
    if what then
      losses[#losses + 1] = { name = finding.name, count = finding.count, what = what }
    else
      problems[#problems + 1] = finding.message
    end
  end
  return losses, problems
end

function requests.schema_text(page, id) reply(page, id, { text = moonpool.schema_text(store) }) end

-- Replies with the migration to a schema, what it would lose, and what prevents it; with `dir`, the next file of a folder.
function requests.plan(page, id, request)
  if request.dir then check_console() end
  local found = request.text and classes_of(request.text) or store:schema(nil, { ordered = true })
  local losses, problems = losses_of(found)
  local script, name = moonpool.migrate.plan(store, found, request.dir and { dir = request.dir })
  if script and request.save then
    check_writable()
    local path = request.dir .. "/" .. name
    local known = io.open(path)
    if known then
      known:close()
      fail("invalid_argument", "'" .. path .. "' already exists")
    end
    local file = assert(io.open(path, "w"))
    file:write(script)
    file:close()
  end
  reply(page, id, { script = script or null, name = name, losses = losses, problems = problems })
end

-- Changes the schema to that of a text. `losses` has the names of the classes and properties whose loss is accepted.
function requests.define(page, id, request)
  check_writable()
  local found, accepted = classes_of(request.text), {}
  local losses, problems = losses_of(found)
  for _, name in ipairs(request.losses or {}) do accepted[name] = true end
  if problems[1] then fail("invalid_schema", table.concat(problems, "\n")) end
  for _, loss in ipairs(losses) do
    if not accepted[loss.name] then fail("migration_needed", ("accept the loss of %d %s of %s"):format(loss.count, loss.what, loss.name)) end
  end
  local lost = {}
  for _, name in ipairs(class_names) do lost[#lost + 1] = not found[name] and name or nil end
  store:define(found, function(migration)
    for _, name in ipairs(lost) do migration:delete_class(name) end
  end)
  local code = {}
  for i, name in ipairs(lost) do code[i] = ("  migration:delete_class(%q)\n"):format(name) end
  host.record("store:define((function()\n" .. request.text .. "\nend)(), function(migration)\n" .. table.concat(code) .. "end)")
  reply(page, id, { version = store.version })
end

function requests.migrations(page, id, request)
  local state = moonpool.migrate.status(store, { dir = request.dir })
  local list = {}
  for _, entry in ipairs(state.applied) do
    list[#list + 1] = { number = entry.number, name = entry.name, state = "applied", time = entry.applied_at, backup = entry.backup }
  end
  for _, entry in ipairs(state.pending) do list[#list + 1] = { number = entry.number, name = entry.name, state = "pending" } end
  reply(page, id, { migrations = list, problems = state.problems, notes = state.notes, state = state.state })
end

-- Applies the pending files to a copy, and replies with the objects that they change, and what they drop.
function requests.rehearse(page, id, request)
  check_console()
  exports = exports + 1
  local source, copy = store.path, host.folder .. "/rehearsal-" .. exports
  if not source then
    source = copy .. "-source"
    store:backup(source)
  end
  start_worker(page, id, "studio rehearsal", function(_, source, copy, dir, most)
    local function shown(value)
      if value == nil then return "nil" end
      if type(value) == "string" then return value end
      local is_object, class = pcall(moonpool.class_of, value)
      return is_object and class .. " #" .. moonpool.id_of(value) or moonpool.inspect and moonpool.inspect(value) or tostring(value)
    end
    local function compare(before, after, schema, new_schema, name)
      local rows, changed, class, new_class = {}, 0, schema[name] or {}, new_schema[name]
      local names, seen, key, later = {}, {}, nil, {}
      for _, list in ipairs { class, new_class or {} } do
        for _, pair in ipairs(list) do
          local kind = type(pair[2]) == "table" and pair[2].type or pair[2]
          if kind:find(" primary", 1, true) and list == class then key = pair[1] end
          if not seen[pair[1]] and not kind:find("^backlinks") then names[#names + 1], seen[pair[1]] = pair[1], true end
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
            parts[#parts + 1] = { property = property, before = first, after = second, is_dropped = not other or not later[property] }
          end
        end
        if not parts[1] then return end
        changed = changed + 1
        if changed > most then return end
        local is_keyed, value = pcall(function() return identity[key] end)
        rows[changed] = { name = name .. " " .. (key and is_keyed and tostring(value) or "#" .. moonpool.id_of(identity)), changes = parts }
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
    local ok, result = pcall(function()
      local before <close> = moonpool.open { path = source, read_only = true }
      before:backup(copy)
      local report = moonpool.migrate.up(copy, { dir = dir, backup = false })
      local after <close> = moonpool.open { path = copy, read_only = true }
      local schema, new_schema = before:schema(nil, { ordered = true }), after:schema(nil, { ordered = true })
      local names, list = {}, {}
      for name in pairs(schema) do names[#names + 1] = name end
      for name in pairs(new_schema) do names[#names + 1] = not schema[name] and name or nil end
      table.sort(names)
      for _, name in ipairs(names) do
        local found = compare(before, after, schema, new_schema, name)
        if found.count > 0 then list[#list + 1] = found end
      end
      local dropped, failures = {}, {}
      for _, applied in ipairs(report.applied) do
        for _, item in ipairs(applied.dropped) do dropped[#dropped + 1] = { name = item.name, count = item.count, what = item.what } end
      end
      return moonpool.json.encode { classes = list, dropped = dropped, count = #report.applied }
    end)
    for _, ending in ipairs { "", "-lock", "-source", "-source-lock" } do os.remove(copy .. ending) end
    moonpool.post_to_parent(ok, ok and result or result.message or tostring(result))
  end, function(report) host.send(page, '{"id":' .. encode_json(id) .. ',"ok":' .. report .. "}") end,
    nil, source, copy, request.dir, most_rows)
end

-- Applies the pending files to the store, with a backup.
function requests.migrate(page, id, request)
  check_console()
  check_writable()
  local report = moonpool.migrate.up(store, { dir = request.dir })
  reply(page, id, { count = #report.applied, backup = report.backup, version = store.version })
end

-- Imports ---------------------------------------------------------------------------------------------------------------

local formats = {
  csv = "csv", tsv = "csv", json = "json", jsonl = "jsonl", ndjson = "jsonl", sqlite = "sqlite", db = "sqlite", sqlite3 = "sqlite", realm = "realm", lua = "lua",
}

-- Imports an uploaded file, or shows what it contains: into the store, or into a store in memory that is then forgotten.
function requests.import(page, id, request)
  check_writable()
  local ending = tostring(request.name):lower():match("%.(%w+)$")
  local format = formats[ending]
  if not format then fail("invalid_argument", "unknown format '" .. tostring(request.name) .. "'; use CSV, JSON, JSON Lines, SQLite or .realm") end
  if not tostring(request.upload):find("^[%w_-]+$") then fail("invalid_argument", "unknown upload") end
  local path = host.folder .. "/upload-" .. request.upload
  local options = { format = format, class = (format == "csv" or format == "json" or format == "jsonl") and request.class or nil, separator = ending == "tsv" and "\t" or nil }
  local function finish(report)
    os.remove(path)
    reply(page, id, { created = report.created, updated = report.updated, notes = report.notes })
  end
  local function run(target, path, options)
    local report = target:import(path, options)
    return { created = report.created or 0, updated = report.updated or 0, notes = report.notes or {} }
  end
  if not request.preview and not store.path then return finish(run(store, path, options)) end
  start_worker(page, id, "studio import", function(_, target, path, options, name, file)
    local function import()
      local into = moonpool.open(target and { path = target } or { in_memory = name })
      local report = into:import(path, options)
      local answer = { created = report.created or 0, updated = report.updated or 0, notes = report.notes or {}, classes = {} }
      if target then return answer end
      local names = {}
      for name, class in pairs(into:schema(nil, { ordered = true })) do names[#names + 1] = not class.embedded and name or nil end
      table.sort(names)
      for i, name in ipairs(names) do
        local found = { class = name, count = #into:objects(name), columns = {}, rows = {} }
        for _, pair in ipairs(into:schema(name, { ordered = true })) do
          local kind = type(pair[2]) == "table" and pair[2].type or pair[2]
          if not kind:find("^backlinks") and #found.columns < 12 then found.columns[#found.columns + 1] = { name = pair[1], type = kind } end
        end
        for row = 1, math.min(6, found.count) do
          local object, texts = into:objects(name)[row], {}
          for column, property in ipairs(found.columns) do
            local value = object[property.name]
            local is_object, class = pcall(moonpool.class_of, value)
            local is_counted, count = pcall(function() return type(value) ~= "string" and #value end)
            local shown = value == nil and "nil" or is_object and class .. " #" .. moonpool.id_of(value) or is_counted and count and count .. " elements" or tostring(value)
            local cut = utf8.len(shown) and utf8.offset(shown, 61)
            texts[column] = cut and shown:sub(1, cut - 1) .. "…" or shown
          end
          found.rows[row] = texts
        end
        answer.classes[i] = found
      end
      into:close()
      return answer
    end
    local ok, result = pcall(import)
    local message = not ok and (result.message or tostring(result))
    moonpool.post_to_parent(ok, ok and moonpool.json.encode(result) or (message:gsub("%S*upload%-[%w_-]+", file)))
  end, function(text)
    local report = moonpool.json.decode(text)
    if request.preview then return reply(page, id, report) end
    finish(report)
  end, nil, not request.preview and store.path or nil, path, options, "preview " .. request.upload .. id, (request.name:gsub("%%", "%%%%")))
end

-- The console -----------------------------------------------------------------------------------------------------------

local number = 0 -- of the newest entry
local newest -- the newest entry: page, subscription, and the version after it

-- Sends the output that has arrived since the last call. Output of observers belongs to the newest entry if its commit
-- is the last one; other output is late.
function host.flush()
  local parts = host.take_output()
  local page = newest and pages[newest.page]
  if #parts == 0 or not page or newest.is_running then return end
  local subscription = newest.subscription
  subscription.late = subscription.late or store.version ~= newest.version
  subscription.parts = subscription.parts or {}
  for _, part in ipairs(parts) do
    if #subscription.parts < most_ranges then subscription.parts[#subscription.parts + 1] = part end
  end
  if not subscription.unseen then send_output(newest.page, subscription) end
end

function send_output(page, subscription)
  local parts, late = subscription.parts, subscription.late
  subscription.parts, subscription.late = nil, nil
  send_event(page, subscription, { parts = parts, late = late })
end

-- Runs an entry as the prompt does. The reply has its output; the output of the observers that it calls follows.
function requests.evaluate(page, id, request)
  check_console()
  if newest and newest.is_running then fail("invalid_argument", "another entry is running; stop it first") end
  if host.is_unfinished(request.text) then return reply(page, id, { unfinished = true }) end
  host.flush()
  if newest and pages[newest.page] then pages[newest.page].subscriptions[newest.subscription.id] = nil end
  number = number + 1
  newest = { page = page, subscription = { id = id }, is_running = true }
  if pages[page] then pages[page].subscriptions[id] = newest.subscription end
  host.evaluate(request.text)
end

local saving -- the page, the request and the path of a script that is being written

-- Writes the entries of the console and the changes in the page as a script.
function requests.save(page, id)
  check_console()
  if newest and newest.is_running then fail("invalid_argument", "an entry is running; stop it first") end
  exports = exports + 1
  saving = { page = page, id = id, path = host.folder .. "/" .. exports .. ".lua" }
  host.flush()
  host.evaluate(".save " .. saving.path)
end

-- Replies to the newest entry as soon as it has ended. It ran outside of this script, because a stop ends all running code.
function host.finish(has_succeeded)
  if saving then
    local saved, parts, text = saving, host.take_output(), {}
    saving = nil
    for i, part in ipairs(parts) do text[i] = part.text end
    if not has_succeeded then return report(saved.page, saved.id, table.concat(text)) end
    return reply(saved.page, saved.id, { name = "session.lua", download = offer(saved.path, "session.lua") })
  end
  newest.is_running, newest.version = false, store.version
  local parts = host.take_output()
  for _, part in ipairs(parts) do
    if part.kind == "result" and not has_succeeded then part.kind = "error" end
  end
  reply(newest.page, newest.subscription.id, { number = number, parts = parts, version = store.version })
end

-- The server stops the running code before it passes this request on.
function requests.interrupt(page, id) reply(page, id, true) end

-- Replies with the values of a property that begin with a text, as literals of the predicate language.
function requests.complete(page, id, request)
  if request.entry then return reply(page, id, host.complete and host.complete(request.entry) or { candidates = {}, replacing = 0 }) end
  local base
  for _, property in ipairs(class_named(request.class).properties) do
    if property.name == request.property and property.form == "value" then base = property.base end
  end
  if not base or base == "data" or base == "mixed" then error("the property has no values to complete", 0) end
  start_worker(page, id, "studio completion", function(objects, name, base, text, count)
    local ok, result = pcall(function()
      if base == "string" and text ~= "" then objects = objects:where("`" .. name .. "` beginswith[c] $1", text) end
      local literals = {}
      for object in objects:distinct(name):sorted(name):each() do
        local value = object[name]
        local shown = math.type(value) == "float" and moonpool.json.encode(value) or tostring(value)
        local is_valid = value ~= nil and (base == "string" and #value <= 200 or base ~= "string" and shown:find(text, 1, true) == 1)
        if is_valid then
          local escapes = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }
          literals[#literals + 1] = base == "string" and "'" .. value:gsub("[\\']", "\\%0"):gsub("[\n\t\r]", escapes) .. "'"
            or base == "uuid" and "uuid(" .. shown .. ")" or base == "object_id" and "oid(" .. shown .. ")" or shown
        end
        if #literals == count then break end
      end
      return literals
    end)
    moonpool.post_to_parent(ok, ok and result or result.message or tostring(result))
  end, function(values) reply(page, id, { values = values }) end,
    store:objects(request.class), request.property, base, request.text or "", most_values)
end

-- The place of --open-to: a view, or a class with a predicate.
local views = { data = true, schema = true, observers = true, history = true, migrations = true }
if host.open_to and not views[host.open_to] then
  read_schema()
  local class, rest = host.open_to:match("^%s*(%S+)(.*)$")
  local is_valid, err = pcall(results_of, { class = class or "", where = rest and rest:match("^%s+where%s+(.+)$") })
  if not is_valid then return nil, err.message end
end

-- The life of a page ----------------------------------------------------------------------------------------------------

-- The store of the console, which a running process has already; a read-only copy in memory is frozen.
if not host.evaluate then
  host.flush, host.finish = nil, nil
elseif not host.socket then
  host.globals.store = host.realm and store:freeze() or store
  host.record("store = moonpool.open " .. (host.target and ("%q"):format(host.target) or '{ in_memory = "studio" }'))
end

read_schema()
schema_version = encode_json(store:schema())
host.observer = store:observe(function(type)
  if type ~= "did_change" then return end
  local committed = committing
  committing = {}
  for _, answer in ipairs(committed) do answer() end
  local now = encode_json(store:schema())
  if now ~= schema_version then
    schema_version = now
    read_schema()
  end
  follow_all()
end, { name = "studio", hidden = true })

return function(page, text)
  if not page then -- the studio has gone
    host.observer:invalidate()
    for _, left in pairs(pages) do
      for _, subscription in pairs(left.subscriptions) do finish(subscription) end
    end
    pages = {}
    return close_unused_versions()
  end
  if not text then -- the page has gone
    for _, subscription in pairs((pages[page] or { subscriptions = {} }).subscriptions) do finish(subscription) end
    pages[page] = nil
    return close_unused_versions()
  end
  pages[page] = pages[page] or { subscriptions = {} }
  local is_json, request = pcall(moonpool.json.decode, text)
  if not is_json or type(request) ~= "table" then return report(page, null, "the message is not a JSON object") end
  if request.seen then return requests.seen(page, nil, request) end
  local run = requests[request["do"]]
  if not run or run == requests.seen or not (pages[page].is_welcome or run == requests.hello) then
    return host.send(page, encode_json {
      id = request.id or null, error = { code = "invalid_argument", message = "unknown request '" .. tostring(request["do"]) .. "'" },
    })
  end
  local ok, err = pcall(run, page, request.id, request)
  if not ok then report(page, request.id or null, err) end
  close_unused_versions()
end

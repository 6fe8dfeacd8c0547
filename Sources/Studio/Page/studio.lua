-- What the studio does with a store: the requests of StudioProtocol.md over the public Lua API, on the script's thread.
-- `host` has the options of the command line and send(page, text), offer(path, name), folder, pid.
local host = ...
local null, encode_json = moonpool.null, moonpool.json.encode
local most_rows, longest_text, most_ranges, most_values = 500, 200, 1000, 12

-- The target ------------------------------------------------------------------------------------------------------------

local title = host.target and host.target:match("[^/]*$") or "new store"

local function open_target()
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
local is_read_only = host.read_only == "true" or host.realm ~= nil

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
        if rest:find(" primary", 1, true) then class.key = pair[1] end
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

-- Finds an object by its number: objects are in the order of their creation.
local function object_of(class, ref)
  local objects = store:objects(class)
  local low, high = 1, #objects
  while low <= high do
    local middle = (low + high) // 2
    local id = moonpool.id_of(objects[middle])
    if id == ref then return objects[middle] end
    if id < ref then low = middle + 1 else high = middle - 1 end
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

-- Returns the form that a value of an object, list, set or map has in the protocol; base is its declared type.
local function value_of(container, key, base, whole)
  local value, kind = container[key], moonpool.type_of(container, key)
  if kind == "nil" then return null end
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
  local value, kind = container[key], moonpool.type_of(container, key)
  if kind == "nil" then return "moonpool.null" end
  if kind == "object" then
    local class = classes[moonpool.class_of(value)]
    if class.embedded then return table_literal(value) end
    if class.key then return ("store:object(%q, %s)"):format(class.name, literal(value, class.key)) end
    return ("store:objects(%q)[%d]"):format(class.name, store:objects(class.name):index_of(value))
  end
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

local pages = {} -- by number: { subscriptions by id, is_welcome }

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
  class_named(request.class)
  local results = store:objects(request.class)
  if request.where and request.where:find("%S") then results = results:where(request.where) end
  local linked = request.linked
  if linked then
    local target = object_of(linked.class, linked.ref) or error("the linked object was deleted", 0)
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
    total = #subscription.results, all = #store:objects(subscription.class.name), version = store.version, first = subscription.first,
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

local function observe_rows(page, id, request, subscription)
  return subscription.results:observe(function(change)
    if change.type == "error" then return report(page, id, change.error) end
    if change.type == "initial" then
      local answer = window_of(subscription)
      subscription.total = answer.total
      answer.columns = subscription.class.properties
      if request.reveal then
        local object = object_of(request.class, request.reveal)
        answer.index = object and (subscription.results:index_of(object) or 0) - 1
      end
      return reply(page, id, answer)
    end
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
  end, { keypaths = subscription.class.keypaths, name = "studio grid" })
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

local function object_content(subscription)
  local object = object_of(subscription.class.name, subscription.ref)
  if not object then return { deleted = true } end
  local content = { name = name_of(object), class = subscription.class.name, ref = subscription.ref, properties = {}, links = {} }
  for i, property in ipairs(subscription.class.properties) do
    content.properties[i] = { name = property.name, type = property.type, value = property_value(object, property) }
  end
  local key = subscription.class.key
  for _, name in ipairs(class_names) do
    for _, property in ipairs(classes[name].properties) do
      if property.base == subscription.class.name and property.form ~= "backlinks" then
        local any = property.form == "link" and "" or "any "
        local entry = {
          class = name, property = property.name, count = #store:objects(name):where(any .. property.name .. " == $1", object),
        }
        if key and (type(object[key]) == "string" or math.type(object[key]) == "integer") then
          local literal = type(object[key]) == "string" and '"' .. object[key]:gsub('[\\"]', "\\%0") .. '"' or tostring(object[key])
          entry.where = any .. property.name .. "." .. key .. " == " .. literal
        end
        content.links[#content.links + 1] = entry
      end
    end
  end
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
      if subscription.content then follow(number, subscription) end
    end
  end
end

local function subscribe_content(page, id, subscription, content)
  subscription.content = content
  local first = content(subscription)
  subscription.last = encode_json(first)
  first.version = store.version
  pages[page].subscriptions[id] = subscription
  reply(page, id, first)
end

-- Requests --------------------------------------------------------------------------------------------------------------

local requests = {}
local exports = 0

local function subscription_of(page, request)
  local subscription = pages[page].subscriptions[request.on]
  if not subscription then error("there is no subscription " .. tostring(request.on), 0) end
  return subscription
end

function requests.hello(page, id, request)
  if request.protocol ~= 1 then error("this server supports version 1 of the protocol", 0) end
  pages[page].is_welcome = true
  reply(page, id, {
    title = title, read_only = is_read_only, console = false, stores = { title }, version = store.version, pid = host.pid,
    open_to = host.open_to or null, protocol = 1,
  })
end

function requests.schema(page, id) subscribe_content(page, id, { id = id }, schema_of) end

function requests.rows(page, id, request)
  local subscription = { id = id, class = class_named(request.class), results = results_of(request) }
  set_window(subscription, request)
  subscription.token = observe_rows(page, id, request, subscription)
  pages[page].subscriptions[id] = subscription
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
  subscribe_content(page, id, { id = id, class = class_named(request.class), ref = request.ref }, object_content)
end

function requests.value(page, id, request)
  local class = class_named(request.class)
  local object = object_of(request.class, request.ref)
  for _, property in ipairs(class.properties) do
    if object and property.name == request.property then return reply(page, id, { value = property_value(object, property, true) }) end
  end
  error("the value does not exist", 0)
end

function requests.backlinks(page, id, request)
  reply(page, id, { links = object_content { class = class_named(request.class), ref = request.ref }.links or {} })
end

function requests.copy(page, id, request)
  local copy = copies[request.format] or error("unknown format '" .. tostring(request.format) .. "'; use lua, json or csv", 0)
  class_named(request.class)
  reply(page, id, { text = copy(object_of(request.class, request.ref) or error("the object was deleted", 0)) })
end

-- Runs a function in a worker, which `end` stops. It posts whether it succeeded, and the result or a message for `finish`.
local function start_worker(page, id, name, body, finish, ...)
  local worker = moonpool.worker(name, body, ...)
  pages[page].subscriptions[id] = { id = id, worker = worker }
  worker:on_message(function(ok, result)
    if pages[page] then pages[page].subscriptions[id] = nil end
    if ok then finish(result) else report(page, id, result) end
  end)
end

local extensions = { csv = "csv", json = "json", jsonl = "jsonl", sqlite = "sqlite", lua = "lua" }

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
    reply(page, id, { count = count, name = name, download = host.offer(path, name) })
  end, results_of(request), path)
end

-- Replies with the values of a property that begin with a text, as literals of the predicate language.
function requests.complete(page, id, request)
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

-- The place of --open-to: data, or a class with a predicate.
if host.open_to == "data" then host.open_to = nil end
if host.open_to then
  read_schema()
  local class, rest = host.open_to:match("^%s*(%S+)(.*)$")
  local is_valid, err = pcall(results_of, { class = class or "", where = rest and rest:match("^%s+where%s+(.+)$") })
  if not is_valid then return nil, err.message end
end

-- The life of a page ----------------------------------------------------------------------------------------------------

read_schema()
schema_version = encode_json(store:schema())
host.observer = store:observe(function(type)
  if type ~= "did_change" then return end
  local now = encode_json(store:schema())
  if now ~= schema_version then
    schema_version = now
    read_schema()
  end
  follow_all()
end, { name = "studio" })

return function(page, text)
  if not text then -- the page has gone
    for _, subscription in pairs((pages[page] or { subscriptions = {} }).subscriptions) do finish(subscription) end
    pages[page] = nil
    return
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
end

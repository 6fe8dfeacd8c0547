-- Writes: operations in one transaction, undo and redo.
local studio = ...
local host, store, requests, classes, fail = studio.host, studio.store, studio.requests, studio.classes, studio.fail
local null, encode_json = moonpool.null, moonpool.json.encode

local function subject_of(operation, made)
  local class = studio.class_named(operation.class)
  local object = operation.created and made[operation.created + 1] or studio.object_of(operation.class, operation.ref)
  if not object then fail("invalid_object", "the object was deleted") end
  local property = studio.property_named(class, operation.property)
  return object, property, { base = property.base, form = classes[property.base] and "link" or "value" }
end

-- Returns the list, set or map of an operation, its kind, and its element as a property.
local function collection_of(operation, made)
  local object, property, element = subject_of(operation, made)
  local kind = moonpool.type_of(object, property.name)
  if kind ~= "list" and kind ~= "set" and kind ~= "map" then
    fail("invalid_argument", "'" .. property.name .. "' is not a list, a set or a map")
  end
  return object[property.name], kind, element
end

-- Returns the key of an element: a text in a map, otherwise an index.
local function key_of(operation, kind)
  local key, is_map = operation.key, kind == "map"
  if type(key) ~= (is_map and "string" or "number") then
    studio.expected(is_map and "a text" or "a whole number", "key", key)
  end
  return is_map and key or key + 1
end

-- Each operation returns whether it changes something, and an object that it creates.
local operations = {}

function operations.create(operation, made)
  local class, values = studio.class_named(operation.class), {}
  for name, value in pairs(operation.values or {}) do
    values[name] = studio.decoded(value, studio.property_named(class, name), made)
    if values[name] == nil then values[name] = null end
  end
  return true, store:create(operation.class, values)
end

-- Sets a property or, with `key`, an element of a list or map.
function operations.set(operation, made)
  local container, property = subject_of(operation, made)
  local key, kind = property.name, nil
  if operation.key then
    container, kind, property = collection_of(operation, made)
    if kind == "set" then fail("invalid_argument", "a set has no keys; append and remove its elements") end
    key = key_of(operation, kind)
  end
  local before = studio.value_of(container, key, property.base, true)
  local short = studio.value_of(container, key, property.base)
  local value = studio.decoded(operation.value, property, made, moonpool.type_of(container, key))
  if kind == "map" then container:set(key, value) else container[key] = value end
  local is_changed = encode_json(studio.value_of(container, key, property.base, true)) ~= encode_json(before)
  local function was(old) return studio.is_same(moonpool.json.decode(encode_json(old)), operation.was) end
  if is_changed and operation.was ~= nil and not (was(before) or was(short)) then
    fail("conflict", "the value has been changed meanwhile", short)
  end
  return is_changed
end

function operations.append(operation, made)
  local collection, kind, element = collection_of(operation, made)
  local value = studio.decoded(operation.value, element, made)
  if kind == "set" then return collection:add(value) end
  if kind == "map" then collection:set(key_of(operation, kind), value) else collection:append(value) end
  return true
end

function operations.remove(operation, made)
  local collection, kind, element = collection_of(operation, made)
  if kind == "set" then return collection:remove(studio.decoded(operation.value, element, made)) end
  local is_removed = collection:remove(key_of(operation, kind))
  return kind == "list" or is_removed
end

function operations.delete(operation)
  local object = studio.object_of(studio.class_named(operation.class).name, operation.ref)
  if object then store:delete(object) end
  return object ~= nil
end

local function code_of(operation, object)
  if operation["do"] == "create" then return studio.copies.lua { object } end
  if operation["do"] == "delete" then return "store:delete(" .. studio.reference(object) .. ")" end
  local reference, name = studio.reference(object), operation.property
  return string.format("%s[%q] = %s", reference, name, studio.literal(object, name))
end

local unchanged = {}

-- Runs the operations in one transaction: all or none. A transaction that changes nothing is not committed.
function requests.write(page, id, request)
  store:write_async(function()
    local made, objects, code, is_changed = {}, {}, {}, false
    for i, operation in ipairs(request.operations) do
      local target = operation.ref and classes[operation.class] and studio.object_of(operation.class, operation.ref)
      if target and operation["do"] == "delete" then code[#code + 1] = code_of(operation, target) end
      local changes, object = operations[operation["do"]](operation, made)
      is_changed, made[i] = is_changed or changes, object or false
      target = target or object or operation.created and made[operation.created + 1]
      if changes and target and operation["do"] ~= "delete" then code[#code + 1] = code_of(operation, target) end
      objects[i] = object and { class = operation.class, ref = moonpool.id_of(object) } or null
    end
    if not is_changed then error(unchanged, 0) end
    studio.committing[#studio.committing + 1] = function()
      host.record("store:write(function()\n  " .. table.concat(code, "\n  ") .. "\nend)")
      studio.reply(page, id, { changed = true, version = store.version, objects = objects })
    end
  end, function(err)
    studio.committing = {}
    if err == unchanged then return studio.reply(page, id, { changed = false, version = store.version }) end
    studio.report(page, id, err)
  end)
end

-- Reverses the last transaction, or restores the state of a version.
function requests.undo(page, id, request)
  studio.reply(page, id, { reversed = store:undo(request.version), version = store.version })
  host.record("store:undo(" .. (request.version or "") .. ")")
end

function requests.redo(page, id)
  studio.reply(page, id, { repeated = store:redo(), version = store.version })
  host.record("store:redo()")
end

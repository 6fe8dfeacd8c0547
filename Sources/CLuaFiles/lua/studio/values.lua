-- Values: from the store to the page, and from what a user has typed to the store.
local studio = ...
local null, encode_json, fail, classes = moonpool.null, moonpool.json.encode, studio.fail, studio.classes
local longest_text = 200

-- Returns bytes in Base64.
function studio.base64(bytes) return string.sub(encode_json { moonpool.data(bytes) }, 3, -3) end

function studio.text_value(text, whole)
  local start, is_cut = studio.start_of(text, longest_text)
  return whole and text or is_cut and { text = start, size = #text } or start
end

-- Returns a property or an element. The key of a map can be the name of a method.
function studio.element_of(container, key)
  local value = container[key]
  if type(value) == "function" then return container:get(key) end
  return value
end

-- Returns the form that a value of an object, list, set or map has in the protocol; base is its declared type.
function studio.value_of(container, key, base, whole)
  local value, kind = studio.element_of(container, key), moonpool.type_of(container, key)
  if kind == "nil" or not kind then return null end
  if kind == "bool" then return value end
  if kind == "string" then return studio.text_value(value, whole) end
  if kind == "int" then return -2 ^ 53 < value and value < 2 ^ 53 and value or { int = tostring(value) } end
  if kind == "double" and value - value == 0 and (base == "double" or value % 1 ~= 0) then
    -- JavaScript prints a negative zero without its sign.
    return value == 0 and 1 / value < 0 and { double = "-0.0" } or value
  end
  if kind == "object" then
    return { link = moonpool.class_of(value), ref = moonpool.id_of(value), text = studio.name_of(value) }
  end
  if kind == "backlinks" then return { backlinks = base, count = #value } end
  if kind == "list" or kind == "set" or kind == "map" then
    local head, count = {}, math.min(whole and studio.most_rows or 5, #value)
    if kind == "map" then
      for name in pairs(value) do
        if #head == count then break end
        local shown = whole and name or studio.start_of(name, longest_text)
        head[#head + 1] = { shown, studio.value_of(value, name, base, whole) }
      end
    else
      for i = 1, count do head[i] = studio.value_of(value, i, base, whole) end
    end
    return { [kind] = #value, head = head }
  end
  local text = tostring(value)
  if kind == "data" then return { data = studio.base64(whole and text or string.sub(text, 1, 48)), size = #text } end
  return { [kind] = text }
end

function studio.property_value(object, property, whole)
  return studio.value_of(object, property.name, property.base, whole)
end

function studio.row_of(object, class)
  local values = {}
  for i, property in ipairs(class.properties) do values[i] = studio.property_value(object, property) end
  return { ref = moonpool.id_of(object), name = studio.name_of(object), values = values }
end

local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function bytes_of(base64)
  local bits, count, out = 0, 0, {}
  for letter in string.gmatch(base64, "[%w+/]") do
    bits, count = bits << 6 | string.find(letters, letter, 1, true) - 1, count + 6
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
  int = function(text) return math.tointeger(tonumber(string.match(text, "^[+-]?%d+$"))) end,
  double = double_of,
  float = function(text) return double_of(text) and moonpool.float(double_of(text)) end,
  decimal = moonpool.decimal, date = moonpool.date, uuid = moonpool.uuid, object_id = moonpool.object_id,
  data = bytes_of,
}

local function parsed(text, kind)
  local ok, value = pcall(parsers[kind], text)
  if ok and value ~= nil then return value end
  local message = not ok and (type(value) == "string" and value or value.message)
  message = message and string.match(message, "^bad argument #1 to '[%w_]+' %((.*)%)$")
  fail("type_mismatch", message or string.format("expected %s, got '%s'", kind, text))
end

function studio.linked_object(text, name)
  local class = studio.class_named(name)
  if string.find(text, name .. " ", 1, true) == 1 then text = string.sub(text, #name + 2) end
  local ref = string.match(text, "^#(%d+)$")
  local object
  if ref and not (class.key and class.key_property.base == "string") then
    object = studio.object_of(name, math.tointeger(ref))
  elseif class.key then
    object = studio.store:object(name, studio.typed_value(text, class.key_property))
  end
  return object or fail("invalid_argument", string.format("%s '%s' does not exist", name, text))
end

-- Returns the value of a text that a user has typed for a property. `kind` is the type of the present value of a mixed
-- property.
function studio.typed_value(text, property, kind)
  local base, form = property.base, property.form
  if base == "string" and form == "value" or kind == "string" then return text end
  local trimmed = string.match(text, "^%s*(.-)%s*$")
  if trimmed == "" then return nil end
  local owned = form == "link" and classes[base].embedded and classes[base]
  if form == "link" and not owned then return studio.linked_object(trimmed, base) end
  if form ~= "value" then
    local items = moonpool.json.decode(text)
    if type(items) ~= "table" then
      local expected = owned and "an object" or "a " .. form
      fail("type_mismatch", "expected " .. expected .. " in JSON, got '" .. trimmed .. "'")
    end
    local element = { base = base, form = classes[base] and "link" or "value" }
    for key, item in pairs(items) do
      if type(item) == "string" and base ~= "mixed" then
        items[key] = studio.typed_value(item, owned and studio.property_named(owned, key) or element)
      end
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

-- Returns the Lua value of a value in the protocol. `made` has the objects that earlier operations created.
function studio.decoded(value, property, made, kind)
  if value == null then return nil end
  if type(value) ~= "table" then return value end
  if value.typed then
    if type(value.typed) ~= "string" then studio.expected("a text", "typed", value.typed) end
    return studio.typed_value(value.typed, property, value.kind or kind)
  end
  if property.form == "list" or property.form == "set" or property.form == "map" then
    local items, element = {}, { base = property.base, form = classes[property.base] and "link" or "value" }
    for key, item in pairs(value) do
      items[key] = studio.decoded(item, element, made)
      if items[key] == nil then items[key] = null end
    end
    return items
  end
  if value.link then
    local ref, created = math.tointeger(value.ref), math.tointeger(value.created)
    if type(value.link) ~= "string" then studio.expected("the name of a class", "link", value.link) end
    local object = created and made[created + 1] or studio.object_of(studio.class_named(value.link).name, ref)
    return object or fail("invalid_object", "the linked object was deleted")
  end
  for name in pairs(parsers) do
    if type(value[name]) == "string" then return parsed(value[name], name) end
  end
  return value
end

function studio.is_same(first, second)
  if type(first) ~= "table" or type(second) ~= "table" then return first == second end
  for key, value in pairs(first) do
    if not studio.is_same(value, second[key]) then return false end
  end
  for key in pairs(second) do
    if first[key] == nil then return false end
  end
  return true
end

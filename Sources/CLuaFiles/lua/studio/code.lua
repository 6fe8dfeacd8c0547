-- Objects and values as Lua code, JSON and CSV.
local studio = ...
local null, encode_json, classes = moonpool.null, moonpool.json.encode, studio.classes

local literal

-- Returns the Lua code that finds an object of the store.
function studio.reference(object)
  local class = classes[moonpool.class_of(object)]
  if class.key then return string.format("store:object(%q, %s)", class.name, literal(object, class.key)) end
  local index = studio.store:objects(class.name):index_of(object)
  return index and string.format("store:objects(%q)[%d]", class.name, index) or "nil"
end

local function table_literal(object)
  local fields = {}
  for _, property in ipairs(classes[moonpool.class_of(object)].properties) do
    local name = property.name
    if property.form ~= "backlinks" and object[name] ~= nil then
      local is_name = string.find(name, "^[%a_][%w_]*$") and load("local " .. name)
      fields[#fields + 1] = (is_name and name or string.format("[%q]", name)) .. " = " .. literal(object, name)
    end
  end
  return fields[1] and "{ " .. table.concat(fields, ", ") .. " }" or "{}"
end

-- Returns the Lua code of a value in an object, list, set or map.
function literal(container, key)
  local value, kind = studio.element_of(container, key), moonpool.type_of(container, key)
  if kind == "nil" then return "moonpool.null" end
  if kind == "object" then
    return classes[moonpool.class_of(value)].embedded and table_literal(value) or studio.reference(value)
  end
  if kind == "list" or kind == "set" or kind == "map" then
    local items = {}
    if kind == "map" then
      for name in pairs(value) do items[#items + 1] = string.format("[%q] = %s", name, literal(value, name)) end
    else
      for i = 1, #value do items[i] = literal(value, i) end
    end
    if items[1] then return "{ " .. table.concat(items, ", ") .. " }" end
    return kind == "map" and "moonpool.json.empty_object" or "{}"
  end
  if math.type(value) == "float" and value - value == 0 then
    local text = encode_json(value)
    return kind == "float" and "moonpool.float(" .. text .. ")" or text
  end
  if kind == "int" or kind == "double" or kind == "float" or kind == "bool" then return string.format("%q", value) end
  local text = string.gsub(string.format("%q", tostring(value)), "\\\n", "\\n")
  if kind == "data" then
    text = string.gsub(text, "[\x80-\xff]", function(byte) return string.format("\\x%02x", string.byte(byte)) end)
  end
  return kind == "string" and text or "moonpool." .. kind .. "(" .. text .. ")"
end

local function csv_field(text)
  return (text == "" or string.find(text, '[",\r\n]')) and '"' .. string.gsub(text, '"', '""') .. '"' or text
end

-- The forms in which objects of a class can be copied.
local copies = {}
studio.copies = copies

function copies.json(objects) return encode_json(objects[2] and objects or objects[1]) end

function copies.lua(objects)
  local lines = {}
  for i, object in ipairs(objects) do
    lines[i] = string.format("store:create(%q, %s)", moonpool.class_of(object), table_literal(object))
  end
  return table.concat(lines, "\n")
end

function copies.csv(objects)
  local names, lines = {}, {}
  for i, object in ipairs(objects) do
    local fields, values = {}, moonpool.json.decode(encode_json(object))
    for _, property in ipairs(classes[moonpool.class_of(object)].properties) do
      if property.form ~= "backlinks" then
        local value = values[property.name]
        local is_nil = value == nil or value == null
        fields[#fields + 1] = is_nil and "" or csv_field(type(value) == "string" and value or encode_json(value))
        names[#fields] = csv_field(property.name)
      end
    end
    lines[i] = table.concat(fields, ",") .. "\r\n"
  end
  return table.concat(names, ",") .. "\r\n" .. table.concat(lines)
end

studio.literal = literal

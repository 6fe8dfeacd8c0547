-- The classes of the store, and the names of their objects.
local studio = ...
local store, classes, class_names = studio.store, studio.classes, studio.class_names
local longest_key = 100
local constants = { "not", "true", "false", "nil", "null", "truepredicate", "falsepredicate" }

-- Describes each class once per schema: its properties in declared order, with their forms and base types, and the
-- properties of all classes that link to it.
function studio.read_schema()
  studio.schema_number = (studio.schema_number or 0) + 1
  for name in pairs(classes) do classes[name] = nil end
  for i = #class_names, 1, -1 do class_names[i] = nil end
  for name, declared in pairs(store:schema(nil, { ordered = true })) do
    local class = { name = name, embedded = declared.embedded, properties = {}, keypaths = {}, links = {} }
    for index, pair in ipairs(declared) do
      local text = type(pair[2]) == "table" and pair[2].type or pair[2]
      local base, rest = string.match(text, "^([^%?%[<{%s]+)(.*)$")
      local property = { name = pair[1], type = text, base = base }
      if base == "backlinks" then
        property.form, property.base, property.path = "backlinks", string.match(rest, "^%s+(.-)%.(.+)$")
      else
        property.form = string.find(rest, "[", 1, true) and "list" or string.find(rest, "<", 1, true) and "set"
          or string.find(rest, "{", 1, true) and "map"
          or "value"
        if string.find(rest, " primary", 1, true) then class.key, class.key_property = pair[1], property end
      end
      class.properties[index], class.keypaths[index] = property, pair[1]
    end
    classes[name], class_names[#class_names + 1] = class, name
  end
  table.sort(class_names)
  for _, name in ipairs(class_names) do
    for _, property in ipairs(classes[name].properties) do
      local target = property.form ~= "backlinks" and classes[property.base]
      if target and property.form == "value" then property.form = "link" end
      if target then target.links[#target.links + 1] = { class = name, property = property } end
    end
  end
end

function studio.class_named(name)
  local class = classes[name]
  if not class then store:objects(name) end -- raises unknown_class
  return class
end

function studio.property_named(class, name)
  for _, property in ipairs(class.properties) do
    if property.name == name then return property end
  end
  studio.fail("unknown_property", string.format("'%s' has no property '%s'", class.name, name))
end

-- Returns the name of a property as predicates contain it.
function studio.quoted(name)
  for _, word in ipairs(constants) do
    if string.lower(name) == word then return "`" .. name .. "`" end
  end
  return name
end

-- Returns the first characters of a text, and whether it has more.
function studio.start_of(text, count)
  local stop = #text > count and utf8.offset(text, count + 1) or #text + 1
  return string.sub(text, 1, stop - 1), stop <= #text
end

function studio.name_of(object)
  local class = moonpool.class_of(object)
  local key = classes[class].key
  if not key then return class .. " #" .. moonpool.id_of(object) end
  local text, is_cut = studio.start_of(tostring(object[key]), longest_key)
  return class .. " " .. text .. (is_cut and "…" or "")
end

-- Finds an object by its number: objects are in the order of their creation. `space` is the store at a version.
function studio.object_of(class, ref, space)
  if math.type(ref) ~= "integer" then return end
  local objects = (space or store):objects(class)
  local low, high = 1, #objects
  while low <= high do
    local middle = (low + high) // 2
    local id = moonpool.id_of(objects[middle])
    if id == ref then return objects[middle] end
    if id < ref then low = middle + 1 else high = middle - 1 end
  end
end

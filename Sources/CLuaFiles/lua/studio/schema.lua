-- The classes of the store, and the names of their objects.
local studio = ...
local store, classes, class_names = studio.store, studio.classes, studio.class_names

-- Describes each class once per schema: its properties in declared order, with their forms and base types.
function studio.read_schema()
  for name in pairs(classes) do classes[name] = nil end
  for i = #class_names, 1, -1 do class_names[i] = nil end
  for name, declared in pairs(store:schema(nil, { ordered = true })) do
    local class = { name = name, embedded = declared.embedded, properties = {}, keypaths = {} }
    for index, pair in ipairs(declared) do
      local text = type(pair[2]) == "table" and pair[2].type or pair[2]
      local base, rest = string.match(text, "^([^%?%[<{%s]+)(.*)$")
      local property = { name = pair[1], type = text, base = base }
      if base == "backlinks" then
        property.form, property.base, property.path = "backlinks", string.match(rest, "^%s+(.-)%.(.+)$")
      else
        property.form = string.find(rest, "[", 1, true) and "list" or string.find(rest, "<", 1, true) and "set" or string.find(rest, "{", 1, true) and "map"
          or "value"
        if string.find(rest, " primary", 1, true) then class.key, class.key_property = pair[1], property end
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

function studio.class_named(name)
  local class = classes[name]
  if not class then store:objects(name) end -- raises unknown_class
  return class
end

function studio.name_of(object)
  local class = moonpool.class_of(object)
  local key = classes[class].key
  return key and class .. " " .. tostring(object[key]) or class .. " #" .. moonpool.id_of(object)
end

-- Finds an object by its number: objects are in the order of their creation. `space` is the store at a version.
function studio.object_of(class, ref, space)
  local objects = (space or store):objects(class)
  local low, high = 1, #objects
  while low <= high do
    local middle = (low + high) // 2
    local id = moonpool.id_of(objects[middle])
    if id == ref then return objects[middle] end
    if id < ref then low = middle + 1 else high = middle - 1 end
  end
end

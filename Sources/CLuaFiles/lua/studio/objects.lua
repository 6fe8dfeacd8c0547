-- The inspected object, its links, and copies of it.
local studio = ...
local requests, classes, class_names = studio.requests, studio.classes, studio.class_names

local function links_to(object, class, space)
  local links, key = {}, class.key
  for _, name in ipairs(class_names) do
    for _, property in ipairs(classes[name].properties) do
      if property.base == class.name and property.form ~= "backlinks" then
        local any = property.form == "link" and "" or "any "
        local count = #space:objects(name):where(any .. property.name .. " == $1", object)
        local entry = { class = name, property = property.name, count = count }
        if key and (type(object[key]) == "string" or math.type(object[key]) == "integer") then
          local literal = type(object[key]) == "string" and '"' .. string.gsub(object[key], '[\\"]', "\\%0") .. '"' or tostring(object[key])
          entry.where = any .. property.name .. "." .. key .. " == " .. literal
        end
        links[#links + 1] = entry
      end
    end
  end
  return links
end

local function object_content(subscription)
  local object = studio.object_of(subscription.class.name, subscription.ref, subscription.space)
  if not object then return { deleted = true } end
  local content = { name = studio.name_of(object), class = subscription.class.name, ref = subscription.ref, properties = {} }
  for i, property in ipairs(subscription.class.properties) do
    content.properties[i] = { name = property.name, type = property.type, value = studio.property_value(object, property) }
  end
  content.links = links_to(object, subscription.class, subscription.space)
  return content
end

function requests.object(page, id, request)
  studio.subscribe(page, id, {
    id = id, class = studio.class_named(request.class), ref = request.ref, space = studio.space_of(request.at),
  }, object_content)
end

function requests.value(page, id, request)
  local class = studio.class_named(request.class)
  local object = studio.object_of(request.class, request.ref, studio.space_of(request.at))
  for _, property in ipairs(class.properties) do
    if object and property.name == request.property then return studio.reply(page, id, { value = studio.property_value(object, property, true) }) end
  end
  error("the value does not exist", 0)
end

-- Replies with the properties that link to an object, or to any of several.
function requests.backlinks(page, id, request)
  local class, sums, links = studio.class_named(request.class), {}, {}
  for _, ref in ipairs(request.refs or { request.ref }) do
    local object = studio.object_of(request.class, ref)
    for i, link in ipairs(object and links_to(object, class, studio.store) or {}) do
      if sums[i] then sums[i].count = sums[i].count + link.count else sums[i] = link end
    end
  end
  for i, link in ipairs(sums) do links[i] = link end
  studio.reply(page, id, { links = links })
end

function requests.copy(page, id, request)
  local copy = studio.copies[request.format] or error("unknown format '" .. tostring(request.format) .. "'; use lua, json or csv", 0)
  studio.class_named(request.class)
  studio.reply(page, id, { text = copy(studio.object_of(request.class, request.ref, studio.space_of(request.at)) or error("the object was deleted", 0)) })
end

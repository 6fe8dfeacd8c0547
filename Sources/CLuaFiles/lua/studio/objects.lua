-- The inspected object, its links, and copies of it.
local studio = ...
local requests = studio.requests
local longest_literal = 200 -- of a key in a predicate; longer ones are found by the number of their object

local function links_to(object, class, space)
  local links, key = {}, class.key
  local literal, is_text = key and tostring(object[key]), key and type(object[key]) == "string"
  local has_literal = key and #literal <= longest_literal and (is_text or math.type(object[key]) == "integer")
  if is_text then literal = '"' .. string.gsub(literal, '[\\"]', "\\%0") .. '"' end
  for i, source in ipairs(class.links) do
    local property = source.property
    local path = (property.form == "link" and "" or "any ") .. studio.quoted(property.name)
    local count = #space:objects(source.class):where(path .. " == $1", object)
    links[i] = {
      class = source.class, property = property.name, count = count,
      where = has_literal and path .. "." .. key .. " == " .. literal or nil,
    }
  end
  return links
end

local function object_content(subscription)
  local object = studio.object_of(subscription.class.name, subscription.ref, subscription.space)
  if not object then return { deleted = true } end
  local class = subscription.class
  local content = { name = studio.name_of(object), class = class.name, ref = subscription.ref, properties = {} }
  for i, property in ipairs(subscription.class.properties) do
    local value = studio.property_value(object, property)
    content.properties[i] = { name = property.name, type = property.type, value = value }
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
  if not object then studio.fail("invalid_object", "the object was deleted") end
  local property = studio.property_named(class, request.property)
  studio.reply(page, id, { value = studio.property_value(object, property, true) })
end

-- Replies with the properties that link to an object, or to any of several.
function requests.backlinks(page, id, request)
  local class, sums, links = studio.class_named(request.class), {}, {}
  for _, ref in ipairs(request.refs) do
    local object = studio.object_of(request.class, ref)
    for i, link in ipairs(object and links_to(object, class, studio.store) or {}) do
      if sums[i] then sums[i].count = sums[i].count + link.count else sums[i] = link end
    end
  end
  for i, link in ipairs(sums) do links[i] = link end
  studio.reply(page, id, { links = links })
end

function requests.copy(page, id, request)
  local copy = studio.copies[request.format]
    or error("unknown format '" .. request.format .. "'; use lua, json or csv", 0)
  studio.class_named(request.class)
  local objects = {}
  for i, ref in ipairs(request.refs) do
    objects[i] = studio.object_of(request.class, ref, studio.space_of(request.at)) or error("the object was deleted", 0)
  end
  studio.reply(page, id, { text = copy(objects) })
end

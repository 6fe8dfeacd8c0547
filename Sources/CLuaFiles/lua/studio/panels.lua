-- The panels that scripts add with moonpool.studio.panel.
local studio = ...
local requests, classes = studio.requests, studio.classes
local registry = require "studio/registry"
local most_lines = 200

local function panel_named(name)
  for _, panel in ipairs(registry.panels) do
    if panel.name == name then return panel end
  end
end

-- Returns a cell of a table: an object is a link, and other values are text.
local function cell_of(value)
  local is_object, class = pcall(moonpool.class_of, value)
  if is_object and classes[class] then
    return { link = class, ref = moonpool.id_of(value), text = studio.name_of(value) }
  end
  return studio.text_value(value == nil and "nil" or tostring(value))
end

local function is_object(value) return (pcall(moonpool.class_of, value)) end

-- Returns the table of objects of one class.
local function table_of_objects(objects)
  local class = classes[moonpool.class_of(objects[1])]
  local part = { columns = { class.name }, rows = {} }
  for _, property in ipairs(class.properties) do part.columns[#part.columns + 1] = property.name end
  for i = 1, math.min(#objects, most_lines) do
    part.rows[i] = { cell_of(objects[i]) }
    for _, property in ipairs(class.properties) do
      part.rows[i][#part.rows[i] + 1] = studio.property_value(objects[i], property)
    end
  end
  part.omitted = #objects - #part.rows
  return part
end

-- Returns a table whose first row is the header.
local function table_of_rows(rows)
  local part = { columns = {}, rows = {} }
  for i, value in ipairs(rows[1]) do part.columns[i] = tostring(value) end
  for i = 2, math.min(#rows, most_lines + 1) do
    part.rows[i - 1] = {}
    for column = 1, #part.columns do part.rows[i - 1][column] = cell_of(rows[i][column]) end
  end
  part.omitted = #rows - 1 - #part.rows
  return part
end

-- Returns a value as a part of a panel: a picture, a table, a button or a text.
local function part_of(value, presses)
  if type(value) == "string" and string.find(value, "^%s*<svg") then return { svg = value } end
  if type(value) == "table" and value.button then
    presses[#presses + 1] = value.press
    return { button = tostring(value.button), number = #presses }
  end
  local is_chart, document = pcall(moonpool.svg, value)
  if is_chart then return { svg = document } end
  local is_list, first = pcall(function() return value[1] end)
  if is_object(value) then return table_of_objects { value } end
  if is_list and is_object(first) then return table_of_objects(value) end
  if type(value) == "table" and type(first) == "table" then return table_of_rows(value) end
  local text = tostring(value)
  local is_counted, count = pcall(function() return #value end)
  return { text = type(value) ~= "string" and is_counted and count == 0 and "nothing" or text }
end

-- Returns what a panel shows at present: each value that its function returns, or its error.
local function content_of(subscription)
  local panel = panel_named(subscription.name)
  if not panel then return { has_ended = true } end
  local values, parts = table.pack(pcall(panel.body, studio.store)), {}
  if not values[1] then return { error = studio.shown_error(values[2]).message } end
  subscription.presses = {}
  for i = 2, values.n do parts[#parts + 1] = part_of(values[i], subscription.presses) end
  return { parts = parts }
end

function requests.panels(page, id)
  studio.subscribe(page, id, { id = id }, function()
    local names = {}
    for i, panel in ipairs(registry.panels) do names[i] = panel.name end
    return { panels = names }
  end)
end

function requests.panel(page, id, request)
  if not panel_named(request.name) then
    studio.fail("invalid_argument", "unknown panel '" .. request.name .. "'")
  end
  studio.subscribe(page, id, { id = id, name = request.name }, content_of)
end

-- Calls the function of a button, which can write.
function requests.press(page, id, request)
  studio.check_console()
  local subscription = studio.pages[page].subscriptions[request.on]
  local press = subscription and subscription.presses and subscription.presses[request.number]
  if not press then studio.fail("invalid_argument", "the panel has no button of this name") end
  press()
  studio.follow_all()
  studio.reply(page, id, true)
end

registry.watchers[studio.follow_all] = true

function studio.close_panels() registry.watchers[studio.follow_all] = nil end

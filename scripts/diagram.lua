-- Draws the modules of scripts/modules.txt. Usage: lua scripts/diagram.lua svg|table < scripts/modules.txt

local modules, order = {}, {}
for line in io.lines() do
  local name, unsafe, imports, purpose = line:match "^(%w+)(!?): (.-) | (.+)$"
  if name then
    modules[name] = { imports = {}, unsafe = unsafe ~= "", purpose = purpose }
    order[#order + 1] = name
    for import in imports:gmatch "%w+" do table.insert(modules[name].imports, import) end
  end
end

local function table_row(name)
  local module = modules[name]
  local imports = {}
  for index, import in ipairs(module.imports) do imports[index] = "`" .. import .. "`" end
  return ("| `%s`%s | %s | %s |"):format(name, module.unsafe and " ⚠" or "", table.concat(imports, ", "), module.purpose)
end

if arg[1] == "table" then
  print "| module | imports | purpose |\n|---|---|---|"
  for index = #order, 1, -1 do print(table_row(order[index])) end
  return
end

--- Returns every module that `name` reaches, directly or through others.
local function reach(name, found)
  for _, import in ipairs(modules[name] and modules[name].imports or {}) do
    if not found[import] then
      found[import] = true
      reach(import, found)
    end
  end
  return found
end

-- The lines of the diagram: imports that no other import of the same module reaches.
local lines = {}
for _, name in ipairs(order) do
  lines[name] = {}
  for _, import in ipairs(modules[name].imports) do
    local isImplied = false
    for _, other in ipairs(modules[name].imports) do
      if other ~= import and reach(other, {})[import] then isImplied = true end
    end
    if modules[import] and not isImplied then table.insert(lines[name], import) end
  end
end

-- A module's row is one below the lowest row of the modules that import it.
local function row_number(name)
  local lowest = 0
  for _, other in ipairs(order) do
    for _, import in ipairs(modules[other].imports) do
      if import == name then lowest = math.max(lowest, row_number(other)) end
    end
  end
  return lowest + 1
end
local rows = {}
for _, name in ipairs(order) do
  local number = row_number(name)
  rows[number] = rows[number] or {}
  table.insert(rows[number], name)
end

local width, row_height, box, gap = 720, 74, 30, 28
local function box_width(name) return #name * 8 + 24 end
local position = {}

--- Returns the mean position of the modules that a line connects with `name` from above.
local function wanted_position(name)
  local sum, count = 0, 0
  for _, other in ipairs(order) do
    for _, import in ipairs(lines[other]) do
      if import == name and position[other] then
        sum, count = sum + position[other].x + position[other].w / 2, count + 1
      end
    end
  end
  return count > 0 and sum / count or width / 2
end

for number, names in ipairs(rows) do
  local wanted = {}
  for index, name in ipairs(names) do wanted[name] = wanted_position(name) + index / 1000 end
  table.sort(names, function(first, second) return wanted[first] < wanted[second] end)
  local total = -gap
  for _, name in ipairs(names) do total = total + box_width(name) + gap end
  local x = (width - total) / 2
  for _, name in ipairs(names) do
    position[name] = { x = x, y = (number - 1) * row_height + 14, w = box_width(name) }
    x = x + box_width(name) + gap
  end
end

local out = {}
local function add(format, ...) out[#out + 1] = format:format(...) end
local height = #rows * row_height
add('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">', width, height, width, height)
add "<title>The modules of Moonpool; each line leads down to an imported module</title>"
add('<rect width="%d" height="%d" fill="#ffffff"/>', width, height)
for _, name in ipairs(order) do
  local from = position[name]
  for _, import in ipairs(lines[name]) do
    local to = position[import]
    add('<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="#7b88a1" stroke-width="1.2"/>', from.x + from.w / 2,
      from.y + box, to.x + to.w / 2, to.y)
  end
end
add '<g font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="13" text-anchor="middle">'
for _, name in ipairs(order) do
  local at = position[name]
  add('<rect x="%.0f" y="%d" width="%d" height="%d" rx="5" fill="%s" stroke="#4c566a"/>', at.x, at.y, at.w, box,
    modules[name].unsafe and "#fbeed5" or "#e5edf7")
  add('<text x="%.0f" y="%d" fill="#2e3440">%s</text>', at.x + at.w / 2, at.y + 20, name)
end
add "</g>"
add "</svg>"
print(table.concat(out, "\n"))

-- The command that shows a schema: its classes as boxes in columns, in which links name their class.
local text = require "prompt/text"
local paint, width = prompt.paint, prompt.width

local no_classes = 'no classes yet; create one with store:define { Dog = { name = "string" } }\n'
local most_classes, most_rows, widest_box, gap = 40, 14, 46, 3

-- Returns the lines of a box and their width.
local function box(name, class, objects, limit)
  local rows, name_width, detail_width = {}, 0, 0
  for i, property in ipairs(class) do
    local declaration = property[2]
    if type(declaration) == "table" then declaration = declaration.type end
    local is_link = string.find(declaration, "^%u")
    if i < most_rows or #class == most_rows then
      rows[i] = { property[1], string.gsub(declaration, "^backlinks ", "← "), is_link and "type" or "string" }
    elseif i == most_rows then
      rows[i] = { "… " .. #class - i + 1 .. " more", "", "dim" }
    end
  end
  for _, row in ipairs(rows) do
    if row[2] ~= "" then name_width = math.max(name_width, width(row[1])) end
  end
  name_width = math.min(name_width, math.max(6, limit - 14))
  for _, row in ipairs(rows) do
    local used = row[2] == "" and width(row[1]) - name_width - 2 or width(row[2])
    detail_width = math.max(detail_width, used)
  end
  local remark = (class.embedded and "embedded " or "") .. objects
  local inner = math.min(limit - 4, math.max(name_width + 2 + detail_width, width(name) + width(remark) + 3))
  name = prompt.truncate(name, math.max(1, inner - width(remark) - 3))
  local lines = {
    paint("╭─ ", "dim") .. paint(name, "strong") .. " " .. paint(remark, "dim")
      .. paint(" " .. string.rep("─", inner - width(name) - width(remark) - 2) .. "╮", "dim"),
  }
  for _, row in ipairs(rows) do
    local first = prompt.truncate(row[1], row[2] == "" and inner or name_width)
    local second = prompt.truncate(row[2], inner - name_width - 2)
    local padding = row[2] == "" and 0 or name_width - width(first) + 2
    lines[#lines + 1] = paint("│ ", "dim") .. paint(first, row[2] == "" and "dim" or "key") .. string.rep(" ", padding)
      .. paint(second, row[3]) .. string.rep(" ", inner - width(first) - padding - width(second)) .. paint(" │", "dim")
  end
  lines[#lines + 1] = paint("╰" .. string.rep("─", inner + 2) .. "╯", "dim")
  return lines, inner + 4
end

-- Places boxes in a number of columns, each below the shortest column; returns the columns and their width.
local function placed(boxes, number)
  local columns, total = {}, gap * (number - 1)
  for i = 1, number do columns[i] = { width = 0 } end
  for _, entry in ipairs(boxes) do
    local shortest = columns[1]
    for _, column in ipairs(columns) do
      if #column < #shortest then shortest = column end
    end
    if #shortest > 0 then table.insert(shortest, "") end
    table.move(entry.lines, 1, #entry.lines, #shortest + 1, shortest)
    shortest.width = math.max(shortest.width, entry.width)
  end
  for _, column in ipairs(columns) do total = total + column.width end
  return columns, total
end

local function write_boxes(store, schema, names)
  local boxes, available = {}, math.max(20, prompt.size() - 1)
  local known = {}
  for _, class in ipairs(store.is_in_write and {} or store:stats().classes) do known[class.name] = class.objects end
  for i, name in ipairs(names) do
    local lines, box_width =
      box(name, schema[name], text.count(known[name] or #store:objects(name)), math.min(widest_box, available))
    boxes[i] = { lines = lines, width = box_width }
  end
  local columns, total
  for number = math.ceil(math.sqrt(2 * #boxes)), 1, -1 do
    columns, total = placed(boxes, number)
    if total <= available then break end
  end
  local rows = 0
  for _, column in ipairs(columns) do rows = math.max(rows, #column) end
  for row = 1, rows do
    local line, position = "", 0
    for i, column in ipairs(columns) do
      local part = column[row] or ""
      if part ~= "" then line = line .. string.rep(" ", position) .. part end
      position = (part ~= "" and column.width - width(part) or position + column.width) + (i < #columns and gap or 0)
    end
    prompt.write(line, "\n")
  end
end

-- Writes a class as a tree: links name their class, and embedded classes are below the property that contains them.
local function write_tree(store, class)
  local path, depth = {}, 0
  local function add(found, indent)
    local name_width = 0
    for _, property in ipairs(found) do name_width = math.max(name_width, width(property.name)) end
    path[found.name], depth = true, depth + 1
    for i, property in ipairs(found) do
      local is_last = i == #found
      prompt.write(
        paint(indent .. (is_last and "└─ " or "├─ "), "dim"), paint(property.name, "key"),
        string.rep(" ", name_width - width(property.name)), "  ", paint(property.type, "string"),
        property.default and " = " .. property.default or "",
        property.stored and paint("  in the file: " .. property.stored, "dim") or "",
        property.rules and paint("  " .. property.rules, "dim") or "",
        property.target and paint("  → " .. property.target, "dim") or "", "\n")
      local target = property.target and not path[property.target] and depth < 6 and session.class_rows(property.target)
      if target and target.embedded then add(target, indent .. (is_last and "   " or "│  ")) end
    end
    path[found.name], depth = nil, depth - 1
  end
  local remark = (class.embedded and "embedded, " or "") .. text.count(#store:objects(class.name), "object")
  prompt.write(paint(class.name, "type"), " ", paint("(" .. remark .. ")", "dim"), "\n")
  add(class, "")
end

-- Writes a class in the form that `define` takes.
local function write_code(class)
  local key_width = 0
  for _, property in ipairs(class) do key_width = math.max(key_width, width(property.key)) end
  prompt.write(paint(class.name, "type"), " = {\n")
  if class.embedded then prompt.write("  ", paint("embedded", "key"), " = true,\n") end
  for _, property in ipairs(class) do
    local kind = paint('"' .. property.type .. '"', "string")
    local more = (property.default and ", default = " .. property.default or "")
      .. (property.stored and ", map_to = " .. paint('"' .. property.stored .. '"', "string") or "") .. property.code
    prompt.write("  ", paint(property.key, "key"), string.rep(" ", key_width - width(property.key)), " = ",
      more == "" and kind or "{ type = " .. kind .. more .. " }", ",\n")
  end
  prompt.write "}\n"
end

local formats = { ["--tree"] = "tree", ["--lua"] = "lua", ["--mermaid"] = "mermaid", ["--dot"] = "dot" }

local function schema(args)
  local store = text.store()
  local classes = store:schema(nil, { ordered = true })
  local names, format, class = text.sorted_keys(classes), nil, nil
  for _, word in ipairs(args) do
    if string.sub(word, 1, 1) ~= "-" then
      if class then error(".schema takes at most one class", 0) end
      class = session.class_rows(word)
    elseif formats[word] then
      format = formats[word] ~= "tree" and formats[word] or format
    else
      error("expected --tree, --lua, --mermaid or --dot, got '" .. word .. "'", 0)
    end
  end
  if #names == 0 then return prompt.write(no_classes) end
  if #args == 0 and #names <= most_classes then return write_boxes(store, classes, names) end
  if format == "mermaid" or format == "dot" then
    return prompt.write(session.schema_document(format, class and class.name))
  end
  for _, name in ipairs(class and { class.name } or names) do
    local found = class or session.class_rows(name)
    if format then
      write_code(found)
    -- Embedded classes appear inside the classes that use them.
    elseif class or not found.embedded then
      write_tree(store, found)
    end
  end
end

return { schema = schema, write_code = write_code }

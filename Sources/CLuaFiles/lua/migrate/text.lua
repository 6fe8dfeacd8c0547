-- What the files of `moonpool migrate` share: errors, lists, texts, and values that become JSON.
local text = {}

-- Raises an error with a code; the advice ends its message.
function text.fail(code, message, advice) error(host.error(code, message, advice), 0) end

-- Calls a function like pcall, but an interrupt ends the caller too.
function text.try(f, ...)
  local results = table.pack(pcall(f, ...))
  if not results[1] and host.describe(results[2]).code == "interrupted" then error(results[2], 0) end
  return table.unpack(results, 1, results.n)
end

-- Returns the results of a function for the items of a list; nil results are left out.
function text.map(list, f)
  local result = {}
  for index, item in ipairs(list) do result[#result + 1] = f(item, index) end
  return result
end

function text.filter(list, is_wanted)
  return text.map(list, function(item) return is_wanted(item) and item or nil end)
end

function text.find(list, is_wanted)
  for index, item in ipairs(list) do
    if is_wanted(item) then return item, index end
  end
end

function text.contains(list, value)
  return text.find(list, function(item) return item == value end) ~= nil
end

function text.copy(list) return table.move(list, 1, #list, 1, {}) end

function text.append(list, more) return table.move(more, 1, #more, #list + 1, list) end

-- Returns the names of a map in order.
function text.sorted_keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- Returns `1 value` or `2 values`.
function text.count(number, noun)
  return number .. " " .. (number == 1 and string.sub(noun, 1, -2) or noun)
end

-- Returns the number of a migration as in the name of its file.
function text.number(number) return string.format("%04d", number) end

function text.file_name(path) return string.match(path, "([^/]+)/*$") or path end

-- Returns the path of a file in a folder.
function text.path(name, folder)
  return string.sub(folder, -1) == "/" and folder .. name or folder .. "/" .. name
end

-- Returns a text of at most so many characters.
function text.short(value, length)
  if (utf8.len(value) or #value) <= length then return value end
  return string.sub(value, 1, (utf8.offset(value, length - 2) or length - 2) - 1) .. "…"
end

function text.indented(lines)
  return text.map(lines, function(line) return "  " .. line end)
end

-- Returns texts in quotes: `{ "a", "b" }`.
function text.literal(list) return "{ " .. table.concat(text.map(list, host.quote), ", ") .. " }" end

-- The names of the fields of objects in order, and the lengths of arrays that can contain nil.
local shapes = setmetatable({}, { __mode = "k" })

-- Returns a table with these fields, which JSON shows in this order: object("number", 1, "name", nil).
function text.object(...)
  local object, names = {}, {}
  for index = 1, select("#", ...), 2 do
    local name, value = select(index, ...)
    names[#names + 1] = name
    object[name] = value
  end
  shapes[object] = names
  return object
end

-- Returns the object with the results of f for the names.
function text.named(names, f)
  local object = {}
  for _, name in ipairs(names) do object[name] = f(name) end
  shapes[object] = names
  return object
end

function text.array(list, length)
  shapes[list] = length
  return list
end

function text.json(value)
  if type(value) ~= "table" then return host.json(value) end
  local shape, parts = shapes[value], {}
  if type(shape) == "table" then
    for index, name in ipairs(shape) do parts[index] = host.json(name) .. ":" .. text.json(value[name]) end
    return "{" .. table.concat(parts, ",") .. "}"
  end
  for index = 1, shape or #value do parts[index] = text.json(value[index]) end
  return "[" .. table.concat(parts, ",") .. "]"
end

return text

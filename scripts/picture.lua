-- Draws a recorded session (the format of `.transcript`) as an SVG of a terminal window, on standard output. The lines
-- appear one after the other, in a loop; viewers without animations show all of them.
-- Usage: moonpool scripts/picture.lua SESSION > PICTURE

local path = arg[1] or error("usage: moonpool scripts/picture.lua SESSION", 0)
local file = assert(io.open(path))
local colors = {
  plain = "#d8dee9", strong = "#eceff4", dim = "#7b88a1", string = "#a3be8c", number = "#88c0d0",
  word = "#b48ead", type = "#ebcb8b", error = "#bf616a",
}
local words = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true "
  .. "until while"):gmatch "%a+" do words[word] = true end

--- Returns the pieces `{ text, role }` of Lua source, with the roles that the prompt colors.
local function source_pieces(text)
  local pieces, at = {}, 1
  local function take(pattern, role)
    local piece = text:match("^" .. pattern, at)
    if not piece then return false end
    pieces[#pieces + 1] = { piece, type(role) == "function" and role(piece) or role }
    at = at + #piece
    return true
  end
  while at <= #text do
    local _ = take("%-%-.*", "dim") or take('"[^"]*"', "string") or take("'[^']*'", "string")
      or take("%d+%.?%d*", "number")
      or take("[%a_][%w_]*", function(word) return words[word] and "word" or "plain" end)
      or take("[^%w\"'_%-]+", "plain") or take(".", "plain")
  end
  return pieces
end

--- Returns the pieces of one line of a session: a prompt with source, labeled output of an observer, or output.
local function line_pieces(line)
  local name, version, rest, code = line:match "^(%l+) (v%d+)([^>]*)> (.*)$"
  if name then
    local pieces = { { name, "strong" }, { " " .. version, "dim" }, { rest, "type" }, { "> ", "plain" } }
    table.move(source_pieces(code), 1, 1000, 5, pieces)
    return pieces
  end
  local more, text = line:match "^( *>> )(.*)$"
  if more then
    local pieces = { { more, "dim" } }
    table.move(source_pieces(text), 1, 1000, 2, pieces)
    return pieces
  end
  local label, said = line:match "^(%[[^%]]+%])(.*)$"
  if label then return { { label, "type" }, { said, "plain" } } end
  local row, bar, count = line:match "^(%d+ │)([^ ]*)( %d+)$"
  if row then return { { row, "plain" }, { bar, "number" }, { count, "plain" } } end
  if line:find "^─" or line:find "^ *int " then return { { line, "dim" } } end
  return { { line, "plain" } }
end

-- Viewers collapse plain spaces despite `xml:space`, but keep no-break spaces.
local function escape(text)
  return (text:gsub("[&<> ]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", [" "] = "\u{A0}" }))
end

local lines, columns = {}, 80
for line in file:lines() do
  lines[#lines + 1] = line
  columns = math.max(columns, utf8.len(line))
end
file:close()

-- Sizes in the picture's units: a character cell, the window's title bar and its margin.
local cell, row, bar, margin = 7.8, 18, 30, 14
local width, height = math.ceil(columns * cell) + 2 * margin, #lines * row + bar + margin

local out = {}
local function add(format, ...) out[#out + 1] = format:format(...) end
add('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">',
  width, height, width, height)
add "<title>A session at the prompt of Moonpool</title>"
add('<rect width="%d" height="%d" rx="8" fill="#2e3440"/>', width, height)
for index, color in ipairs { "#bf616a", "#ebcb8b", "#a3be8c" } do
  add('<circle cx="%d" cy="15" r="5" fill="%s"/>', 4 + index * 16, color)
end

-- The seconds before a line appears: an entry is typed, its output follows at once.
local entry_time, line_time, last_time = 1.6, 0.12, 6
local moments, duration = {}, 0
for number, line in ipairs(lines) do
  moments[number] = duration
  local following = lines[number + 1] or ""
  duration = duration + (following:find "^%l+ v%d+[^>]*> " and entry_time or line_time)
end
duration = duration + last_time

add('<g font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="13">')
for number, line in ipairs(lines) do
  local column = 0
  if moments[number] > 0 then
    add('<g><animate attributeName="opacity" values="0;1" keyTimes="0;%.4f" calcMode="discrete" dur="%.2fs" '
      .. 'repeatCount="indefinite"/>', moments[number] / duration, duration)
  else
    add "<g>"
  end
  for _, piece in ipairs(line_pieces(line)) do
    local text, role = piece[1], piece[2]
    local length = utf8.len(text)
    if text:find "%S" then
      add('<text x="%.1f" y="%d" fill="%s" textLength="%.1f"%s>%s</text>', margin + column * cell, bar + number * row - 5,
        colors[role], length * cell, role == "strong" and ' font-weight="bold"' or "", escape(text))
    end
    column = column + length
  end
  add "</g>"
end
add "</g>"
add "</svg>"
print(table.concat(out, "\n"))

-- `moonpool migrate squash`: replaces the first migrations of a folder with one that has the same result.
local text = require "migrate/text"
local folder = require "migrate/folder"
local fail = text.fail

local squash = {}

-- Returns the change that moves files to the folder `squashed`, and writes the file that replaces them.
local function edit(path, files, name, content)
  local target, writes, removals = text.path("squashed", path), {}, {}
  for _, file in ipairs(files) do
    for _, old in ipairs { file.file_name, file.test_name } do
      if host.exists(text.path(old, path)) then
        writes[#writes + 1] = { name = "squashed/" .. old, text = host.read(text.path(old, path)) }
        removals[#removals + 1] = old
      end
    end
  end
  local reason = not host.exists(target) and host.make_folder(target)
  if reason then fail("invalid_argument", "the folder '" .. target .. "' cannot be created: " .. reason) end
  if content then writes[#writes + 1] = { name = name, text = content } end
  return {
    folder = path, writes = writes, removals = removals,
    steps = {
      "'" .. files[1].file_name .. "' to '" .. files[#files].file_name .. "' become '" .. name .. "'",
      "the old files move to '" .. target .. "'",
    },
  }
end

-- Returns the change that moves the files which an interrupted squash has left in a folder; nil if there are none.
function squash.unfinished(path)
  local found = folder.unfinished_squash(folder.list(path))
  return found and edit(path, found.replaced, found.file.file_name)
end

-- Returns one file with the schema after the last of some migrations, and the data that they create in an empty store.
local function script(dir, files)
  local last = files[#files]
  local lines
  do
    local store <close> = host.open { in_memory = host.unique_name "squash" }
    for _, file in ipairs(files) do folder.apply(dir, folder.script(dir, file), store) end
    lines = store:creating_lines()
  end
  for index, line in ipairs(lines) do lines[index] = "    " .. line .. "\n" end
  local up = #lines == 0 and "" or "\n  up = function(m)\n" .. table.concat(lines) .. "  end,\n"
  return "-- The migrations up to " .. last.file_name
    .. " in one. Stores that have applied them continue from here; older ones\n"
    .. "-- need the files in squashed/ first.\nreturn {\n  squashes = " .. text.literal(folder.checksums(last))
    .. ",\n  schema = " .. folder.schema_after(dir, last):text() .. ",\n" .. up .. "}\n"
end

-- Returns the change that replaces the migrations up to a number.
function squash.edit(dir, number)
  local last = folder.with_number(dir, number) or folder.missing(dir, number)
  local files = text.append(folder.before(dir, number), { last })
  if #files < 2 then return { folder = dir.path, steps = {} } end
  return edit(dir.path, files, text.number(number) .. "_squashed.lua", script(dir, files))
end

return squash

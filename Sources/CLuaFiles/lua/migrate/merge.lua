-- `moonpool migrate merge`: renumbers the migrations of one of two branches that use the same numbers, so that they
-- follow the migrations of the other branch, and rebases their schemas on the schema of the others.
local text = require "migrate/text"
local folder = require "migrate/folder"
local fail = text.fail

local merge = {}

-- Returns the content of a folder to merge.
function merge.list(path)
  local dir = folder.list(path)
  folder.require_squashed(dir)
  return dir
end

-- Returns a change of a file that gets another name; its tests move with it.
local function move(dir, old, new)
  local is_renamed = old.file_name ~= new.file_name
  local has_test = is_renamed and host.size(old.test_path) ~= nil
  local steps, writes, removals = {}, { { name = new.file_name, text = new.source } }, {}
  if is_renamed then
    steps[1] = "'" .. old.file_name .. "' becomes '" .. new.file_name .. "'"
    removals[1] = old.file_name
  else
    steps[1] = "'" .. old.file_name .. "' is rebased on the migrations that precede it"
  end
  if has_test then
    steps[2] = "its tests move with it"
    removals[2] = old.test_name
    writes[2] = { name = new.test_name, text = host.read(old.test_path) }
  end
  return { folder = dir.path, steps = steps, writes = writes, removals = removals }
end

-- Returns the change that removes a migration which an interrupted merge has already copied; nil if there is none.
function merge.unfinished(dir)
  local moved, copy = folder.unfinished_move(dir)
  if not moved or not folder.is_merged(moved, copy) then return nil end
  local edit = move(dir, moved, copy)
  edit.writes = text.filter(edit.writes, function(file) return file.name ~= copy.file_name end)
  return edit
end

-- Returns the migrations that share their number with another one.
function merge.candidates(dir)
  return text.filter(dir.files, function(file)
    return text.find(dir.files, function(other) return other ~= file and other.number == file.number end) ~= nil
  end)
end

local function without(files, some)
  return text.filter(files, function(file) return not text.contains(some, file) end)
end

-- Returns two neighboring files whose numbers are not consecutive; nil if there are none.
local function gap(files)
  for index = 2, #files do
    if files[index - 1].number + 1 ~= files[index].number then return files[index - 1], files[index] end
  end
end

-- Returns the migrations since the first shared number that a store has not applied; nil if they belong to both
-- branches.
function merge.unapplied(dir, path)
  host.require_store(path)
  local store <close> = host.open { path = path, read_only = true }
  local entries, first = store:log().entries, merge.candidates(dir)[1]
  local left = text.filter(dir.files, function(file)
    return file.number >= first.number
      and not text.find(entries, function(entry) return folder.is_or_was(file, entry.checksum) end)
  end)
  if #left == 0 or gap(left) or gap(without(dir.files, left)) then return nil end
  return left
end

-- Returns the migrations that a file was written on, according to its parent; by default, all with lower numbers.
local function origin(dir, file)
  local before = folder.before(dir, file.number)
  for count = 0, #before do
    local files = table.move(before, 1, count, 1, {})
    if file.parent and folder.is_identity(file.parent, files) then return files end
  end
  return before
end

-- Returns a migration and its successors, according to their parents.
function merge.branch(dir, file)
  local files, branch = origin(dir, file), { file }
  while file do
    files[#files + 1] = file
    local number = file.number + 1
    file = text.find(dir.files, function(following)
      return following.number == number and following.parent and folder.is_identity(following.parent, files)
    end)
    branch[#branch + 1] = file
  end
  return branch
end

-- Returns the migrations with these names or paths. A single one selects the rest of its branch too, as far as the
-- files record their parents.
function merge.named(dir, names)
  local files = text.map(names, function(name)
    local wanted = text.file_name(name)
    return text.find(dir.files, function(file) return file.file_name == wanted end)
      or fail("invalid_argument", "'" .. dir.path .. "' has no migration '" .. wanted .. "'"
        .. host.nearest(wanted, text.map(dir.files, function(file) return file.file_name end)))
  end)
  if #files == 1 then return merge.branch(dir, files[1]) end
  table.sort(files, function(a, b) return a.number < b.number end)
  return files
end

-- Returns the first branch that was renumbered by hand: other migrations precede it than those that it was written on.
function merge.renumbered(dir)
  local first = text.find(dir.files, function(file)
    return #origin(dir, file) < #folder.before(dir, file.number)
  end)
  return first and merge.branch(dir, first)
end

-- Returns a migration with another number and with another schema, which follows the present ones.
local function rewritten(dir, file, number, schema, present)
  local source = file.source
  local function set(key, value)
    source = host.set_field(source, key, value)
      or fail("invalid_argument", "'" .. file.path .. "' does not end with 'return { … }', so '" .. key
        .. "' cannot be written into it; edit it manually")
  end
  if not file.is_delta then set("schema", schema:text()) end
  set("parent", host.quote(folder.identity(present)))
  set("merged_from", text.literal(text.append(text.copy(file.former), folder.checksums(file))))
  local name = text.number(number) .. "_" .. file.name .. ".lua"
  return folder.file(number, file.name, text.path(name, dir.path), source)
end

-- Returns the change that moves the migrations of a branch behind the others.
function merge.edit(dir, files)
  local others = without(dir.files, files)
  local first, last = files[1], others[#others]
  if not first or not last then return { folder = dir.path, steps = {} } end
  local base = without(origin(dir, first), files)
  if last.number < first.number and #base == #others then return { folder = dir.path, steps = {} } end
  local one, other = gap(others)
  if one then
    local names = table.concat(text.map(files, function(file) return "'" .. file.file_name .. "'" end), ", ")
    fail("invalid_argument",
      "without " .. names .. " the numbers of '" .. dir.path .. "' are not consecutive: '" .. one.file_name .. "', '"
        .. other.file_name .. "'; name all files of one branch, or use --store with a store that has applied the other "
        .. "branch")
  end
  local branch = folder.subset(dir, text.append(base, files))
  local onto = folder.subset(dir, others)
  local latest = folder.schema_after(onto, last)
  local edit = { folder = dir.path, steps = {}, difference = {}, writes = {}, removals = {} }
  local present = text.copy(others)
  for index, file in ipairs(files) do
    latest = folder.changed(branch, file, latest, onto)
    local new = rewritten(dir, file, last.number + index, latest, present)
    present[#present + 1] = new
    local moved = move(dir, file, new)
    text.append(edit.steps, moved.steps)
    text.append(edit.difference, host.line_difference(file.source, new.source))
    text.append(edit.writes, moved.writes)
    text.append(edit.removals, moved.removals)
  end
  return edit
end

return merge

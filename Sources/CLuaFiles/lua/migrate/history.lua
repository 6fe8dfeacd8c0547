-- Compares the record of a store with the files of a folder: the current file of each recorded migration, the pending
-- files, and the problems, each with a message and advice.
--
-- A renumbered migration is recognized by its content, by the checksums that a merge has written into it, or by its
-- name and code. A file that replaces several counts as all of them.
local text = require "migrate/text"
local folder = require "migrate/folder"
local fail = text.fail

local history = {}

local function has_same_code(entry, file)
  return entry.code_checksum ~= "" and entry.code_checksum == file.code_checksum
end

-- Returns whether a file is a recorded migration, under any number.
local function is_same(entry, file)
  return folder.is_or_was(file, entry.checksum) or folder.replaces(file, entry.checksum)
    or file.number ~= entry.number and file.name == entry.name and has_same_code(entry, file)
end

-- The rules by which the file of a recorded migration is found, best first. A file with only the same number is another
-- migration. So is a file without functions and with another name, because all such files have the same code.
local rules = {
  is_same,
  function(entry, file) return file.name == entry.name and has_same_code(entry, file) end,
  function(entry, file) return file.number == entry.number and has_same_code(entry, file) and file.has_up end,
  function(entry, file) return file.number == entry.number and file.name == entry.name end,
  function(entry, file) return file.name == entry.name end,
}

local function file_of(entry, dir, taken)
  for _, rule in ipairs(rules) do
    local found
    for _, file in ipairs(dir.files) do
      local is_better = not found or file.number == entry.number
      if is_better and not taken[file.number] and rule(entry, file) then found = file end
    end
    if found then return found end
  end
end

local function description(differences)
  return table.concat(text.map(differences, function(difference) return difference.text end), ", ")
end
history.description = description

local function problem(file, message, advice)
  return { file = file, message = message .. "; " .. advice, advice = advice }
end

-- Returns the number of the last file; 0 for none.
local function greatest(files)
  local number = 0
  for _, file in ipairs(files) do number = math.max(number, file.number) end
  return number
end

local function files_of(applied)
  return text.map(applied, function(item) return item.file end)
end

-- Returns the comparison of a record with a folder: { applied = { { entry, file } … }, pending, problems, last }.
function history.of(log, dir, store)
  local entries, taken, applied, problems = log.entries, {}, {}, {}
  local squash = text.find(dir.files, function(file) return file.is_squash end)
  local squashed = 0
  for index, entry in ipairs(entries) do
    -- Other migrations can have the same code. The last squashed one has the number of the squash, or a later one if
    -- the files were renumbered, and then no file has its code.
    local is_last = squash and folder.replaces(squash, entry.checksum) and (entry.number == squash.number
      or entry.number > squash.number
        and not text.find(dir.files, function(file) return folder.is_or_was(file, entry.checksum) end))
    if is_last then squashed = index end
  end
  for index, entry in ipairs(entries) do
    local file = index <= squashed and squash or file_of(entry, dir, taken)
    if file then taken[file.number] = true end
    applied[index] = { entry = entry, file = file, dir = dir }
  end
  local self = { applied = applied, problems = problems }
  self.pending = text.filter(dir.files, function(file) return not taken[file.number] end)
  for _, file in ipairs(files_of(applied)) do
    if not self.last or file.number > self.last.number then self.last = file end
  end
  for _, item in ipairs(applied) do
    local entry, file = item.entry, item.file
    if not file then
      problems[#problems + 1] = problem(nil,
        "migration " .. entry.number .. " (" .. entry.name .. ") was applied, but is not in '" .. dir.path .. "'"
          .. (entry.number > folder.last_number(dir) and ": the store is newer than the folder" or ""),
        "restore the file, or run moonpool migrate repair")
    elseif not file.is_squash then  -- whose replaced files no longer exist
      item.is_edited = not is_same(entry, file)
      if item.is_edited then
        problems[#problems + 1] = problem(file,
          "the code of '" .. file.path .. "' was edited after it was applied"
            .. (entry.number == file.number and "" or " as number " .. entry.number),
          "revert the edit and write another migration, or accept it with moonpool migrate repair")
      end
      item.edited_helpers = text.filter(text.sorted_keys(entry.helpers), function(name)
        local code = folder.helper(dir, name)
        return not (code and folder.matches(code, entry.helpers[name]))
      end)
      for _, name in ipairs(item.edited_helpers) do
        problems[#problems + 1] = problem(file,
          "'" .. name .. "', which '" .. file.file_name
            .. "' loads, was edited or removed after the migration was applied",
          "revert that, or accept it with moonpool migrate repair")
      end
      self.is_renumbered = self.is_renumbered or file.number ~= entry.number
    end
  end
  local last_entry = entries[#entries]
  if squash and squashed == 0 and last_entry and last_entry.number < squash.number then
    self.problems = {
      problem(squash,
        "'" .. store .. "' is at migration " .. last_entry.number .. ", and '" .. squash.file_name
          .. "' replaces later ones",
        "apply the files in '" .. dir.path .. "/squashed' first"),
    }
    self.unsolvable = self.problems[1]
  elseif not self.is_renumbered then
    local last = greatest(text.filter(files_of(applied), function(file) return not file.is_adoption end))
    for _, file in ipairs(self.pending) do
      if file.number < last then
        problems[#problems + 1] = problem(file,
          "'" .. file.path .. "' was not applied, but the later migration " .. last .. " was",
          "move it after the others with moonpool migrate merge " .. file.file_name)
        self.unsolvable = self.unsolvable or problems[#problems]
      end
    end
  end
  return self
end

-- Returns whether the migration of a file was applied.
function history.has(self, file)
  return text.find(self.applied, function(item) return item.file and item.file.number == file.number end) ~= nil
end

-- Returns the entry of a recorded migration with the number, the name and the content that its file has now.
function history.accepted(item)
  local file, entry = item.file, {}
  for key, value in pairs(item.entry) do entry[key] = value end
  if not file or file.is_squash then return entry end
  entry.number, entry.name = file.number, file.name
  entry.checksum, entry.code_checksum, entry.helpers = folder.record(file), file.code_checksum, {}
  for name in pairs(item.entry.helpers) do
    local code = folder.helper(item.dir, name)
    entry.helpers[name] = code and folder.record(code)
  end
  return entry
end

-- Returns the record with the current numbers, names and checksums.
function history.recorded(self) return text.map(self.applied, history.accepted) end

-- Returns whether the record does not have the current numbers or checksums of its files.
function history.is_outdated(self)
  return text.find(self.applied, function(item)
    local entry = history.accepted(item)
    return entry.number ~= item.entry.number or entry.checksum ~= item.entry.checksum
  end) ~= nil
end

-- Returns the entry of a migration that is being applied.
function history.entry(file)
  return {
    number = file.number, name = file.name, checksum = folder.record(file), code_checksum = file.code_checksum,
    helpers = {},
  }
end

-- Returns the difference between the schema of the store and that of the last migration as problems, and the one that
-- repair cannot solve.
local function drift(run, store, compared)
  local dir, last = run.dir, compared.last
  if not last then return {} end
  local skipped = text.filter(compared.pending, function(file) return file.number < last.number end)
  if #skipped > 0 then
    -- No file has the schema of the store, which has the last one's after the skipped files are applied.
    local schema = store.schema
    for _, file in ipairs(skipped) do schema = folder.changed(dir, file, schema, dir) end
    local differences = host.differences(schema:unplaced(), folder.schema_after(dir, last))
    if #differences == 0 then return {} end
    local found = problem(last,
      "'" .. last.path .. "' was applied under another number, and its schema does not have the changes of '"
        .. skipped[1].file_name .. "', which now precedes it: " .. description(differences),
      (last.parent and "run" or "restore its number and run") .. " moonpool migrate merge " .. last.file_name)
    return { found }, found
  end
  local items = compared.applied
  local version, recorded = store.schema_version, #items > 0 and items[#items].entry.number or last.number
  if version ~= last.number and version ~= recorded then
    return {
      problem(last,
        "the store has schema version " .. version .. ", and '" .. last.file_name .. "' leads to " .. last.number
          .. ": a program has migrated it",
        "record that with moonpool migrate baseline"),
    }
  end
  local differences = host.differences(store.schema, folder.schema_after(dir, last))
  if #differences == 0 then return {} end
  return {
    problem(last, "the schema was changed outside of the migrations; to match '" .. last.file_name .. "', "
      .. description(differences), "adopt the change with moonpool migrate repair"),
  }
end

-- Returns what is wrong with the file of a started migration: { file, reason, advice }; nil if it was not edited.
function history.edited_start(dir, state)
  local file = folder.with_number(dir, state.number)
  if file and folder.matches(file, state.checksum) then return nil end
  return {
    file = file, advice = "abort the migration, and start it again",
    reason = "the file of migration " .. state.number .. " (" .. state.name
      .. ") was edited or removed since it was started",
  }
end

-- Returns the comparison of an open store with the folder of a run.
--
-- It has the fields of history.of, also `schema_version`, `last_number`, and `started`, a started migration.
function history.compare(run, store)
  local self, unfinished = history.of(store:log(), run.dir, run.store), store:unfinished()
  self.own_problems = self.problems
  self.problems = text.copy(self.problems)
  if unfinished then
    self.problems[#self.problems + 1] = unfinished
    self.unsolvable = self.unsolvable or unfinished
  elseif #self.problems == 0 then
    self.problems, self.unsolvable = drift(run, store, self)
  end
  self.schema_version, self.started = store.schema_version, store:started()
  if self.started then
    self.started.programs = store.programs
    local edited = history.edited_start(run.dir, self.started)
    if edited then self.problems[#self.problems + 1] = problem(edited.file, edited.reason, edited.advice) end
  end
  self.last_number = self.last and self.last.number or 0
  return self
end

-- Returns the messages of problems, one a line.
local function messages(problems)
  return table.concat(text.map(problems, function(found) return found.message end), "\n")
end

-- Raises migration_needed if a store and a folder do not match.
function history.require_sound(problems)
  if #problems > 0 then fail("migration_needed", messages(problems)) end
end

return history

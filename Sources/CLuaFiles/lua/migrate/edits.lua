-- Changes of several files in a folder of migrations, which can be shown before they are applied.
--
-- A change is complete or not begun, also after the process was killed: the new files are written under temporary
-- names, then a journal in the folder lists what to rename and to remove. Every step of the journal can be repeated,
-- and no command reads a folder with a journal before the change is finished.
local text = require "migrate/text"
local fail = text.fail

local edits = {}
local journal, suffix = ".migrate-edit", ".new"

local function write(path, content)
  local reason = host.write(path, content)
  if reason then fail("invalid_argument", "'" .. path .. "' cannot be written: " .. reason) end
end

local function move(path, new_path)
  local reason = host.rename(path, new_path)
  if reason then fail("invalid_argument", "'" .. new_path .. "' cannot be written: " .. reason) end
end

-- Performs the steps of the journal that are left, and returns all of them.
local function perform(folder)
  local path, steps, written = text.path(journal, folder), {}, {}
  for line in string.gmatch(host.read(path), "[^\n]+") do steps[#steps + 1] = line end
  for _, step in ipairs(steps) do
    local name = string.match(step, "^write (.*)")
    if name then
      written[name] = true
      local target = text.path(name, folder)
      if host.exists(target .. suffix) then move(target .. suffix, target) end
    end
  end
  for _, step in ipairs(steps) do
    local name = string.match(step, "^remove (.*)")
    -- A new file can have the name of an old one.
    if name and not written[name] then host.remove(text.path(name, folder)) end
  end
  host.remove(path)
  return steps
end

-- Writes a new file, which has its name only after it is complete.
function edits.create(path, content)
  write(path .. suffix, content)
  move(path .. suffix, path)
end

-- Applies a change: { folder, steps, difference, writes = { { name, text } … }, removals, finish }.
function edits.apply(edit)
  local writes, removals = edit.writes or {}, edit.removals or {}
  for _, file in ipairs(writes) do write(text.path(file.name, edit.folder) .. suffix, file.text) end
  if #writes + #removals > 0 then
    local lines = text.append(text.map(writes, function(file) return "write " .. file.name end),
      text.map(removals, function(name) return "remove " .. name end))
    local path = text.path(journal, edit.folder)
    write(path .. suffix, table.concat(lines, "\n"))
    move(path .. suffix, path)
    perform(edit.folder)
  end
  if edit.finish then edit.finish() end
end

local function is_interrupted(folder) return host.exists(text.path(journal, folder)) end

-- Finishes an interrupted change of a folder; returns its steps, or nil if there is none.
function edits.resume(folder) return is_interrupted(folder) and perform(folder) or nil end

function edits.require_finished(folder)
  if not is_interrupted(folder) then return end
  fail("invalid_argument", "a change of the folder '" .. folder .. "' was interrupted",
    "finish it with moonpool migrate merge --dir " .. folder)
end

-- Returns the report of a change.
function edits.report(edit) return text.object("steps", edit.steps, "difference", edit.difference or {}) end

return edits

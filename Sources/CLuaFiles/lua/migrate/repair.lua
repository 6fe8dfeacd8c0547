-- `moonpool migrate repair`: reconciles a store's record with the files of the folder, without changing the data.
--
-- Edited files are accepted, renumbered files are recorded under their new numbers, and withdrawn files are removed
-- from the record. Schema changes of withdrawn migrations, and manual schema changes, are adopted in a new file.
local text = require "migrate/text"
local folder = require "migrate/folder"
local history = require "migrate/history"
local runs = require "migrate/run"
local scripts = require "migrate/script"
local fail = text.fail

-- Returns the file that adopts the schema of the store, after all other files.
local function adoption(run, present, last, pending)
  local dir = run.dir
  local number = folder.last_number(dir) + 1
  -- Pending migrations precede the file, so its schema includes their changes.
  local finish = folder.schema_after(dir, folder.last(dir))
  local adopted = present:unplaced()
  if #pending > 0 then
    local is_done, rebased = text.try(host.rebase, folder.schema_after(dir, last), present, finish)
    if not is_done and not last then
      fail("invalid_argument", "'" .. run.store .. "' has classes of '" .. dir.path
        .. "', and no record of migrations", "record those that it has with moonpool migrate baseline")
    elseif not is_done then
      fail("invalid_schema", "the schema of '" .. run.store .. "' cannot be merged with '" .. pending[1].file_name
        .. "' and the later migrations: " .. host.describe(rebased).message, "edit them")
    end
    adopted = rebased
  end
  local plan = scripts.plan(finish, adopted)
  return {
    name = text.number(number) .. "_adopted.lua",
    text = scripts.text(plan, run.store, "adoption", { parent = folder.identity(dir.files) }),
  }
end

-- Records the entries that are kept, and the adopted file. Entries keep their numbers if `up` has to apply files that
-- precede theirs.
local function record(run, kept, is_adopted, version, keeps_numbers)
  local dir = folder.open(run.dir.path)
  local store <close> = runs.open_existing(run)
  local write <close> = store:begin()
  local log = write:log()
  local compared = history.of(log, dir, run.store)
  if #compared.applied < (kept[#kept] or 0) then return end
  log.entries = text.map(kept, function(index)
    local item = compared.applied[index]
    local entry = history.accepted(item)
    if keeps_numbers then entry.number, entry.name = item.entry.number, item.entry.name end
    return entry
  end)
  if is_adopted then log.entries[#log.entries + 1] = history.entry(folder.last(dir)) end
  runs.record(write, store.schema:unplaced(), version, log)
end

-- Returns the change; nothing is changed before it is applied.
return function(run)
  local store <close> = runs.open_existing(run, true)
  local compared = history.compare(run, store)
  local dir, pending = run.dir, compared.pending
  local steps, accepting, kept, last, last_number = {}, {}, {}, compared.last, compared.last_number
  local has_skipped = text.find(pending, function(file) return file.number < last_number end) ~= nil
  for index, item in ipairs(compared.applied) do
    local entry, file = item.entry, item.file
    local title = "migration " .. entry.number .. " (" .. entry.name .. ")"
    if not file then
      steps[#steps + 1] = "remove " .. title .. ", whose file was removed, from the record"
    else
      kept[#kept + 1] = index
      if file.number ~= entry.number and not file.is_squash and not has_skipped then
        steps[#steps + 1] = "record " .. title .. " as '" .. file.file_name .. "'"
      end
      if item.is_edited then accepting[#accepting + 1] = "accept the current '" .. file.file_name .. "'" end
      for _, helper in ipairs(item.edited_helpers or {}) do
        accepting[#accepting + 1] = "accept '" .. helper .. "', which '" .. file.file_name
          .. "' loads, in its current form"
      end
    end
  end
  if compared.unsolvable then fail("invalid_argument", compared.unsolvable.message .. "; repair cannot do this") end
  text.append(steps, accepting)
  local present = store.schema
  local differences = host.differences(folder.schema_after(dir, last), present)
  local adopted
  -- An interrupted repair can have written the file.
  local is_written = #pending == 1 and pending[1].is_adoption
    and #host.differences(folder.schema_after(dir, pending[1]), present) == 0
  if is_written then
    steps[#steps + 1] = "record '" .. pending[1].file_name .. "', which adopts the schema of the store"
  elseif #differences > 0 and not has_skipped then
    adopted = adoption(run, present, last, pending)
    steps[#steps + 1] = "write '" .. adopted.name .. "', which adopts the schema of the store: "
      .. history.description(differences)
  end
  local version = is_written and pending[1].number or adopted and folder.last_number(dir) + 1
    or has_skipped and compared.schema_version or last_number
  if #steps == 0 and compared.schema_version ~= version and #compared.applied > 0 then
    steps[1] = "set the schema version of the store to " .. version
  end
  local edit = { folder = dir.path, steps = steps, difference = {} }
  if #steps == 0 then return edit end
  if adopted then
    edit.writes = { adopted }
    for line in string.gmatch(adopted.text, "[^\n]+") do edit.difference[#edit.difference + 1] = "+ " .. line end
  end
  edit.finish = function() record(run, kept, is_written or adopted, version, has_skipped) end
  return edit
end

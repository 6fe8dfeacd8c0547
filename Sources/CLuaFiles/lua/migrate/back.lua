-- `moonpool migrate down` and `undo`: return to a state before migrations.
local text = require "migrate/text"
local folder = require "migrate/folder"
local history = require "migrate/history"
local runs = require "migrate/run"
local fail = text.fail

local back = {}

local function revert(run, script, store, backup)
  local file, start = script.file, host.clock()
  local _, previous = folder.before(run.dir, file.number)
  local schema = folder.schema_after(run.dir, previous)
  local entries = store:log().entries
  local entry = entries[#entries]
  local losses = folder.down_losses(script, schema, entry and entry.added)
  local attempt = { file = file, applied = {} }
  return host.attempt(store, attempt, function()
    local write <close> = store:begin()
    local log = write:log()
    local last = log.entries[#log.entries]
    if not last or last.number ~= file.number then runs.migrated_meanwhile(run) end
    attempt.written_since = store:written_values(entry and entry.version or 0, schema)
    write:change(schema, previous and previous.number or 0, losses, folder.reversed_renames(script),
      not (script.up or script.down))
    folder.call(run.dir, write, script, "down")
    if backup == "always" or backup ~= "never" and write:needs_backup() then
      runs.make_backup(run, store, log, attempt)
    end
    table.remove(log.entries)
    -- Without a backup, the earlier one remains the newest one.
    log.backup_of_down = attempt.backup and text.file_name(attempt.backup) or log.backup_of_down
    log.version_of_down = store.version + 1
    return runs.applied(file, attempt, start, write:commit(log, attempt))
  end)
end

-- Reverses migrations with their `down` functions: the last one, or all after a number, which can be none.
--
-- Later writes are kept as far as `down` converts them; the report counts dropped values that were written after the
-- migration. After a failure, the migrations that were reversed before remain reversed.
function back.down(run, target, backup)
  local start = host.clock()
  local store <close> = runs.open_existing(run)
  runs.require_one_version(store)
  local compared = history.compare(run, store)
  history.require_sound(compared.problems)
  local applied = text.map(compared.applied, function(item) return item.file end)
  local last = applied[#applied]
  if target == (last and last.number or 0) then return { store = run.store, undone = {}, seconds = 0 } end
  if not last then fail("invalid_argument", "no migration was applied to '" .. run.store .. "'") end
  local skipped = text.find(compared.pending, function(file) return file.number < last.number end)
  if skipped then
    fail("invalid_argument", "'" .. skipped.path .. "' is pending and comes before '" .. last.file_name
      .. "', which was applied; run up first")
  end
  local _, previous = folder.before(run.dir, last.number)
  target = target or previous and previous.number or 0
  local is_known = target == 0 or text.find(applied, function(file) return file.number == target end)
  if target > last.number or target < 0 or not is_known then
    fail("invalid_argument", "'" .. run.store .. "' is at migration " .. last.number
      .. "; revert it to a lower applied one, or to 0")
  end
  local due = text.filter(applied, function(file) return file.number > target end)
  table.sort(due, function(a, b) return a.number > b.number end)
  due = text.map(due, function(file) return folder.script(run.dir, file) end)
  for _, script in ipairs(due) do
    if not script.has_down then
      local has_backup = text.find(compared.applied, function(item) return item.entry.backup end)
      fail("invalid_argument", "'" .. script.file.path
        .. "' has no 'down' function; write a migration that reverses it"
        .. (has_backup and ", or restore the last backup with undo" or ""))
    end
  end
  local undone = {}
  for index, script in ipairs(due) do
    undone[index] = revert(run, script, store, index == 1 and backup or "never")
  end
  return { store = run.store, undone = undone, seconds = host.clock() - start }
end

-- Takes the migration back that an `up` in batches had converted in a copy, whose backup precedes only its end.
local function abort_whole(copy)
  local store <close> = host.open { path = copy }
  local state = store:started()
  if not state or not state.is_whole then return end
  local write <close> = store:begin()
  write:abort(true)
end

-- Writes the future content of the store to a file, and returns the plan of an undo.
local function prepare(run, candidate, is_discarding)
  local store <close> = runs.open_existing(run, true)
  runs.require_one_version(store)
  local log, unfinished = store:log(), store:unfinished()
  local last, entry = log.entries[#log.entries], nil
  for _, item in ipairs(log.entries) do entry = item.backup and item or entry end
  if unfinished and not log.backup_of_unfinished then
    fail("invalid_argument", "an earlier build of Moonpool was interrupted in migration " .. (unfinished.number or 0)
      .. " of '" .. run.store .. "', and no backup was made before it", "finish it with that build, or restore a copy")
  end
  local instead = log.backup_of_unfinished or log.backup_of_down
  local name = instead or entry and entry.backup
    or fail("invalid_argument", "no backup was made when '" .. run.store
      .. "' was migrated; down reverts the last migration if it has a 'down' function")
  local backup = runs.beside(run, name)
  if not host.size(backup) then fail("invalid_argument", "the backup '" .. backup .. "' no longer exists") end
  host.backup(backup, candidate)
  abort_whole(candidate)
  local undone = {}
  if not instead then
    undone = text.map(log.entries, function(item) return item.number >= entry.number and item.number or nil end)
  elseif unfinished then
    undone = { unfinished.number }
  end
  local base = unfinished and unfinished.version or instead and log.version_of_down or last and last.version or 0
  local plan = {
    backup = backup, undone = undone, version = store.version, between = 0, stream = store.published_stream,
    is_in_cluster = store.is_in_cluster,
    number = unfinished and unfinished.number or last and last.number or 0,
  }
  if not is_discarding then
    local is_applied, writes = text.try(store.apply_writes, store, base, candidate)
    if not is_applied and host.describe(writes).code == "conversion_failed" then
      fail("conversion_failed", "the writes since the migration cannot be kept: " .. host.describe(writes).message,
        "change these values, or discard the writes with --discard-later-writes")
    end
    if not is_applied then error(writes, 0) end
    plan.writes = writes
  end
  if plan.writes then
    plan.between = math.max(0, base - plan.writes.base_version - math.max(#undone, 1))
  elseif base > 0 then  -- the records of earlier builds contain no version
    plan.lost = math.max(0, plan.version - base)
  end
  return plan
end

-- Restores the last backup, and applies the writes since the migration to it; with `is_discarding`, the store becomes
-- the backup without them.
--
-- No process may have the store open. The current store is kept as another copy.
function back.undo(run, is_discarding)
  host.is_empty(run.store)  -- if the store does not exist, the error must name the store, not the work folder
  return host.with_work_folder(run.store, function(work)
    local candidate = work .. "/store"
    local plan = prepare(run, candidate, is_discarding)
    if host.is_open(run.store) then fail("invalid_argument", "'" .. run.store .. "' is open; close it first") end
    -- Unreachable objects that have not been collected, such as those of a migration, keep the file open.
    collectgarbage()
    collectgarbage()
    local kept = runs.free_path(host.path_behind_link(run.store) .. ".undone-" .. plan.number)
    if not host.replace(run.store, candidate, kept, plan.version) then
      fail("invalid_argument", "another process has written to '" .. run.store
        .. "' in the meantime; stop it and run undo again")
    end
    plan.store, plan.kept, plan.is_choice = run.store, kept, is_discarding
    return plan
  end)
end

return back

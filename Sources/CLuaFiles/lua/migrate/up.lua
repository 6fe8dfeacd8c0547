-- `moonpool migrate up`: applies the pending migrations.
--
-- Each migration is one write transaction, which also records it in the store's file, so that it is applied completely
-- or not at all. Two processes that migrate the same store run one after the other: the second one finds the migrations
-- of the first.
local text = require "migrate/text"
local folder = require "migrate/folder"
local history = require "migrate/history"
local runs = require "migrate/run"
local started = require "migrate/started"
local fail = text.fail

local function check_target(run, target, compared)
  if not folder.with_number(run.dir, target) then folder.missing(run.dir, target) end
  if target < compared.last_number then
    fail("invalid_argument", "'" .. run.store .. "' is already at migration " .. compared.last_number
      .. "; down --to reverts migrations, undo restores the last backup")
  end
end

-- Records the current numbers of applied migrations.
local function record_numbers(run, store, compared)
  if not compared.last then return end
  local schema = folder.schema_after(run.dir, compared.last)
  local write <close> = store:begin()
  local log = write:log()
  log.entries = history.recorded(history.of(log, run.dir, run.store))
  runs.record(write, schema, compared.last.number, log)
end

-- Returns the schema and the version after a migration. One that precedes applied ones changes the current schema of
-- the store instead, and keeps the number of the last migration as the version.
local function target_of(run, script, store, last)
  if not last or last.number <= script.file.number then return script.schema, script.file.number end
  return folder.changed(run.dir, script.file, store.schema, run.dir), last.number
end

-- Applies one migration; returns nil if another process has applied it in the meantime.
local function apply(run, script, store, backup, earlier)
  local file, start = script.file, host.clock()
  local attempt = { file = file, applied = earlier }
  return host.attempt(store, attempt, function()
    -- 1. Wait for the write lock, and compare again.
    local write <close> = store:begin()
    local log = write:log()
    local compared = history.of(log, run.dir, run.store)
    if history.has(compared, file) then return nil end
    runs.require_next(run, compared, file)
    if not compared.last or compared.last.number < file.number then
      runs.check_version(run, store.schema_version, file)
    end
    -- 2. Change the schema, and run the migration.
    local schema, version = target_of(run, script, store, compared.last)
    write:change(schema, version, script.drops, script.renames, not (script.up or script.down))
    local count = (script.up or script.each) and run.notice and #store.programs
    if count and count > 0 then
      run.notice((count == 1 and "1 process has" or count .. " processes have") .. " the file open; "
        .. (count == 1 and "its" or "their") .. " writes wait until the migration ends")
    end
    folder.call(run.dir, write, script, "up", run.is_trial)
    -- 3. Make a backup of the version before, if values were overwritten or removed.
    if backup == "always" or backup ~= "never" and write:needs_backup() then
      runs.make_backup(run, store, log, attempt)
    end
    -- 4. Commit with the record.
    local entry = history.entry(file)
    entry.backup = attempt.backup and text.file_name(attempt.backup)
    entry.helpers = run.dir.helpers[file.path] or {}
    entry.version, entry.added = store.version + 1, write:additions()
    log.entries = text.append(history.recorded(compared), { entry })
    log.backup_of_down = nil
    return runs.applied(file, attempt, start, write:commit(log, attempt))
  end)
end

-- Applies pending migrations up to a number; creates the store if it does not exist. `backup` is "always", "never" or
-- "when_losing".
--
-- After a failure, the earlier migrations have been applied.
return function(run, target, backup)
  local start, applied = host.clock(), {}
  -- 1. Open the store, and compare its record with the folder.
  local store <close> = runs.open(run)
  local state = store:started()
  -- A program of either version opens the store as it is.
  if run.is_opening and state and not state.is_whole then return end
  if state and state.process then
    -- Another `up` may apply it in batches.
    started.reserve(run, store)
    state = store:started()
  end
  local function did_apply(item)
    if not item then return end
    applied[#applied + 1] = item
    if item.backup then backup = "never" end
    if run.did_apply then run.did_apply(item) end
  end
  -- An earlier `up` has begun it.
  if state and state.is_whole and state.number <= (target or math.huge) then
    did_apply(started.apply(run, store, started.script(run, state), backup, applied))
  end
  runs.require_one_version(store)
  local compared = history.compare(run, store)
  history.require_sound(compared.problems)
  if target then check_target(run, target, compared) end
  -- 2. Read all files before the first one is applied, so that an invalid file prevents all changes.
  local due = text.map(compared.pending, function(file)
    return file.number <= (target or math.huge) and folder.script(run.dir, file) or nil
  end)
  if #due == 0 and history.is_outdated(compared) then record_numbers(run, store, compared) end
  -- 3. The objects that the migrations of this run create need no backup, and one backup is enough for all of them.
  if backup == "when_losing" and store:object_count() == 0 then backup = "never" end
  for _, script in ipairs(due) do
    local item = not run.is_trial and started.needs_batches(run, store, script)
        and started.apply(run, store, script, backup, applied)
      or apply(run, script, store, backup, applied)
    did_apply(item)
    if run.is_trial and item and item.report.failure_count > 0 then break end
  end
  -- 4. Remove old backups.
  if run.keep and #applied > 0 then runs.prune_backups(run) end
  return {
    store = run.store, applied = applied, is_rehearsal = run.is_trial, seconds = host.clock() - start,
    peak_memory = host.peak_memory(),
  }
end

-- `moonpool migrate start`, `complete` and `abort`: a migration during which programs of both versions use the store.
--
-- The store's file keeps the state: `start` continues where an earlier one has ended in any way.
local text = require "migrate/text"
local folder = require "migrate/folder"
local history = require "migrate/history"
local runs = require "migrate/run"
local fail = text.fail

local started = {}

function started.title(state) return "migration " .. state.number .. " (" .. state.name .. ")" end

local function no_state(run) fail("invalid_argument", "no migration of '" .. run.store .. "' is started") end

-- Returns the script of the started migration; the conversion of an edited one would have another result.
function started.script(run, state)
  local edited = history.edited_start(run.dir, state)
  if edited then fail("invalid_argument", edited.reason, edited.advice) end
  return folder.script(run.dir, folder.with_number(run.dir, state.number))
end

-- Returns the properties that only the old version has and for which its programs see defaults in new objects, because
-- their class has no `down`.
local function unset_properties(dir, state)
  local file = folder.with_number(dir, state.number)
  local script = folder.script(dir, file)
  local found = {}
  local before = folder.schema_after(dir, select(2, folder.before(dir, file.number)))
  for _, difference in ipairs(host.differences(before, script.schema)) do
    local pair = script.each and script.each[difference.class]
    if difference.kind == "property_removed" and not (pair and pair.down)
      and text.contains(script.drops, difference.class .. "." .. difference.old.name) then
      found[#found + 1] = difference.class .. "." .. difference.old.name
    end
  end
  return found
end

local function names(programs)
  return table.concat(text.map(programs, function(program)
    return "process " .. program.process .. (program.command and " (" .. program.command .. ")" or "")
  end), ", ")
end

-- Raises an error while programs have the store open that do not show their schema version: an earlier build cannot
-- read two schemas. A program that opens the store has no version for a moment.
local function require_known_programs(run, store)
  local deadline = host.clock() + 2
  while true do
    local unknown = text.filter(store.programs, function(program) return #program.versions == 0 end)
    if #unknown == 0 then return end
    if host.clock() >= deadline then
      fail("invalid_argument", "'" .. run.store .. "' is open in " .. names(unknown)
        .. ", which may be of an earlier build of Moonpool or of another user", "end the programs first")
    end
    host.sleep(0.05)
  end
end

-- The seconds in which an index of a million values is built.
local index_seconds = { int = 0.3, string = 0.9, full_text = 2.1 }

-- Reports how long the first transaction takes for the new indexes of properties that both versions share.
local function note_indexes(run, store, script)
  local _, previous = folder.before(run.dir, script.file.number)
  local seconds = 0
  for _, difference in ipairs(host.differences(folder.schema_after(run.dir, previous), script.schema)) do
    local aspect, new = difference.aspect, difference.new
    if difference.is_on and (aspect == "index" or aspect == "full_text") then
      seconds = seconds + (index_seconds[aspect == "index" and new.type or aspect] or index_seconds.int)
    end
  end
  seconds = seconds * store:object_count() / 1e6
  if seconds >= 0.05 and run.notice then
    run.notice(string.format("other writes wait for about %.1f s, for the new indexes", seconds))
  end
end

-- Returns whether another process has applied a migration in the meantime; raises an error if it is not the next one.
local function is_applied(run, log, file)
  local compared = history.of(log, run.dir, run.store)
  if history.has(compared, file) then return true end
  runs.require_next(run, compared, file)
end

-- Starts a migration without converting objects. Returns the differences between the schemas; nil if another process
-- has applied it in the meantime. `is_whole` tells others that this process will also complete it.
local function begin(run, store, script, is_whole)
  local file = script.file
  if script.up or script.down then
    fail("invalid_argument", "'" .. file.file_name .. "' has a function '" .. (script.up and "up" or "down")
      .. "', which needs all objects at once", "apply it with moonpool migrate up, or declare 'each'")
  end
  local last = history.of(store:log(), run.dir, run.store).last
  if last and last.number > file.number then
    fail("invalid_argument", "'" .. file.file_name .. "' precedes '" .. last.file_name .. "', which was applied",
      "apply it with moonpool migrate up")
  end
  runs.check_version(run, store.schema_version, file, true)
  require_known_programs(run, store)
  note_indexes(run, store, script)
  local write <close> = store:begin()
  if is_applied(run, write:log(), file) then return nil end
  return write:start(script.schema, file.number, script.drops, script.renames, file.name, folder.record(file),
    folder.conversions(run.dir, script, "up"), is_whole)
end

local function next_script(run, store)
  local compared = history.compare(run, store)
  history.require_sound(compared.problems)
  local file = compared.pending[1] or fail("invalid_argument", "no migration of '" .. run.dir.path .. "' is pending")
  return folder.script(run.dir, file)
end

-- Reports the programs for which the conversion waits; returns whether there are any.
local function note_waiting(run, store)
  local plain = text.filter(store.programs, function(program) return not program.converts end)
  if #plain > 0 and run.notice then
    run.notice("waiting for " .. names(plain) .. ", which cannot run the functions of the migration")
  end
  return #plain > 0
end

-- Converts the objects of the started migration, until programs of both versions can use the store. Returns the state.
local function convert(run, store, pace, most_failures, is_whole)
  local is_done, is_waiting, state
  repeat
    local batch = host.clock()
    is_done = store:convert_batch(is_whole)
    state = store:started()
    host.progress(state.converted, state.converted + state.remaining)
    if not is_done and state.remaining <= state.failed_count then
      is_waiting = is_waiting or note_waiting(run, store)
      host.sleep(0.1)
    elseif not is_done then
      host.sleep((host.clock() - batch) * (100 - pace) / pace)
    end
  until is_done or state.failed_count > most_failures
  return state
end

-- Starts the next pending migration, or continues the started one, until programs of both versions can use the store.
-- `pace` is the percentage of the time for which it may write. Stops after more than `most_failures` objects that
-- cannot be converted.
function started.start(run, pace, most_failures)
  local start = host.clock()
  local store <close> = runs.open_existing(run)
  store:begin_conversion()
  local state = store:started()
  local script = state and started.script(run, state) or next_script(run, store)
  state = host.attempt(store, { file = script.file }, function()
    if not state and not begin(run, store, script) then runs.migrated_meanwhile(run) end
    return convert(run, store, pace, most_failures)
  end)
  return {
    store = run.store, state = state, unset = unset_properties(run.dir, state), seconds = host.clock() - start,
  }
end

-- Waits until no program uses a schema version, or raises an error that names the programs.
local function await_programs(run, store, version, options)
  local deadline = host.clock() + (options.wait or 0)
  while not options.force do
    local using = text.filter(store.programs, function(program) return text.contains(program.versions, version) end)
    if #using == 0 then return end
    if host.clock() >= deadline then
      fail("invalid_argument", "schema version " .. version .. " of '" .. run.store .. "' is in use by "
        .. names(using), "end the programs first, wait for them with --wait, or pass --force")
    end
    host.sleep(0.05)
  end
end

-- Ends the started migration with an attempt, with a backup of the version before.
--
-- Others can write while the backup is made. If they do, it is replaced at the end by a copy of the last version, which
-- is held until then, so they wait for neither of the two copies.
local function finish(run, store, script, backup, is_forced, attempt)
  local file = script.file
  if backup ~= "never" and (#script.drops > 0 or backup == "always") then
    runs.make_backup(run, store, store:log(), attempt)
  end
  local version = store.version
  do
    local write <close> = store:begin()
    if attempt.made_backup and store.version ~= version then store:hold_backup(attempt.made_backup) end
    local log, entry = write:log(), history.entry(file)
    entry.backup = attempt.backup and text.file_name(attempt.backup)
    entry.helpers, entry.version = run.dir.helpers[file.path] or {}, store.version + 1
    text.append(log.entries, { entry })
    log.backup_of_down = nil
    write:complete(log, is_forced or false, attempt)
  end
  -- Otherwise the first copy remains, and `undo` reports the commits that it lacks.
  local is_made, refusal = text.try(store.replace_backup, store)
  if not is_made and run.notice then
    run.notice("the backup lacks the commits during which it was made: " .. host.describe(refusal).message)
  end
end

-- Returns the report of a repeated `complete`; raises an error if the last migration was not completed.
local function completed(run, store)
  local compared = history.compare(run, store)
  history.require_sound(compared.problems)
  local item = compared.applied[#compared.applied]
  -- Only `up` in one transaction records what it has added.
  if not item or item.entry.added and #compared.pending > 0 then no_state(run) end
  local backup = item.entry.backup
  return {
    store = run.store, file = item.file, backup = backup and runs.beside(run, backup), seconds = 0, is_repeated = true,
  }
end

-- Ends the started migration: from now on, the store has only the new version. It can be repeated.
function started.complete(run, options)
  local start = host.clock()
  local store <close> = runs.open_existing(run)
  local state = store:started()
  if not state then return completed(run, store) end
  local script = started.script(run, state)
  if state.state ~= "both" then
    fail("schema_in_transition", started.title(state) .. " has converted " .. state.converted .. " of "
      .. text.count(state.converted + state.remaining, "objects"),
      "end the conversion first with moonpool migrate start")
  end
  await_programs(run, store, state.old_version, options)
  local attempt = { file = script.file }
  host.attempt(store, attempt, function() finish(run, store, script, options.backup, options.force, attempt) end)
  return { store = run.store, file = script.file, backup = attempt.backup, seconds = host.clock() - start }
end

-- Returns whether a migration must run in batches: it converts objects without `up`, other programs have the store
-- open, and all of them can convert the objects that they write.
function started.needs_batches(run, store, script)
  if script.up or script.down or store.schema_version >= script.file.number then return false end
  local _, previous = folder.before(run.dir, script.file.number)
  local converts = script.each and next(script.each) ~= nil
    or text.find(host.differences(folder.schema_after(run.dir, previous), script.schema), function(difference)
      return difference.aspect == "type" or difference.kind == "property_added" and difference.new.has_default
    end)
  local programs = converts and store.programs or {}
  return #programs > 0 and not text.find(programs, function(program)
    return #program.versions == 0 or not program.converts
  end)
end

-- Waits while another process converts objects, reserves the conversion, and reads the newest version.
function started.reserve(run, store)
  local deadline = host.clock() + run.lock_timeout
  while true do
    local is_free, refusal = text.try(store.begin_conversion, store)
    if is_free then
      local _ <close> = store:begin()
      return
    end
    if host.clock() >= deadline then error(refusal, 0) end
    host.sleep(0.05)
  end
end

-- Applies a migration in batches while other processes use the store: starts and completes it, or continues what an
-- earlier `up` has started. Returns its outcome; nil if it needs one transaction, or if another process has applied it.
function started.apply(run, store, script, backup, earlier)
  local start, attempt = host.clock(), { file = script.file, applied = earlier }
  started.reserve(run, store)
  return host.attempt(store, attempt, function()
    if is_applied(run, store:log(), script.file) then return nil end
    local differences
    if store:started() then
      local _, previous = folder.before(run.dir, script.file.number)
      differences = host.differences(folder.schema_after(run.dir, previous), script.schema)
    else
      local is_started
      is_started, differences = text.try(begin, run, store, script, true)
      -- What both versions cannot use at once needs one transaction, which also reports an invalid function.
      if not is_started and host.describe(differences).code ~= "invalid_argument" then error(differences, 0) end
      if not is_started or not differences then return nil end
    end
    local state = convert(run, store, 100, 0, true)
    if state.failed_count > 0 then
      local write <close> = store:begin()
      write:abort(true)
      local failure = state.failed[1]
      fail("conversion_failed", failure.class .. " " .. failure.key .. ": " .. failure.message)
    end
    finish(run, store, script, backup, true, attempt)
    return runs.applied(script.file, attempt, start, {
      differences = differences, classes = {}, dropped = {}, failures = {},
      failure_count = 0,
    })
  end)
end

-- Takes the started migration back: the store has only the old version. Returns what only the new version had. It can
-- be repeated while the migration is pending.
function started.abort(run, options)
  local store <close> = runs.open_existing(run)
  local state = store:started()
  if not state then
    local pending = history.compare(run, store).pending[1] or no_state(run)
    return { store = run.store, state = pending, lost = {}, is_repeated = true }
  end
  await_programs(run, store, state.new_version, options)
  local file = folder.with_number(run.dir, state.number) or { number = state.number, file_name = started.title(state) }
  local lost = host.attempt(store, { file = file }, function()
    local write <close> = store:begin()
    return write:abort(options.force or false)
  end)
  return { store = run.store, state = state, lost = lost }
end

return started

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

local function require_state(run, store)
  return store:started() or fail("invalid_argument", "no migration of '" .. run.store .. "' is started")
end

-- Returns the file of the started migration; the conversion of an edited one would have another result.
local function file_of(run, state)
  local file = folder.with_number(run.dir, state.number)
  if file and folder.matches(file, state.checksum) then return file end
  fail("invalid_argument", "the file of " .. started.title(state) .. " was edited or removed since it was started",
    "abort the migration, and start it again")
end

-- Returns the properties that only the old version has and for which its programs see defaults in new objects, because
-- their class has no `down`.
local function unset_properties(dir, state)
  local file = folder.with_number(dir, state.number)
  local script = folder.script(dir, file)
  local found = {}
  if not script.each then return found end
  local before = folder.schema_after(dir, select(2, folder.before(dir, file.number)))
  for _, difference in ipairs(host.differences(before, script.schema)) do
    local pair = script.each[difference.class]
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

local function begin(run, store)
  local compared = history.compare(run, store)
  history.require_sound(compared.problems)
  local file = compared.pending[1] or fail("invalid_argument", "no migration of '" .. run.dir.path .. "' is pending")
  local script = folder.script(run.dir, file)
  if not script.each and (script.up or script.down) then
    fail("invalid_argument", "'" .. file.file_name .. "' has a function '" .. (script.up and "up" or "down")
      .. "', which needs all objects at once", "apply it with moonpool migrate up, or declare 'each'")
  end
  local helpers = {}
  for name in pairs(run.dir.helpers[file.path] or {}) do
    helpers[name] = host.read(text.path(name, run.dir.path))
  end
  runs.check_version(run, store.schema_version, file)
  require_known_programs(run, store)
  local write <close> = store:begin()
  write:start(script.schema, file.number, script.drops, script.renames, file.name, folder.record(file),
    script.each and file.file_name, script.each and file.source, helpers)
end

-- Reports the programs for which the conversion waits; returns whether there are any.
local function note_waiting(run, store)
  local plain = text.filter(store.programs, function(program) return not program.converts end)
  if #plain > 0 and run.notice then
    run.notice("waiting for " .. names(plain) .. ", which cannot run the functions of the migration")
  end
  return #plain > 0
end

-- Starts the next pending migration, or continues the started one, until programs of both versions can use the store.
-- `pace` is the percentage of the time for which it may write. Stops after more than `most_failures` objects that
-- cannot be converted.
function started.start(run, pace, most_failures)
  local start = host.clock()
  local store <close> = runs.open_existing(run)
  store:begin_conversion()
  local state = store:started()
  if state then file_of(run, state) else begin(run, store) end
  local is_done, is_waiting
  repeat
    local batch = host.clock()
    is_done = store:convert_batch()
    state = store:started()
    host.progress(state.converted, state.total)
    if not is_done and state.converted >= state.total then
      is_waiting = is_waiting or note_waiting(run, store)
      host.sleep(0.1)
    elseif not is_done then
      host.sleep((host.clock() - batch) * (100 - pace) / pace)
    end
  until is_done or #state.failures > most_failures
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

-- Ends the started migration: from now on, the store has only the new version.
function started.complete(run, options)
  local start = host.clock()
  local store <close> = runs.open_existing(run)
  local state = require_state(run, store)
  local file = file_of(run, state)
  local script = folder.script(run.dir, file)
  if not state.is_ready then
    fail("schema_in_transition", started.title(state) .. " has converted " .. state.converted .. " of " .. state.total
      .. " objects", "end the conversion first with moonpool migrate start")
  end
  await_programs(run, store, state.old_version, options)
  local attempt = {}
  if options.backup ~= "never" and (#script.drops > 0 or options.backup == "always") then
    runs.make_backup(run, store, store:log(), attempt)
  end
  local is_done, result = text.try(function()
    local write <close> = store:begin()
    local log = write:log()
    local entry = history.entry(file)
    entry.backup = attempt.backup and text.file_name(attempt.backup)
    entry.helpers, entry.version = run.dir.helpers[file.path] or {}, store.version + 1
    text.append(log.entries, { entry })
    log.backup_of_down, log.backup_of_interrupted = nil, nil
    write:complete(log, options.force or false, attempt)
  end)
  if not is_done then
    if attempt.made_backup and not attempt.is_committed then runs.remove_store(attempt.made_backup) end
    error(result, 0)
  end
  return { store = run.store, file = file, backup = attempt.backup, seconds = host.clock() - start }
end

-- Takes the started migration back: the store has only the old version. Returns what only the new version had.
function started.abort(run, options)
  local store <close> = runs.open_existing(run)
  local state = require_state(run, store)
  await_programs(run, store, state.new_version, options)
  local write <close> = store:begin()
  return { store = run.store, state = state, lost = write:abort(options.force or false) }
end

return started

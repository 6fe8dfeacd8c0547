-- The state of a store, a rehearsal of its pending migrations, the team's own checks of them, and migrations that are
-- recorded without running them.
local text = require "migrate/text"
local folder = require "migrate/folder"
local history = require "migrate/history"
local runs = require "migrate/run"
local findings = require "migrate/findings"
local reports = require "migrate/reports"
local up = require "migrate/up"
local fail = text.fail

local check = {}

local function state_of(compared)
  local notes = {}
  for _, item in ipairs(#compared.problems == 0 and compared.applied or {}) do
    local file, entry = item.file, item.entry
    if file and not file.is_squash and file.number ~= entry.number then
      notes[#notes + 1] = "migration " .. entry.number .. " (" .. entry.name .. ") is now '" .. file.file_name
        .. "'; up records the new name"
    end
  end
  return {
    applied = text.map(compared.applied, function(item) return item.entry end), pending = compared.pending,
    has_drift = #compared.problems > 0,
    problems = text.map(compared.problems, function(problem) return problem.message end), notes = notes,
    schema_version = compared.schema_version, started = compared.started,
  }
end

-- Returns the state of a store, compared with the folder.
function check.state(run) return state_of(runs.examine(run)) end

-- The memory by which a process grows at most; beyond this limit, changed pages are written to the file early.
local most_growth = 600 << 20

local function rehearse(run, target, sample, copy)
  local objects = 0
  if (host.size(run.store) or 0) > 0 then
    local store <close> = runs.open_existing(run, true)
    history.require_sound(history.compare(run, store).problems)
    if sample then
      objects = store:object_count()
      store:copy_sample(sample, copy)
    else
      store:backup(copy)
    end
  end
  local copied, memory = 0, host.peak_memory()
  if objects > 0 then
    local store <close> = host.open { path = copy, read_only = true }
    copied = store:object_count()
  end
  local trial = { store = copy, dir = run.dir, is_trial = true, lock_timeout = run.lock_timeout }
  local report = up(trial, target, "never")
  report.store = run.store
  if copied > 0 then
    local factor = objects / copied
    report.estimate = {
      objects = objects, copied_objects = copied, seconds = report.seconds * factor,
      memory = memory + math.floor(math.min((report.peak_memory - memory) * factor, most_growth)),
    }
  end
  return report
end

-- Applies the pending migrations to a copy of the store, which is removed afterward, and reports the effects.
--
-- With `sample`, the copy contains this number of objects of each class, and all objects that they link to. All objects
-- at which m:each fails are reported.
function check.rehearse(run, target, sample)
  return host.with_work_folder(run.store, function(work) return rehearse(run, target, sample, work .. "/store") end)
end

-- Returns the functions that a file of the folder returns, by name.
local function own_checks(path)
  local checks = folder.table(host.read(path), path, "checks, such as { names = function(migration, report) … end }")
  for name, f in next, checks do
    if type(name) ~= "string" or type(f) ~= "function" then
      fail("invalid_argument", "'" .. path .. "': expected functions by name, got a " .. type(f))
    end
  end
  return checks
end

-- Returns the declarations of properties by class and name.
local function properties_by_name(schema)
  local classes = {}
  for _, class in ipairs(schema:classes()) do
    classes[class.name] = {}
    for _, property in ipairs(class.properties) do classes[class.name][property.name] = property end
  end
  return classes
end

-- Returns what the checks of `checks.lua` in the folder find in rehearsed migrations: the text or the list of texts
-- that they return, and their errors.
local function own_findings(run, rehearsal)
  local found, path = {}, text.path(folder.checks, run.dir.path)
  if not host.exists(path) then return found end
  local _ <close> = folder.environment(run.dir, { path = path })
  local checks = own_checks(path)
  for _, applied in ipairs(rehearsal.applied) do
    local file, script = applied.file, folder.script(run.dir, applied.file)
    for _, name in ipairs(text.sorted_keys(checks)) do
      local migration = {
        number = file.number, name = file.name, path = file.path, drops = text.copy(script.drops),
        schema = properties_by_name(script.schema),
      }
      local is_done, result = text.try(checks[name], migration, reports.applied(applied))
      if not is_done then
        result = host.describe(result).message
      elseif result == true then  -- from `return condition or "message"`
        result = nil
      end
      for _, message in ipairs(type(result) == "table" and result or { result }) do
        found[#found + 1] = {
          kind = "check", code = name, message = host.escape(tostring(message)), path = file.path, number = file.number,
        }
      end
    end
  end
  return found
end

-- Returns the state of a store, findings, and the rehearsal of the pending files on a copy; nil if there was none.
function check.check(run)
  local compared = runs.examine(run)
  local state = state_of(compared)
  local found = text.map(compared.problems, function(problem)
    local file = problem.file
    return {
      kind = "drift", code = "drift", message = problem.message, advice = problem.advice,
      path = file and file.path, number = file and file.number,
    }
  end)
  for _, name in ipairs(run.dir.stray_tests) do
    local message = folder.stray_message(run.dir, name)
    found[#found + 1] = {
      kind = "test", code = "test", message = message, advice = folder.stray_advice,
      path = text.path(name, run.dir.path),
    }
    state.problems[#state.problems + 1] = message
  end
  if #compared.problems > 0 or #compared.pending == 0 or state.started then return state, found end
  local is_done, rehearsal = text.try(check.rehearse, run)
  if not is_done then
    local finding = findings.of_error(rehearsal, compared.pending)
    found[#found + 1], state.problems[#state.problems + 1] = finding, finding.message
    return state, found
  end
  for _, applied in ipairs(rehearsal.applied) do
    local file, report = applied.file, applied.report
    for _, failure in ipairs(report.failures) do
      found[#found + 1] = {
        kind = "failure", code = "failure", message = failure.message, path = file.path,
        line = findings.line(failure.message, file.path), number = file.number, object = failure.object,
      }
    end
    if report.failure_count > 0 then
      state.problems[#state.problems + 1] = "'" .. file.path .. "' fails at "
        .. text.count(report.failure_count, "objects") .. ", such as "
        .. host.escape(report.failures[1].object .. ": " .. report.failures[1].message)
    end
  end
  for _, finding in ipairs(own_findings(run, rehearsal)) do
    found[#found + 1] = finding
    state.problems[#state.problems + 1] = "'" .. finding.path .. "': " .. finding.message
  end
  return state, found, rehearsal
end

local function nothing_to_record(run, number, target, compared)
  if compared.last_number > 0 and number <= compared.last_number then
    fail("invalid_argument", "'" .. run.store .. "' is already at migration " .. compared.last_number)
  end
  if target then folder.missing(run.dir, number) end
  fail("invalid_argument", "'" .. run.store .. "' has schema version " .. number .. ", and '" .. run.dir.path
    .. "' has no migration of that number; name the one that the store is at with --to")
end

-- Records the migrations up to a number as applied without running them, by default up to the schema version of the
-- store. The schema of the store must equal that of the last of these migrations.
function check.baseline(run, target, mark)
  local store <close> = runs.open_existing(run)
  runs.require_one_version(store)
  local compared = history.compare(run, store)
  history.require_sound(compared.own_problems)
  local number = target or compared.schema_version
  local files = text.filter(compared.pending, function(file) return file.number <= number end)
  local last = files[#files]
  if not last or last.number ~= number then nothing_to_record(run, number, target, compared) end
  local script = folder.script(run.dir, last)
  local known = compared.applied[#compared.applied]
  local write <close> = store:begin()
  runs.check_version(run, store.schema_version, last, true)
  local differences = host.differences(store.schema, script.schema)
  if #differences > 0 then
    fail("migration_needed", "'" .. run.store .. "' does not have the schema of '" .. last.file_name .. "': "
      .. history.description(differences) .. "; up runs the missing migrations")
  end
  local log = write:log()
  local present = log.entries[#log.entries]
  if (present and present.number) ~= (known and known.entry.number) then runs.migrated_meanwhile(run) end
  text.append(log.entries, text.map(files, history.entry))
  log.backup_of_down = nil
  runs.record(write, script.schema, number, log, mark)
  return { store = run.store, recorded = files }
end

-- Returns whether a store does not record a migration as applied.
function check.is_unrecorded(run, number)
  return text.find(runs.examine(run).pending, function(file) return file.number == number end) ~= nil
end

return check

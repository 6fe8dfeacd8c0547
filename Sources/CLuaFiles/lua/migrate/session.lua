-- Writes the changes of the schema that a script made with `store:define` as the next migrations of a folder.
--
-- A migration repeats one change with a function, because such a function sees the schemas before and after its change;
-- changes without a function join it as far as they only add. The files are rehearsed on a copy of the store before the
-- changes, and recorded as applied in the store.
local text = require "migrate/text"
local folder = require "migrate/folder"
local history = require "migrate/history"
local runs = require "migrate/run"
local edits = require "migrate/edits"
local scripts = require "migrate/script"
local reports = require "migrate/reports"
local check = require "migrate/check"
local up = require "migrate/up"
local fail = text.fail

local plan_advice = "write the migration with moonpool migrate plan"

-- Raises out_of_range if the schema was also changed in another way since a version.
local function require_complete(session, version)
  local definitions = session.definitions
  if version and version > session.version then
    fail("out_of_range", "version " .. version .. " does not exist; the latest version is " .. session.version)
  end
  local known = {}
  for _, definition in ipairs(definitions) do known[definition.base] = true end
  local first = definitions[1]
  local start = math.max(version or first and first.base or session.version, session.migrated_version)
  local foreign = text.find(session.schema_changes, function(change)
    return change > start and not known[change - 1]
  end)
  if foreign then
    fail("out_of_range", "the changes since version " .. start .. " are not all known: version " .. foreign
      .. " changed the schema, but not with store:define of this script; begin at version " .. foreign .. ", or "
      .. plan_advice)
  end
  for index = 2, #definitions do
    if #host.differences(definitions[index - 1].after, definitions[index].before) > 0 then
      fail("out_of_range", "the schema was also changed by another script or process; " .. plan_advice)
    end
  end
end

local function require_free(name, dir)
  if not name then return end
  folder.require_name(name)
  local known = text.find(dir.files, function(file) return file.name == name end)
  if known then
    fail("invalid_argument", "'" .. known.path .. "' already has the name '" .. name .. "'; choose another one")
  end
end

local function require_base(first, path)
  local dir = folder.open(path)
  local last = folder.last(dir)
  local differences = host.differences(first.before, folder.schema_after(dir, last))
  if #differences == 0 then return end
  fail("migration_needed", "version " .. first.base .. " does not have the schema of '" .. last.file_name .. "': "
    .. history.description(differences)
    .. "; begin at another version, or compare both with moonpool migrate check")
end

-- Returns the changes that one file repeats each: { before, after, up, is_additive }.
local function steps_of(definitions)
  local steps = {}
  for _, definition in ipairs(definitions) do
    local is_additive = true
    for _, difference in ipairs(host.differences(definition.before, definition.after)) do
      is_additive = is_additive and difference.is_additive
    end
    local code = definition.migration and host.function_text(definition.migration)
    local last = steps[#steps]
    if last and (not last.up or not code and is_additive) and (not code or last.is_additive) then
      last.after, last.up = definition.after, last.up or code
      last.is_additive = last.is_additive and is_additive
    else
      steps[#steps + 1] = { before = definition.before, after = definition.after, up = code, is_additive = is_additive }
    end
  end
  return steps
end

local function no() return false end

local function create(path, number, name, content)
  local file = text.path(text.number(number) .. "_" .. name .. ".lua", path)
  if host.exists(file) then fail("invalid_argument", "'" .. file .. "' already exists; choose another name") end
  edits.create(file, content)
  return file
end

local function write(session, path, step, name, index)
  local plan = scripts.plan(step.before, step.after, no)
  local files = folder.list(path).files
  local details = { is_delta = #files > 0, since = session.definitions[1].base, up = step.up }
  if #files > 0 then details.parent = folder.identity(folder.open(path).files) end
  local number = #files > 0 and files[#files].number + 1 or 1
  name = name or scripts.name(plan)
  local content = scripts.text(plan, session.name, "session", details)
  return create(path, number, index == 1 and name or name .. "_" .. index, content)
end

-- Applies the files after a number to a copy of the store before the changes.
local function rehearse(session, dir, number)
  local beside = session.path or text.path("store", dir.path)
  return host.with_work_folder(beside, function(work)
    local copy = work .. "/store"
    session.copy(1, copy)
    local run = runs.new(copy, dir)
    if number > 0 and check.is_unrecorded(run, number) then check.baseline(run, number) end
    run.is_trial = true
    local report = up(run, nil, "never")
    report.store = session.name
    return report
  end)
end

local function write_all(session, path, name, written)
  local first = session.definitions[1]
  local dir = folder.list(path)
  require_free(name, dir)
  if #dir.files > 0 then
    require_base(first, path)
  elseif not first.before.is_empty then
    local plan = scripts.plan(host.schema(), first.before, no)
    written[1] = create(path, math.max(first.before.version, 1), "start", scripts.text(plan, session.name, "first"))
  end
  local number = folder.last_number(folder.list(path))
  for index, step in ipairs(steps_of(session.definitions)) do
    written[#written + 1] = write(session, path, step, name, index)
  end
  dir = folder.open(path)
  local rehearsal = rehearse(session, dir, number)
  local failed = text.find(rehearsal.applied, function(applied) return applied.report.failure_count > 0 end)
  if failed then fail("invalid_argument", table.concat(reports.lines_of(failed, "rehearsed"), "\n")) end
  local recorded = {}
  if session.path then
    recorded = check.baseline(runs.new(session.name, dir), folder.last_number(dir), written).recorded
  end
  session.forget()
  local lines = text.map(written, function(file) return "wrote " .. file end)
  return {
    report = text.object("files", text.copy(written), "rehearsal", reports.up(rehearsal),
      "recorded", reports.files(recorded)),
    lines = text.append(text.append(lines, reports.up_lines(rehearsal)), reports.baseline_lines(recorded)),
  }
end

-- Writes, rehearses and records the migrations since a version; returns nil if the schema has not changed. By default,
-- the migrations contain all changes since the store was opened or the last call. After an error, the folder is
-- unchanged.
return function(session, version, name, path)
  require_complete(session, version)
  local first = session.definitions[1]
  if not first then return nil end
  if not first.is_readable then
    fail("out_of_range", "version " .. first.base .. " cannot be read, because the store keeps " .. session.history
      .. " versions; " .. plan_advice)
  end
  local is_new = not host.exists(path)
  local reason = is_new and host.make_folder(path)
  if reason then fail("invalid_argument", "the folder '" .. path .. "' cannot be created: " .. reason) end
  local written = {}
  return host.removing_after_failure(written, is_new and path or nil, function()
    return write_all(session, path, name, written)
  end)
end

-- The commands of `moonpool migrate`. Each receives its arguments, and returns its result: a `report` for programs, the
-- `lines` for people, an `exit_code`, and `is_formatted` if the lines are in a requested format and precede the report.
local text = require "migrate/text"
local folder = require "migrate/folder"
local runs = require "migrate/run"
local plan = require "migrate/plan"
local check = require "migrate/check"
local up = require "migrate/up"
local back = require "migrate/back"
local merge = require "migrate/merge"
local squash = require "migrate/squash"
local repair = require "migrate/repair"
local edits = require "migrate/edits"
local reports = require "migrate/reports"
local findings = require "migrate/findings"
local fleet = require "migrate/fleet"
local test = require "migrate/test"
local started = require "migrate/started"
local fail, object = text.fail, text.object

local commands = {}

-- `is_call` is true in the arguments of a call from a script, which is not interrupted by lines of output.
local function run(args, store)
  local self = runs.new(store or args.store, args.dir, args)
  if not args.is_call then self.notice = function(line) host.write_error(line .. "\n") end end
  return self
end

-- Questions.

local function can_ask(args) return not args.json and host.can_ask() end

-- Asks until the answer is valid; returns nil at the end of the input.
local function ask(question)
  local answers = { y = true, yes = true, n = false, no = false }
  while true do
    host.write_error(question .. " [y/n] ")
    local line = io.read "l"
    if not line then
      host.write_error "\n"
      return nil
    end
    local answer = answers[string.lower(line)]
    if answer ~= nil then return answer end
  end
end

-- Shows a change of a folder, and applies it if the user confirms it.
local function confirm(args, edit, is_confirmed)
  local result = { report = edits.report(edit) }
  if #edit.steps == 0 then
    result.lines = { "nothing to do" }
    return result
  end
  result.lines = text.append(text.copy(edit.steps), text.indented(edit.difference or {}))
  if is_confirmed then
    edits.apply(edit)
  elseif not can_ask(args) then
    result.exit_code = 1
    result.lines[#result.lines + 1] = "nothing was changed; confirm with --yes"
  else
    host.write_error(table.concat(result.lines, "\n") .. "\n")
    if ask "Make this change?" then
      edits.apply(edit)
      result.lines = { "done" }
    else
      result.lines, result.exit_code = { "nothing was changed" }, 1
    end
  end
  return result
end

-- Finishes an interrupted change of a folder; returns nil if there is none.
local function resume(args)
  local steps = edits.resume(args.dir)
  if not steps then return nil end
  local lines = { "finished an interrupted change of '" .. args.dir .. "':" }
  return { report = edits.report { steps = steps }, lines = text.append(lines, text.indented(steps)) }
end

-- Calls work with each store, and f with the store and its result, or with nil, the description of the error and the
-- error.
local function each(stores, work, f)
  for _, store in ipairs(stores) do
    local is_done, result = text.try(work, store)
    f(store, is_done and result or nil, not is_done and host.describe(result) or nil, result)
  end
end

-- Raises an error if a pattern selects no store.
local function require_stores(args, stores)
  if #stores == 0 then fail("invalid_argument", "no store matches '" .. args.store .. "'") end
end

local function error_report(found) return object("code", found.code, "message", found.message) end

-- Folders.

function commands.init(args)
  local content, version = plan.first(args.store)
  if not host.size(args.dir) then
    local reason = host.make_folder(args.dir)
    if reason then fail("invalid_argument", "the folder '" .. args.dir .. "' cannot be created: " .. reason) end
  end
  local number, file = math.max(version, 1), folder.list(args.dir).files[1]
  local path = text.path(text.number(number) .. "_start.lua", args.dir)
  if not file then
    edits.create(path, content)
  elseif file.path ~= path or file.source ~= content then  -- which an interrupted `init` has written
    fail("invalid_argument", "the folder '" .. args.dir
      .. "' already contains migrations; record the applied ones with moonpool migrate baseline")
  end
  local files = check.baseline(run(args), number).recorded
  return {
    report = object("file", path, "recorded", reports.files(files)),
    lines = text.append({ "wrote " .. path }, reports.baseline_lines(files)),
  }
end

function commands.baseline(args)
  local report = check.baseline(run(args), args.to)
  return { report = reports.baseline(report), lines = reports.baseline_lines(report.recorded) }
end

-- Returns the files to merge; nil if there is nothing to do.
local function files_to_merge(args, dir)
  if #args > 0 then return merge.named(dir, args) end
  local candidates = merge.candidates(dir)
  if #candidates == 0 then return merge.renumbered(dir) end
  local left = args.store and merge.unapplied(dir, args.store)
  if left then return left end
  if not can_ask(args) then
    fail("invalid_argument", "several migrations have the same number ("
      .. table.concat(text.map(candidates, function(file) return file.file_name end), ", ")
      .. "); name the files to move, or use --store with a store that has applied the other branch")
  end
  for _, file in ipairs(candidates) do
    if ask("Move '" .. file.file_name .. "' after the others?") then return merge.branch(dir, file) end
  end
end

function commands.merge(args)
  local resumed = resume(args)
  if resumed then return resumed end
  local dir = merge.list(args.dir)
  local unfinished = merge.unfinished(dir)
  if unfinished then return confirm(args, unfinished, true) end
  local files = files_to_merge(args, dir)
  if not files then return { report = object("steps", {}), lines = { "nothing to merge" } } end
  return confirm(args, merge.edit(dir, files), args.yes or #args > 0 or args.store)
end

function commands.repair(args)
  edits.resume(args.dir)
  return confirm(args, repair(run(args)), args.yes)
end

function commands.squash(args)
  local resumed = resume(args)
  if resumed then return resumed end
  return confirm(args, squash.unfinished(args.dir) or squash.edit(folder.open(args.dir), args.to), true)
end

-- Plans.

function commands.plan(args)
  local path = args.dir and host.write_realm()
  if path then return { report = object("file", path), lines = { args[1] .. " → " .. path } } end
  local question, output = can_ask(args) and ask or nil, args.output
  local name, content
  if args.dir then
    name, content = plan.for_folder(args.dir, plan.classes(args[1]), args.name, question)
    if not name then
      return { report = object("script", nil, "file", nil), lines = { "the folder already leads to this schema" } }
    end
    output = output or args.dir .. "/" .. name
  else
    content = plan.for_store(args[1], plan.classes(args[2]), question)
  end
  if output then
    if host.size(output) then fail("invalid_argument", "'" .. output .. "' already exists") end
    edits.create(output, content)
  end
  return {
    report = object("script", content, "file", output),
    lines = { output and table.concat(args, ", ") .. " → " .. output or string.sub(content, 1, -2) },
  }
end

-- Returns the result of a command that writes findings.
local function formatted(args, list, suite, passed, exit_code)
  return {
    lines = { findings.format(args.format or "text", list, suite, passed) }, exit_code = exit_code,
    is_formatted = args.format ~= nil,
  }
end

local function lint_folder(args)
  local state, list, rehearsal = check.check(run(args))
  local gated = findings.gated(rehearsal, args.fail_on)
  local code = #state.problems > 0 and 1 or #gated > 0 and 3 or 0
  text.append(list, gated)
  local result = formatted(args, list, "migrate lint " .. args.store, {}, code)
  result.report = object("findings", findings.report(list))
  return result
end

function commands.lint(args)
  if args.dir then return lint_folder(args) end
  local found = plan.findings(args.store, plan.classes(args.schema))
  local code = #found == 0 and 0 or 1
  if args.format then
    local list = text.map(found, function(item)
      return {
        kind = "data", code = item.rule, message = item.message, advice = item.advice, path = args.schema,
        object = item.name,
      }
    end)
    return formatted(args, list, "migrate lint " .. args.store, {}, code)
  end
  return { report = object("findings", plan.report(found)), lines = plan.lines(found), exit_code = code }
end

function commands.test(args)
  local outcomes = test.run(folder.open(args.dir))
  local code = #test.failures(outcomes) == 0 and 0 or 1
  if args.format and args.format ~= "text" then
    local passed = text.map(outcomes, function(result)
      return not result.message and not result.skipped and test.title(result) or nil
    end)
    return formatted(args, test.findings(outcomes), "migrate test " .. args.dir, passed, code)
  end
  return { report = test.report(outcomes), lines = test.lines(outcomes), exit_code = code }
end

-- States.

local function status_of_many(args, stores)
  local states, list, problems, errors = {}, {}, {}, 0
  folder.open(args.dir)  -- an error in the folder is reported once, not for each store
  require_stores(args, stores)
  each(stores, function(store) return check.state(run(args, store)) end, function(store, state, found)
    if state then
      states[#states + 1] = { store = store, state = state }
      for _, problem in ipairs(state.problems) do problems[#problems + 1] = store .. ": " .. problem end
      list[#list + 1] = object("store", store, "report", reports.state(state))
    else
      errors = errors + 1
      problems[#problems + 1] = store .. ": " .. found.message
      list[#list + 1] = object("store", store, "error", error_report(found))
    end
  end)
  local counts = { error = errors }
  for _, row in ipairs(states) do
    local condition = reports.condition(row.state)
    counts[condition] = (counts[condition] or 0) + 1
  end
  local summary = {}
  local names = { "up_to_date", "pending", "started", "problem", "error" }
  for _, name in ipairs(names) do
    if (counts[name] or 0) > 0 then summary[#summary + 1] = counts[name] .. " " .. string.gsub(name, "_", " ") end
  end
  local lines = text.append(reports.table(states), problems)
  lines[#lines + 1] = text.count(#states + errors, "stores") .. ": " .. table.concat(summary, ", ")
  return {
    report = object("stores", list, "summary", text.named(names, function(name) return counts[name] or 0 end)),
    lines = lines, exit_code = errors == 0 and 0 or 1,
  }
end

-- Returns the stores that a pattern selects; nil for a path. Each of them needs a process of the tool.
local function stores_of(args) return not args.is_call and fleet.stores(args.store) or nil end

function commands.status(args)
  local stores = stores_of(args)
  if stores then return status_of_many(args, stores) end
  local state = check.state(run(args))
  return { report = reports.state(state), lines = reports.state_lines(state) }
end

-- Returns the outcome of checking one store.
local function outcome(args, store)
  local state, list, rehearsal = check.check(run(args, store))
  local gated = findings.gated(rehearsal, args.fail_on)
  local lines = #state.problems == 0 and { reports.summary(state) } or reports.state_lines(state)
  text.append(lines, text.map(gated, function(found) return (found.path or "") .. ": " .. found.message end))
  return {
    state = state, findings = text.append(list, gated), lines = lines,
    code = #state.problems == 0 and #gated > 0 and 3 or reports.code(state),
  }
end

local function check_many(args, stores)
  local list, passed, lines, states, codes = {}, {}, {}, {}, {}
  folder.open(args.dir)
  require_stores(args, stores)
  each(stores, function(store) return outcome(args, store) end, function(store, found, failure, reason)
    lines[#lines + 1] = store .. ":"
    local added
    if found then
      added = found.findings
      if #added == 0 then passed[#passed + 1] = store .. ": " .. reports.summary(found.state) end
      text.append(lines, text.indented(found.lines))
      states[#states + 1] = object("store", store, "report", reports.state(found.state))
    else
      added = { findings.of_error(reason, {}) }
      lines[#lines + 1] = "  error: " .. failure.message
      states[#states + 1] = object("store", store, "error", error_report(failure))
    end
    for _, finding in ipairs(added) do finding.store = store end
    text.append(list, added)
    codes[found and found.code or 2] = true
  end)
  -- An error takes precedence over a failed gate, and a failed gate over pending migrations.
  local code = codes[2] and 2 or codes[3] and 3 or codes[1] and 1 or 0
  if args.format then return formatted(args, list, "migrate check " .. args.store, passed, code) end
  return { report = object("stores", states), lines = lines, exit_code = code }
end

function commands.check(args)
  local stores = stores_of(args)
  if stores then return check_many(args, stores) end
  local found = outcome(args, args.store)
  if args.format then
    local passed = #found.findings == 0 and { reports.summary(found.state) } or {}
    return formatted(args, found.findings, "migrate check " .. args.store, passed, found.code)
  end
  return { report = reports.state(found.state), lines = found.lines, exit_code = found.code }
end

-- Migrations.

local function dry_run(args, self)
  local rehearsal = check.rehearse(self, args.to, args.sample)
  local gated = findings.gated(rehearsal, args.fail_on)
  local has_failed = text.find(rehearsal.applied, function(applied) return applied.report.failure_count > 0 end)
  local code = has_failed and 1 or #gated > 0 and 3 or 0
  if args.report then
    local format = string.match(args.report, "[^.]*$")
    if format ~= "txt" and format ~= "json" then
      fail("invalid_argument", "'" .. args.report .. "': expected a report file ending in .txt or .json")
    end
    local reason = host.write(args.report, reports.rehearsal(rehearsal, format) .. "\n")
    if reason then fail("invalid_argument", "'" .. args.report .. "' cannot be written: " .. reason) end
  end
  if args.report_format then
    return { lines = { reports.rehearsal(rehearsal, args.report_format) }, exit_code = code, is_formatted = true }
  end
  local lines = reports.up_lines(rehearsal)
  lines[#lines + 1] = "dry run on a copy: '" .. rehearsal.store .. "' is unchanged; " .. reports.cost(rehearsal)
  text.append(lines, text.map(gated, function(found) return found.message end))
  return { report = reports.up(rehearsal), lines = lines, exit_code = code }
end

local function up_one(args, store)
  local self = run(args, store)
  if args.dry_run then return dry_run(args, self) end
  if args.fail_on ~= "" then
    local gated = findings.gated(check.rehearse(self, args.to), args.fail_on)
    if #gated > 0 then
      return {
        report = object("findings", findings.report(gated)),
        lines = { findings.format("text", gated, store, {}), "nothing was applied" }, exit_code = 3,
      }
    end
  end
  local is_shown = false
  self.did_apply = not args.json and function(applied)
    is_shown = true
    host.write_output(table.concat(reports.lines_of(applied, "applied"), "\n") .. "\n")
  end
  local report = up(self, args.to, runs.backup(args.backup))
  return { report = reports.up(report), lines = is_shown and {} or reports.up_lines(report) }
end

-- Rehearses the migrations of each store; the exit code is the highest one.
local function dry_run_each(args, stores)
  local lines, list, code = {}, {}, 0
  each(stores, function(store) return up_one(args, store) end, function(store, result, found)
    result = result or {
      report = object("error", error_report(found)), lines = { "error: " .. found.message }, exit_code = 1,
    }
    lines[#lines + 1] = store .. ":"
    text.append(lines, text.indented(result.lines))
    list[#list + 1] = object("store", store, "report", result.report)
    code = math.max(code, result.exit_code or 0)
  end)
  return { report = object("stores", list), lines = lines, exit_code = code }
end

function commands.up(args)
  local stores = stores_of(args)
  if not stores then return up_one(args, args.store) end
  require_stores(args, stores)
  folder.open(args.dir)
  if args.dry_run and (args.report or args.report_format) and #stores ~= 1 then
    fail("invalid_argument", "--report and --format need a single store; '" .. args.store .. "' matches "
      .. #stores)
  end
  if args.dry_run then return dry_run_each(args, stores) end
  args.fleet = fleet.new(stores)
  fleet.run(args.fleet, args, args)
  return fleet.result(args.fleet)
end

function commands.down(args)
  local report = back.down(run(args), args.to, runs.backup(args.backup))
  return { report = reports.down(report), lines = reports.down_lines(report) }
end

function commands.undo(args)
  local plan_of_undo = back.undo(run(args), args.discard_later_writes)
  return { report = reports.undo(plan_of_undo), lines = reports.undo_lines(plan_of_undo) }
end

-- Migrations during which programs of both versions use the store.

function commands.start(args)
  local report = started.start(run(args), args.pace or 50, args.max_failures or 100)
  local lines = reports.started_lines(report.state)
  if #report.unset > 0 then
    lines[#lines + 1] = "  without 'down', old programs see the default in " .. table.concat(report.unset, ", ")
      .. " of new objects"
  end
  return {
    report = reports.start(report), lines = lines,
    exit_code = report.state.state == "both" and 0 or 1,
  }
end

function commands.complete(args)
  local report = started.complete(run(args), {
    wait = args.wait, force = args.force, backup = runs.backup(args.backup),
  })
  return { report = reports.complete(report), lines = reports.complete_lines(report) }
end

function commands.abort(args)
  local report = started.abort(run(args), { force = args.force })
  return { report = reports.abort(report), lines = reports.abort_lines(report) }
end

-- Writes a result, and returns the exit code. The host calls it again after an interrupt.
local function show(args, result)
  if args.is_shown then return result.exit_code or 0 end
  if args.json and not result.is_formatted then
    host.write_output(text.json(result.report) .. "\n")
  elseif #result.lines > 0 then
    host.write_output(table.concat(result.lines, "\n") .. "\n")
  end
  args.is_shown = true
  return result.exit_code or 0
end

-- Writes an error in place of a result. A command that writes findings in a format also writes the error as one.
local function show_error(args, err)
  local found = host.describe(err)
  local is_interrupted = found.code == "interrupted"
  if is_interrupted and args.fleet then return show(args, fleet.result(args.fleet, args.interrupted_code)) end
  if args.json then
    host.write_output(text.json(object(
      "error", object("code", found.code, "message", found.message, "file", found.file, "line", found.line,
        "number", found.number, "object", found.object),
      "applied", text.map(found.applied or {}, reports.applied))) .. "\n")
  else
    if args.format and args.format ~= "text" and not is_interrupted then
      host.write_output(findings.format(args.format, { findings.of_error(err, {}) }, "migrate", {}) .. "\n")
    end
    host.write_error("moonpool: " .. found.message .. "\n")
  end
  return is_interrupted and args.interrupted_code or args.failure
end

-- `run` runs a command, and after its end, also after an interrupt, the host calls `show` or `show_error`.
return {
  run = function(name, args) return commands[name](args) end,
  show = show,
  show_error = show_error,
}

-- Reports of migrations: as text, and as values for scripts and for JSON.
local text = require "migrate/text"
local object = text.object

local reports = {}

local function rounded(number) return tostring(math.floor(number * 1000 + 0.5) / 1000) end

local function line(file, what) return text.number(file.number) .. " " .. file.name .. "  " .. what end

-- Returns the numbers and names of migrations.
function reports.files(files)
  return text.map(files, function(file) return object("number", file.number, "name", file.name) end)
end

-- Migrations that were applied, rehearsed or reverted.

-- Returns the lines about one migration; for a rehearsal, with the schema differences and samples.
function reports.lines_of(applied, verb, is_rehearsal)
  local report = applied.report
  local lines = { line(applied.file, verb .. " in " .. rounded(applied.seconds) .. " s") }
  local function add(...) lines[#lines + 1] = string.format(...) end
  if is_rehearsal then
    for _, difference in ipairs(report.differences) do add("  %s", difference.text) end
  end
  for _, class in ipairs(report.classes) do
    add("  %s: %s before, %d after; %d created, %d deleted, %d changed", class.name,
      text.count(class.before, "objects"), class.after, class.created, class.deleted, class.changed)
    for _, sample in ipairs(is_rehearsal and class.samples or {}) do
      for _, change in ipairs(sample.changes) do
        lines[#lines + 1] = host.escape("    " .. sample.key .. ": " .. change.property .. " = "
          .. text.short(change.old or "nil", 60) .. " → " .. text.short(change.new or "nil", 60))
      end
    end
  end
  for _, dropped in ipairs(report.dropped) do
    local since = applied.written_since and applied.written_since[dropped.name] or 0
    add("  dropped: %s of %s%s", text.count(dropped.count, dropped.is_class and "objects" or "values"), dropped.name,
      since > 0 and ", " .. since .. " of them written since the migration" or "")
  end
  if report.failure_count > 0 then
    add("  failed: %s", text.count(report.failure_count, "objects"))
    for _, failure in ipairs(report.failures) do
      add("    %s", host.escape(failure.object .. ": " .. failure.message))
    end
  end
  if applied.backup then add("  backup: %s", applied.backup) end
  return lines
end

-- Returns the lines of a report of `up` or of a rehearsal.
function reports.up_lines(report)
  if #report.applied == 0 then return { "no pending migrations" } end
  local lines = {}
  for _, applied in ipairs(report.applied) do
    local verb = report.is_rehearsal and "rehearsed" or "applied"
    text.append(lines, reports.lines_of(applied, verb, report.is_rehearsal))
  end
  return lines
end

-- Returns the time and the memory of a run.
function reports.cost(report)
  local cost = rounded(report.seconds) .. " s, at most " .. (report.peak_memory >> 20) .. " MiB of memory"
  local estimate = report.estimate
  if not estimate then return cost end
  return cost .. " for " .. estimate.copied_objects .. " of " .. estimate.objects
    .. " objects; all of them would take about " .. rounded(estimate.seconds) .. " s and "
    .. (estimate.memory >> 20) .. " MiB"
end

local function sample_values(values)
  local by_name, names = {}, {}
  for index, item in ipairs(values) do
    names[index] = item.name
    local value = item.value
    by_name[item.name] = type(value) == "table" and text.array(table.move(value, 1, value.n, 1, {}), value.n) or value
  end
  return text.named(names, function(name) return by_name[name] end)
end

local function failures(report)
  return text.map(report.failures, function(item) return object("object", item.object, "message", item.message) end)
end

local function differences(report)
  return text.map(report.differences, function(difference) return difference.text end)
end

function reports.applied(applied)
  local report, since = applied.report, applied.written_since
  return object(
    "number", applied.file.number, "name", applied.file.name, "differences", differences(report),
    "classes", text.map(report.classes, function(class)
      return object(
        "class", class.name, "before", class.before, "after", class.after, "created", class.created,
        "deleted", class.deleted, "changed", class.changed,
        "samples", text.map(class.samples, function(sample)
          return object("before", sample_values(sample.before), "after", sample_values(sample.after))
        end))
    end),
    "dropped", text.map(report.dropped, function(dropped)
      return object(
        "name", dropped.name, "what", dropped.is_class and "objects" or "values", "count", dropped.count,
        "written_since", since and (since[dropped.name] or 0) or nil)
    end),
    "failed", report.failure_count, "failures", failures(report), "backup", applied.backup,
    "seconds", applied.seconds)
end

-- Returns the effects of a rehearsed migration by class.
local function effects(report)
  local classes, dropped, names = {}, {}, {}
  for _, class in ipairs(report.classes) do classes[class.name], names[class.name] = class, true end
  for _, item in ipairs(report.dropped) do
    local name = string.match(item.name, "^[^.]*")
    dropped[name], names[name] = (dropped[name] or 0) + item.count, true
  end
  return text.named(text.sorted_keys(names), function(name)
    local class = classes[name] or { created = 0, deleted = 0, changed = 0, rewritten = 0, samples = {} }
    return object(
      "created", class.created, "deleted", class.deleted, "changed", class.changed,
      "dropped_values", dropped[name] or 0, "rewritten_values", class.rewritten,
      "samples", text.map(class.samples, function(sample)
        return object("key", sample.key, "changes", text.map(sample.changes, function(change)
          return object("property", change.property, "old", change.old, "new", change.new)
        end))
      end))
  end)
end

local function migrations(report)
  return text.map(report.applied, function(applied)
    return object(
      "number", applied.file.number, "name", applied.file.name, "seconds", applied.seconds,
      "differences", differences(applied.report), "classes", effects(applied.report),
      "failed", applied.report.failure_count, "failures", failures(applied.report))
  end)
end

local function estimate(report)
  local found = report.estimate
  return found and object("objects", found.objects, "copied_objects", found.copied_objects,
    "seconds", found.seconds, "memory", found.memory)
end

-- Returns the report of `up` or of a rehearsal.
function reports.up(report)
  local list = text.map(report.applied, reports.applied)
  if report.is_rehearsal then
    return object("version", 1, "store", report.store, "dry_run", true, "applied", list,
      "migrations", migrations(report), "seconds", report.seconds, "peak_memory", report.peak_memory,
      "estimate", estimate(report))
  end
  local first = report.applied[1]
  return object("store", report.store, "applied", list, "backup", first and first.backup,
    "seconds", report.seconds, "peak_memory", report.peak_memory)
end

-- Returns the report of a rehearsal as a text: `txt`, or the documented `json`, version 1.
function reports.rehearsal(report, format)
  if format == "json" then
    return text.json(object("version", 1, "store", report.store, "seconds", report.seconds,
      "peak_memory", report.peak_memory, "estimate", estimate(report), "migrations", migrations(report)))
  end
  return table.concat(text.append(reports.up_lines(report), { reports.cost(report) }), "\n")
end

function reports.down(report)
  local undone = text.map(report.undone, reports.applied)
  return object("store", report.store, "down", undone[1], "all", undone, "seconds", report.seconds)
end

function reports.down_lines(report)
  local lines = {}
  for _, applied in ipairs(report.undone) do text.append(lines, reports.lines_of(applied, "reverted")) end
  return #lines > 0 and lines or { "nothing to revert" }
end

-- The restored backup of `undo`.

function reports.undo(plan)
  local writes, lost = plan.writes, plan.between
  if not writes then lost = plan.lost and plan.lost + plan.between end
  return object(
    "store", plan.store, "restored", plan.backup, "kept", plan.kept, "undone", plan.undone[1],
    "migrations", plan.undone, "lost_commits", lost,
    "later", writes and object(
      "commits", writes.commits, "created", writes.created, "changed", writes.changed, "deleted", writes.deleted,
      "not_kept", text.map(writes.losses, function(loss)
        return object("name", loss.name, "count", loss.count, "reason", loss.reason)
      end)))
end

function reports.undo_lines(plan)
  local undone, writes = plan.undone, plan.writes
  local moment = #undone == 0 and "the last migration was reverted" or #undone == 1 and "migration " .. undone[1]
    or "migrations " .. undone[1] .. " to " .. undone[#undone]
  local lines = { "'" .. plan.store .. "' has the state before " .. moment .. ", from " .. plan.backup }
  local function add(...) lines[#lines + 1] = string.format(...) end
  if writes and writes.commits > 0 then
    add("kept %s made since: %s created, %d changed, %d deleted", text.count(writes.commits, "commits"),
      text.count(writes.created, "objects"), writes.changed, writes.deleted)
    local has_unknown = false
    for _, loss in ipairs(writes.losses) do
      if loss.kind == "missing_value" then
        add("  without a value: %s in %s created after the migration", loss.name, text.count(loss.count, "objects"))
      else
        local noun = string.find(loss.name, ".", 1, true) and "values" or "objects"
        add("  not kept: %s of %s: %s", text.count(loss.count, noun), loss.name, loss.reason)
      end
      has_unknown = has_unknown or loss.kind == "no_such_property"
    end
    if has_unknown then add("  down translates such values with its functions instead") end
  elseif not writes and (plan.lost or 0) > 0 then
    add("%s made since the last migration %s not in it%s", text.count(plan.lost, "commits"),
      plan.lost == 1 and "is" or "are", plan.is_choice and ""
        or ", because the history of the store does not contain all of them; down keeps them")
  end
  if plan.between > 0 then add("not kept: %s made while the migrations ran", text.count(plan.between, "commits")) end
  add("the previous store is kept in %s", plan.kept)
  if plan.is_in_cluster then
    add("the cluster of the stream '%s' has commits that the store lacks now; replace the store with "
      .. "moonpool follow … --rebuild, and use down on the writer to revert a migration", plan.stream)
  elseif plan.stream then
    add("the stream '%s' has commits that the store lacks now; drop them with the next moonpool publish … --adopt",
      plan.stream)
  end
  return lines
end

-- Migrations that were recorded without running them.

function reports.baseline(report) return object("store", report.store, "recorded", reports.files(report.recorded)) end

function reports.baseline_lines(files)
  return text.map(files, function(file) return line(file, "recorded as applied, not run") end)
end

-- The state of a store: { applied = entries, pending, started, has_drift, problems, notes, schema_version }.

-- Returns a word for a state: up_to_date, pending, started or problem.
function reports.condition(state)
  if #state.problems > 0 then return "problem" end
  if state.started then return "started" end
  return #state.pending == 0 and #state.notes == 0 and "up_to_date" or "pending"
end

-- Returns the exit code of `check`: 0 up to date, 1 pending, 2 problems.
function reports.code(state)
  return #state.problems > 0 and 2 or #state.pending == 0 and #state.notes == 0 and 0 or 1
end

-- A started migration, as store:started_migration() returns it, with the `programs`.

function reports.started(state)
  return object(
    "number", state.number, "name", state.name, "state", state.state, "started_at", state.started_at,
    "converted", state.converted, "remaining", state.remaining, "rate", state.rate, "process", state.process,
    "failed_count", state.failed_count,
    "failed", text.map(state.failed, function(failure)
      return object("class", failure.class, "key", failure.key, "direction", failure.direction,
        "message", failure.message)
    end),
    "programs", text.map(state.programs or {}, function(program)
      return object("process", program.process, "command", program.command, "schema_version", program.versions[1],
        "converts", program.converts)
    end))
end

function reports.started_lines(state)
  local title = line(state, state.state == "both" and "started; programs of both versions can use the store"
    or "started; " .. state.converted .. " of " .. text.count(state.converted + state.remaining, "objects")
      .. " converted" .. (state.process and ", " .. string.format("%d", state.rate) .. " a second by process "
      .. state.process or ""))
  local lines = { title }
  if state.failed_count > 0 then
    lines[#lines + 1] = "  not converted: " .. text.count(state.failed_count, "objects")
    for _, failure in ipairs(state.failed) do
      lines[#lines + 1] = host.escape("    " .. failure.class .. " " .. failure.key .. ": " .. failure.message)
    end
  end
  for _, program in ipairs(state.programs or {}) do
    lines[#lines + 1] = "  schema version " .. table.concat(program.versions, ", ") .. ": process " .. program.process
      .. (program.command and " (" .. program.command .. ")" or "")
  end
  return lines
end

function reports.start(report)
  return object("store", report.store, "started", reports.started(report.state), "seconds", report.seconds)
end

function reports.complete(report)
  return object("store", report.store, "completed", reports.files({ report.file })[1], "backup", report.backup,
    "seconds", report.seconds)
end

function reports.complete_lines(report)
  local state = report.is_repeated and "already complete" or "complete"
  return { line(report.file, state .. "; only programs of its version can use the store"),
    report.backup and "  backup: " .. report.backup or nil }
end

function reports.abort(report)
  return object("store", report.store, "aborted", reports.files({ report.state })[1],
    "lost", text.map(report.lost, function(item) return object("name", item.name, "count", item.count) end))
end

function reports.abort_lines(report)
  local state = report.is_repeated and "not started" or "aborted"
  local lines = { line(report.state, state .. "; only programs of the earlier version can use the store") }
  for _, item in ipairs(report.lost) do
    local noun = string.find(item.name, ".", 1, true) and "values" or "objects"
    lines[#lines + 1] = "  lost: " .. text.count(item.count, noun) .. " of " .. item.name
  end
  return lines
end

function reports.state(state)
  return object(
    "state", reports.condition(state), "schema_version", state.schema_version,
    "applied", text.map(state.applied, function(entry)
      return object("number", entry.number, "name", entry.name, "applied_at", entry.applied_at,
        "checksum", string.match(entry.checksum, "^[^+]*"), "backup", entry.backup)
    end),
    "pending", reports.files(state.pending),
    "started", state.started and reports.started(state.started),
    "problems", state.problems, "notes", state.notes, "code", reports.code(state))
end

-- Returns the state in one line.
function reports.summary(state)
  local version, pending = "schema version " .. state.schema_version, #state.pending
  if state.has_drift then return "the store and the folder do not match, " .. version end
  if #state.problems > 0 then
    return pending .. " pending, " .. text.count(#state.problems, "problems") .. ", " .. version
  end
  return (pending == 0 and "up to date" or pending .. " pending") .. ", " .. version
end

function reports.state_lines(state)
  local lines = text.map(state.applied, function(entry)
    return line(entry, "applied " .. entry.applied_at .. (entry.backup and ", backup " .. entry.backup or ""))
  end)
  if state.started then text.append(lines, reports.started_lines(state.started)) end
  for _, file in ipairs(state.pending) do
    if not state.started or file.number ~= state.started.number then lines[#lines + 1] = line(file, "pending") end
  end
  for _, note in ipairs(state.notes) do lines[#lines + 1] = "note: " .. note end
  for _, problem in ipairs(state.problems) do lines[#lines + 1] = "problem: " .. problem end
  lines[#lines + 1] = reports.summary(state)
  return lines
end

-- Returns the states of several stores as a table with one line for each.
function reports.table(rows)
  local cells = { { "store", "version", "applied", "pending", "state" } }
  for _, row in ipairs(rows) do
    cells[#cells + 1] = {
      row.store, tostring(row.state.schema_version), tostring(#row.state.applied), tostring(#row.state.pending),
      (string.gsub(reports.condition(row.state), "_", " ")),
    }
  end
  local widths = { 0, 0, 0, 0 }
  for _, row in ipairs(cells) do
    for column = 1, 4 do widths[column] = math.max(widths[column], host.width(row[column])) end
  end
  return text.map(cells, function(row)
    local parts = {}
    for column = 1, 4 do
      local space = string.rep(" ", widths[column] - host.width(row[column]))
      parts[column] = column == 1 and row[column] .. space or space .. row[column]
    end
    return table.concat(parts, "  ") .. "  " .. row[5]
  end)
end

return reports

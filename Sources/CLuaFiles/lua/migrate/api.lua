-- The functions of `moonpool.migrate`. The host has checked the types of the options.
local folder = require "migrate/folder"
local runs = require "migrate/run"
local plan = require "migrate/plan"
local check = require "migrate/check"
local up = require "migrate/up"
local back = require "migrate/back"
local repair = require "migrate/repair"
local edits = require "migrate/edits"
local reports = require "migrate/reports"
local test = require "migrate/test"
local started = require "migrate/started"

local api = { migration_since = require "migrate/session" }

-- Returns when to make a backup: always, never, or if a migration overwrites or removes values or objects.
local function backup(choice) return choice == nil and "when_losing" or choice and "always" or "never" end
api.backup = backup

local function run(store, options) return runs.new(store, options.dir, options) end

function api.plan(store, classes, options)
  if not options or not options.dir then return plan.for_store(store, classes) end
  local name, content = plan.for_folder(options.dir, classes, options.name)
  return content, name
end

function api.lint(store, classes) return plan.report(plan.findings(store, classes)) end

function api.status(store, options) return reports.state(check.state(run(store, options))) end

function api.check(store, options) return reports.code((check.check(run(store, options)))) end

function api.up(store, options)
  local self = run(store, options)
  if options.dry_run then return reports.up(check.rehearse(self, options.to, options.sample)) end
  return reports.up(up(self, options.to, backup(options.backup)))
end

function api.down(store, options)
  return reports.down(back.down(run(store, options), options.to, backup(options.backup)))
end

function api.undo(store, options) return reports.undo(back.undo(run(store, options), options.discard_later_writes)) end

function api.start(store, options)
  return reports.start(started.start(run(store, options), options.pace or 50, options.max_failures or 100))
end

function api.complete(store, options)
  options.backup = backup(options.backup)
  return reports.complete(started.complete(run(store, options), options))
end

function api.abort(store, options) return reports.abort(started.abort(run(store, options), options)) end

function api.baseline(store, options) return reports.baseline(check.baseline(run(store, options), options.to)) end

function api.repair(store, options)
  local edit = repair(run(store, options))
  if not options.dry_run then edits.apply(edit) end
  return edits.report(edit)
end

function api.test(dir) return test.report(test.run(folder.open(dir))) end

-- Applies the migrations of a folder to a store before it is opened, up to a schema version.
function api.on_opening(store, dir, version)
  local self = runs.new(store, dir)
  self.is_opening = true
  up(self, version and version < folder.last_number(self.dir) and version or nil, "when_losing")
end

return api

-- The functions of `moonpool.migrate`: the commands, without questions and output. The host has checked the types of
-- the options, which are arguments of the command.
local text = require "migrate/text"
local folder = require "migrate/folder"
local runs = require "migrate/run"
local plan = require "migrate/plan"
local up = require "migrate/up"
local commands = require "migrate/commands"

local api = { migration_since = require "migrate/session" }

local function run(name, args)
  args.is_call, args.json, args.yes, args.fail_on = true, true, not args.dry_run, ""
  return commands.run(name, args)
end

for _, name in ipairs {
  "init", "status", "down", "undo", "complete", "abort", "baseline", "repair", "squash", "test",
} do
  api[name] = function(args) return run(name, args).report end
end

function api.merge(args)
  text.append(args, args.files or {})
  return run("merge", args).report
end

function api.start(args)
  if args.pace and (args.pace < 1 or args.pace > 100) then
    text.fail("invalid_argument", "pace: expected a percentage from 1 to 100, got " .. args.pace)
  end
  return run("start", args).report
end

function api.up(args)
  if args.dry_run and (args.keep or args.backup ~= nil) then
    text.fail("invalid_argument", "a dry run makes no backup; pass only one of dry_run, and backup or keep")
  elseif args.sample and not args.dry_run then
    text.fail("invalid_argument", "sample needs dry_run")
  end
  return run("up", args).report
end

function api.check(args) return run("check", args).exit_code end

function api.plan(args)
  if not args.dir then return plan.for_store(args.store, args.classes) end
  local name, content = plan.for_folder(args.dir, args.classes, args.name)
  return content, name
end

function api.lint(args) return plan.report(plan.findings(args.store, args.classes)) end

-- Applies the migrations of a folder to a store before it is opened, up to a schema version.
function api.on_opening(store, dir, version)
  local self = runs.new(store, dir)
  self.is_opening = true
  up(self, version and version < folder.last_number(self.dir) and version or nil, "when_losing")
end

return api

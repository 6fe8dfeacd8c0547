-- Migrates many stores, each in its own process, so that an error in one store does not affect the others.
--
-- A second run continues: stores that are up to date have no pending migrations.
local text = require "migrate/text"
local fail = text.fail

local fleet = {}

-- Returns whether a name is that of a file beside a store: its lock file, log, copy or backup.
local function is_companion(name)
  return string.find(name, "%-lock$") or string.find(name, "%-log$") or string.find(name, "%.backup%-")
    or string.find(name, "%.undone%-") or string.find(name, "%.copy%-") or string.find(name, "%.work%-")
end

-- Returns the characters of a text; bytes that are no characters join their neighbors.
local function characters(value)
  local list = {}
  for character in string.gmatch(value, "[^\128-\191]?[\128-\191]*") do
    if character ~= "" then list[#list + 1] = character end
  end
  return list
end

-- Returns whether a name matches a pattern, both as lists of characters. Only the last `*` can take more characters, so
-- the time is at most proportional to the product of the lengths.
local function matches(name, pattern)
  local index, at, star, taken = 1, 1, nil, nil
  while index <= #name do
    if pattern[at] == "*" then
      star, taken, at = at, index, at + 1
    elseif pattern[at] == "?" or pattern[at] == name[index] then
      index, at = index + 1, at + 1
    elseif star then
      taken = taken + 1
      index, at = taken, star + 1
    else
      return false
    end
  end
  while pattern[at] == "*" do at = at + 1 end
  return at > #pattern
end

-- Returns the paths that a pattern such as `tenants/*.moonpool` selects, in order; nil for an argument that has no `*`
-- or `?` in its last part. Files beside a store are selected only by a pattern that names their kind.
function fleet.stores(argument)
  local prefix, name = string.match(argument, "^(.*/)([^/]*)$")
  local pattern = name or argument
  if not string.find(pattern, "[*?]") then return nil end
  local form = characters(pattern)
  return text.map(host.names(prefix or ".") or {}, function(store)
    local is_shown = string.sub(store, 1, 1) ~= "." or string.sub(pattern, 1, 1) == "."
    if not is_shown or not matches(characters(store), form) or is_companion(store) and not is_companion(pattern) then
      return nil
    end
    -- A name that begins with `-` would be an option of the store's process.
    return (prefix or string.sub(store, 1, 1) == "-" and "./" or "") .. store
  end)
end

local function words(state) return (string.gsub(state, "_", " ")) end

local function count(members, state)
  return #text.filter(members, function(member) return member.state == state end)
end

-- Creates the stores of a fleet, whose states are not_started, running, migrated, up_to_date, failed, and interrupted
-- for a store whose migration was rolled back because the command was stopped.
function fleet.new(stores)
  return text.map(stores, function(store) return { store = store, state = "not_started" } end)
end

-- Migrates the stores; `arguments` are those of `up` after the store.
--
-- Ctrl-C and SIGTERM stop the processes of the stores, which roll back; stores that have not started remain unchanged.
function fleet.run(members, arguments, options)
  local program = host.program() or fail("invalid_argument", "the path of the running program is unknown")
  local commands = text.map(members, function(member)
    local command = text.append({ program, "migrate", "up", member.store }, arguments)
    command[#command + 1] = "--json"
    return command
  end)
  local function ended(index, exit_code, is_up_to_date, message)
    local member = members[index]
    member.state = exit_code ~= 0 and "failed" or is_up_to_date and "up_to_date" or "migrated"
    member.exit_code = exit_code
    if exit_code ~= 0 then member.message = message or "the process ended without a report" end
    if options.json then return end
    local open = count(members, "not_started") + count(members, "running")
    host.write_error("[" .. #members - open .. "/" .. #members .. "] " .. member.store .. ": "
      .. words(member.state) .. "\n")
  end
  local function run(last, jobs, most_failures)
    host.run_programs(commands, jobs, function()
      if count(members, "failed") >= (most_failures or math.huge) then return nil end
      local member, index = text.find(members, function(member) return member.state == "not_started" end)
      if not member or index > last then return nil end
      member.state = "running"
      return index
    end, ended)
  end
  -- The canaries run first, one after the other; the other stores start only if all canaries have succeeded.
  run(math.min(options.canary, #members), 1, 1)
  if count(members, "failed") == 0 then run(#members, options.jobs, options.most_failures) end
end

-- Returns the report of a fleet; `exit_code` is that of an interrupted command.
function fleet.result(members, exit_code)
  for _, member in ipairs(exit_code and members or {}) do
    if member.state == "running" then member.state = "interrupted" end
  end
  local report = {
    "stores", text.map(members, function(member)
      return text.object("store", member.store, "state", member.state, "error", member.message)
    end),
  }
  local lines, counts = {}, {}
  for _, member in ipairs(members) do
    if member.message then lines[#lines + 1] = member.store .. ": " .. member.message end
  end
  for _, state in ipairs { "migrated", "up_to_date", "failed", "not_started", "interrupted" } do
    local found = count(members, state)
    if state ~= "interrupted" or found > 0 then counts[#counts + 1] = found .. " " .. words(state) end
    text.append(report, { state, found })
  end
  lines[#lines + 1] = #members .. " stores: " .. table.concat(counts, ", ")
  report[#report + 1] = "error"
  report[#report + 1] = exit_code and text.object("code", "interrupted", "message", "the command was stopped")
  -- An error takes precedence over the refusals of --fail-on.
  local code = 0
  for _, member in ipairs(members) do
    if member.state == "failed" then code = (code == 0 or code == 3) and member.exit_code == 3 and 3 or 1 end
  end
  return { report = text.object(table.unpack(report, 1, 14)), lines = lines, exit_code = exit_code or code }
end

return fleet

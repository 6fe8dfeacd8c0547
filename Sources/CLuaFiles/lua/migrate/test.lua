-- `moonpool migrate test`: tests the migrations of a folder with the test files next to them.
--
-- `0002_name_test.lua` returns { before = function(store) … end, after = function(store) … end }. `before` fills a
-- store in memory, to which the earlier migrations were applied. `after` checks the result of `up`, and `down` that of
-- the migration's `down`. An array of such tables contains several tests.
--
-- A migration with a `down` is also tested with generated objects: after `up` and `down`, the store must be unchanged,
-- except for declared losses.
local text = require "migrate/text"
local folder = require "migrate/folder"
local findings = require "migrate/findings"
local fail = text.fail

local test = {}
local form = "{ before = function(store) … end, after = function(store) … end }"

local function apply(dir, file, store) return folder.apply(dir, folder.script(dir, file), store) end

local function open() return host.open { in_memory = host.unique_name "migration test" } end

-- Applies the migrations before a file.
local function prepare(dir, file, store)
  for _, earlier in ipairs(folder.before(dir, file.number)) do apply(dir, earlier, store) end
end

local function revert(dir, file, store)
  local script = folder.script(dir, file)
  if not script.has_down then fail("invalid_argument", "'" .. file.path .. "' has no 'down' function to test") end
  local _, previous = folder.before(dir, file.number)
  local schema = folder.schema_after(dir, previous)
  local write <close> = store:begin()
  write:change(schema, previous and previous.number or 0, folder.down_losses(script, schema),
    folder.reversed_renames(script), not (script.up or script.down))
  folder.call(dir, write, script, "down")
  write:commit()
end

-- Calls a function of a test with the store.
local function call(dir, file, f, store)
  local _ <close> = folder.environment(dir, file)
  f(store)
end

local function run(dir, file, fixture)
  local store <close> = open()
  prepare(dir, file, store)
  local value = store.value
  do
    local _ <close> = folder.environment(dir, file)
    if fixture.before then value:write(function() fixture.before(value) end) end
    apply(dir, file, store)
    if fixture.after then fixture.after(value) end
  end
  -- A `down` is always tested if it exists: it must run, and restore the previous schema.
  if not folder.script(dir, file).has_down and not fixture.down then return end
  revert(dir, file, store)
  if fixture.down then call(dir, file, fixture.down, value) end
  -- Running `up` again restores the state before `down`.
  apply(dir, file, store)
end

-- Returns the tests in a file.
local function cases(path)
  local result = folder.table(host.read(path), path, form)
  local count = rawlen(result)
  local list = count > 0 and text.filter(result, function(case) return type(case) == "table" end) or { result }
  local known = { "name", "before", "after", "down" }
  local function invalid(what) fail("invalid_argument", "'" .. path .. "': " .. what) end
  for _, case in ipairs(list) do
    for key, value in next, case do
      if type(key) ~= "string" or not text.contains(known, key) then
        local shown = type(key) == "string" and key or "a " .. type(key)
        invalid("unknown key '" .. shown .. "'" .. host.nearest(shown, known))
      elseif key ~= "name" and type(value) ~= "function" then
        invalid("'" .. key .. "' must be a function, got a " .. type(value))
      end
    end
  end
  if count > 0 and #list ~= count then invalid("each test must be " .. form) end
  for index, case in ipairs(list) do
    if not (rawget(case, "before") or rawget(case, "after") or rawget(case, "down")) then
      local name = rawget(case, "name")
      invalid((type(name) == "string" and "test '" .. name .. "'" or "test " .. index)
        .. " does not test anything; write " .. form)
    end
  end
  return list
end

-- Applies `up` and `down` to generated objects; returns the reason if `up` rejects the objects.
local function test_generated(dir, file, script, kind)
  local store <close> = open()
  prepare(dir, file, store)
  local reason = store:fill(kind)
  if reason then return "the store rejects them: " .. reason end
  local lost = text.append(text.copy(script.drops), script.down_drops)
  local before = store:contents(lost)
  local is_applied, report = text.try(apply, dir, file, store)
  if not is_applied then return "up rejects them: " .. host.describe(report).message end
  revert(dir, file, store)
  text.append(lost, text.map(report.dropped, function(dropped) return dropped.name end))
  for _, difference in ipairs(report.differences) do
    local prefix = difference.renamed and difference.class .. "."
    for index = 1, prefix and #lost or 0 do
      if string.sub(lost[index], 1, #prefix) == prefix then
        lost[#lost + 1] = difference.renamed .. string.sub(lost[index], #prefix)
      end
    end
  end
  local difference = before:difference(store:contents(lost), lost)
  if difference then
    fail("invalid_argument", "after up and down, " .. difference
      .. "; change down, or declare the values that it cannot restore with down_drops")
  end
end

local function outcome(file, name, has_fixture, f, ...)
  local result = {
    file = file, name = name, has_fixture = has_fixture, path = has_fixture and file.test_path or file.path,
  }
  local is_passed, reason = text.try(f, ...)
  if not is_passed then
    local found = host.describe(reason)
    result.message, result.advice = found.message, found.advice
  end
  return result, reason
end

-- Tests whether `down` reverses `up`; a file that cannot run has already failed in its other test.
local function generated(dir, file)
  local is_valid, script = text.try(folder.script, dir, file)
  if not is_valid or not script.has_down then return nil end
  local result, skipped = outcome(file, "generated objects", true, function()
    local reason
    for _, kind in ipairs { "words", "digits" } do
      reason = test_generated(dir, file, script, kind)
      if not reason then break end
    end
    -- An up that accepts only certain values can reject the values at the boundaries of the types.
    for _, kind in ipairs { "boundaries", "empty" } do test_generated(dir, file, script, kind) end
    return reason
  end)
  if not result.message then result.skipped = skipped end
  return result
end

-- Runs all tests in order.
--
-- Returns outcomes: { file, path, name, has_fixture, message, advice, skipped }. `message` is the reason for a failure,
-- and `skipped` the reason why a test did not run.
function test.run(dir)
  local outcomes = text.map(dir.stray_tests, function(name)
    return {
      path = text.path(name, dir.path), has_fixture = true, message = folder.stray_message(dir, name),
      advice = folder.stray_advice,
    }
  end)
  for _, file in ipairs(dir.files) do
    if host.size(file.test_path) then
      local reading, list = outcome(file, nil, true, cases, file.test_path)
      if reading.message then outcomes[#outcomes + 1], list = reading, {} end
      for _, fixture in ipairs(list) do
        local name = rawget(fixture, "name")
        outcomes[#outcomes + 1] = outcome(file, type(name) == "string" and name or nil, true, run, dir, file, fixture)
      end
    else
      outcomes[#outcomes + 1] = outcome(file, nil, false, run, dir, file, {})
    end
    outcomes[#outcomes + 1] = generated(dir, file)
  end
  return outcomes
end

local function failures(outcomes)
  return text.filter(outcomes, function(result) return result.message ~= nil end)
end
test.failures = failures

-- Returns the migration and the name of a test.
function test.title(result)
  local file = result.file
  return (file and text.number(file.number) .. " " .. file.name or result.path)
    .. (result.name and ": " .. result.name or "")
end

-- Returns the failures as findings.
function test.findings(outcomes)
  return text.map(failures(outcomes), function(result)
    return {
      kind = "test", code = "test", message = result.message, advice = result.advice, path = result.path,
      line = findings.line(result.message, result.path), number = result.file and result.file.number,
      object = result.name,
    }
  end)
end

function test.report(outcomes)
  return text.object(
    "tests", text.map(outcomes, function(result)
      local file = result.file
      return text.object(
        "number", file and file.number, "migration", file and file.name, "file", result.path, "test", result.name,
        "fixture", result.has_fixture, "ok", result.message == nil, "skipped", result.skipped,
        "message", result.message)
    end),
    "failures", #failures(outcomes))
end

function test.lines(outcomes)
  local lines = {}
  for _, result in ipairs(outcomes) do
    local title = test.title(result)
    if result.message then
      text.append(lines, { "failed  " .. title, "        " .. result.message })
    elseif result.skipped then
      text.append(lines, { "skipped " .. title, "        " .. result.skipped })
    else
      lines[#lines + 1] = "ok      " .. title .. (result.has_fixture and "" or " (on an empty store)")
    end
  end
  local count = #failures(outcomes)
  lines[#lines + 1] = text.count(#outcomes, "tests") .. ", " .. (count == 0 and "none" or count) .. " failed"
  return lines
end

return test

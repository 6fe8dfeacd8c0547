-- The vocabulary of the specifications in Tests/Specifications.
--
-- A specification is a chunk that declares scenarios. Each scenario runs in an engine of its own, with the global
-- `store`, a new store in memory that has the last schema declared above the scenario. The runner sets `environment`
-- (engine, confined or typed), `folder` (an empty folder that the scenario may write to), `store_name`, `tests_all`
-- (whether sweeps test everything instead of a sample),
-- `reports()` (the errors and hints since its last call: `source` and `message`) and
-- `elsewhere(class, key, values)` (creates or changes an object in another store of the same file, or without values
-- deletes it).

local scenarios = {}
local current = { before = {}, except = {} }

-- The schema of scenarios that need no special one.
kennel = {
  Dog = {
    id = "int primary", name = "string", age = "int?", score = "double", good = "bool", born = "date?", tag = "uuid?",
    raw = "data?", weight = "float?", code = "object_id?", owner = "Person", toys = "Toy[]", marks = "int[]",
    notes = "string?[]", breed = { type = "string", indexed = true, default = "mutt" },
  },
  Person = { name = "string primary", dogs = "Dog[]", owned = "backlinks Dog.owner" },
  Toy = { { "label", "string" }, { "price", "double" } },
}

-- Creates a dog of the kennel in a write of its own.
function dog(values)
  local all = { id = 1, name = "Rex", score = 0, good = true }
  for key, value in pairs(values or {}) do all[key] = value end
  return store:write(function() return store:create("Dog", all) end)
end

-- Objects with links of every kind. `fill_linked` creates ten targets and ten objects, with the ids 0 to 9. Object n
-- has the value 2 * n and a link to target n, which has the value n.
local id, number = { "id", "int primary" }, { "value", { type = "int", default = 0 } }
linked = {
  Obj = {
    id, number, { "text", "string?" }, { "link", "Target" }, { "second", "Target" }, { "targets", "Target[]" },
    { "linkings", "backlinks Linking.link" },
  },
  Target = {
    id, number, { "value2", { type = "int", default = 0 } }, { "link", "Other" }, { "origin", "backlinks Obj.link" },
    { "holders", "backlinks Obj.targets" },
  },
  Other = { number, { "next", "Other" } },
  Linking = { number, { "link", "Obj" } },
  Holder = { id, { "ints", "int[]" }, { "targets", "Target[]" }, { "others", "Other[]" } },
  Bag = { { "ints", "int<>" }, { "links", "Target<>" }, { "names", "int{}" }, { "things", "Target{}" } },
  Keyed = { id, number },
}

function fill_linked()
  store:write(function()
    for n = 0, 9 do
      store:create("Obj", { id = n, value = 2 * n, link = { id = n, value = n } })
    end
  end)
end

function obj(n) return store:object("Obj", n) end
function target(n) return store:object("Target", n) end

-- Declares the schema of the scenarios that follow, and removes what `before` has added.
function schema(classes) current = { schema = classes, before = {}, except = current.except } end

-- Adds a function that runs before each of the scenarios that follow.
function before(body)
  current = { schema = current.schema, before = { table.unpack(current.before) }, except = current.except }
  table.insert(current.before, body)
end

-- Leaves the scenarios that follow out of environments: `except { confined = "why" }`. `except {}` ends it.
function except(reasons) current = { schema = current.schema, before = current.before, except = reasons } end

-- For scenarios that compare thousands of values, which no environment changes.
sweep = { confined = "the engine compares the same values", typed = "the engine compares the same values" }

-- Declares a scenario. One with a schema of its own, `scenario(title, classes, body)`, runs without `before`.
function scenario(title, classes, body)
  local _, position = pcall(error, "", 3)
  for _, other in ipairs(scenarios) do
    if other.title == title then error("two scenarios have the title '" .. title .. "'", 2) end
  end
  table.insert(scenarios, {
    title = title, body = body or classes, line = tonumber(position:match ":(%d+):"), except = current.except,
    schema = body and classes or current.schema or kennel, before = body and {} or current.before,
  })
  -- Each scenario runs in another engine, and the order of `pairs` differs between them.
  table.sort(scenarios, function(one, other)
    if one.line ~= other.line then return one.line < other.line end
    return one.title < other.title
  end)
end

-- Runs a scenario. The engine of a typed store has opened it before.
local function run(index)
  local chosen = scenarios[index]
  if store then
    store:define(chosen.schema)
  else
    store = moonpool.open { in_memory = store_name, schema = chosen.schema }
  end
  for _, body in ipairs(chosen.before) do body() end
  chosen.body()
end

-- Returns a name for another store in memory, which no other scenario uses.
function unique(text) return store_name .. " " .. text end

-- Runs the observers, timers and queued writes that are due.
function turn()
  for _ = 1, 5 do
    local checks = 0
    -- The condition is checked before and after each turn of the loop.
    moonpool.wait_until(function()
      checks = checks + 1
      return checks == 2
    end)
  end
end

local function show(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for index = 1, #value do parts[index] = show(value[index]) end
  for key, element in pairs(value) do
    if math.type(key) ~= "integer" then parts[#parts + 1] = tostring(key) .. " = " .. show(element) end
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- Whether a value equals a plain value: tables and collections have equal elements.
local function matches(actual, expected)
  if type(expected) ~= "table" then return actual == expected end
  if type(actual) ~= "table" and type(actual) ~= "userdata" or #actual ~= #expected then return false end
  for key, element in pairs(expected) do
    if not matches(actual[key], element) then return false end
  end
  if type(actual) ~= "table" then return true end
  for key in pairs(actual) do
    if expected[key] == nil then return false end
  end
  return true
end

function assert(condition, message, ...)
  if condition then return condition, message, ... end
  error(message == nil and "the condition is false" or show(message), 2)
end

-- Requires that a value equals another one; tables and collections are compared with tables by their elements.
function equal(actual, expected)
  if matches(actual, expected) then return end
  error(("expected %s, got %s"):format(show(expected), show(actual)), 2)
end

-- Requires that a call raises an error, and returns its message. `expected` is `code`, `code: part of the message`, or
-- `: part of the message` for an error with any code or none.
function fails(expected, f, ...)
  local ok, raised = pcall(f, ...)
  if ok then error("expected the error '" .. expected .. "', got none", 2) end
  local code, part = expected:match "^([%l_]*):? ?(.*)$"
  local found, message = "", raised
  if type(raised) == "userdata" then found, message = raised.code, raised.message end
  if (code == "" or code == found) and tostring(message):find(part, 1, true) then return message end
  error(("expected the error '%s', got '%s: %s'"):format(expected, found, tostring(message)), 2)
end

-- Returns a change as text: "initial", "del[1] ins[2, 3] mod[4] new[3]", or for an object "value 1>2, list nil>#2".
-- `new` lists the positions of modified rows after the change, if they differ. "gone" means that the owner was deleted.
function describe(change)
  if change.error then return "error " .. change.error.code end
  local parts = {}
  if change.deletions then
    local modified = table.concat(change.modifications, ", ")
    for key, list in pairs {
      del = change.deletions, ins = change.insertions, mod = change.modifications, new = change.modifications_new,
    } do
      local positions = table.concat(list, ", ")
      if positions ~= "" and (key ~= "new" or positions ~= modified) then
        table.insert(parts, ("%s[%s]"):format(key, positions))
      end
    end
    table.sort(parts)
    if change.type == "initial" then parts = { "initial" } end
    if not change.collection:is_valid() then table.insert(parts, "gone") end
    return table.concat(parts, " ")
  end
  if change.type ~= "change" then return change.type end
  local function text(v)
    if type(v) ~= "userdata" then return v end
    local isObject, key = pcall(function() return v.id end)
    if isObject and key then return key end
    local isCollection, count = pcall(function() return "#" .. #v end)
    return isCollection and count or "deleted"
  end
  for _, property in ipairs(change.properties) do
    table.insert(parts, ("%s %s>%s"):format(property.name, text(property.old), text(property.new)))
  end
  return table.concat(parts, ", ")
end

local tokens = {}

-- Observes something until the end of the scenario. Returns a function and the token. The function performs a write, if
-- it has an argument, then turns, and returns the changes since its last call, separated by "; ".
function changes(observed, options)
  local calls = {}
  local token = observed:observe(function(change) table.insert(calls, describe(change)) end, options)
  local function news(body)
    if body then store:write(body) end
    turn()
    local text = table.concat(calls, "; ")
    calls = {}
    return text
  end
  table.insert(tokens, token)
  local first = news()
  if first ~= "initial" and first ~= "" then error("the first call is '" .. first .. "'", 2) end
  return news, token
end

-- Returns the code of the error that a call raises, or "no error".
function code(f, ...)
  local ok, raised = pcall(f, ...)
  return ok and "no error" or type(raised) == "userdata" and raised.code or raised
end

-- Returns the message of the error that a call raises, or "no error".
function message(f, ...)
  local ok, raised = pcall(f, ...)
  return ok and "no error" or type(raised) == "userdata" and raised.message or raised
end

-- Whether two sequences have the same elements.
function same(one, other)
  if #one ~= #other then return false end
  for index = 1, #one do
    if one[index] ~= other[index] then return false end
  end
  return true
end

specification = { scenarios = scenarios, run = run }

-- Moonpool's side of scale.py: moonpool scale.lua STORE COUNT [open | migrate]
--
-- Prints a line `step seconds` for each step, in processor time of all threads, and `step MiB` for memory.
local path, count, part = arg[1], math.tointeger(arg[2]), arg[3]
local texts = 1000003

local function report(step, value) print(step .. "\t" .. value) end
local function timed(step, body, divisor)
  local start = os.clock()
  local result = body()
  report(step, (os.clock() - start) / (divisor or 1))
  return result
end
-- The anonymous memory of this process, which files in the system's cache do not count for.
local function anonymous(step)
  collectgarbage()
  for line in io.lines("/proc/self/status") do
    local size = line:match "^RssAnon:%s*(%d+)"
    if size then report(step, size // 1024) end
  end
end
-- The values of object `id`, in the same way as in scale.py.
local function values(id)
  return { id, "name " .. id * 7919 % texts, id * 31 % 100, id * 7919 % 1000003 / 1000, id % 2 == 0 }
end

if part == "open" then
  timed("open and read one object", function()
    local store <close> = moonpool.open(path)
    return store:object("Dog", count // 2).age
  end)
  return
end
if part == "migrate" then
  local store <close> = moonpool.open(path)
  timed("new indexed property", function() store:define { Dog = { "...", weight = { type = "int", indexed = true, default = 3 } } } end)
  return
end

local store = moonpool.open { path = path, durability = "async", schema = { Dog = {
  { "id", "int primary" }, { "name", "string indexed" }, { "age", "int" }, { "score", "double" },
  { "active", "bool" } } } }
timed("insert", function()
  for first = 0, count - 1, 1000000 do
    store:write(function()
      for id = first, math.min(first + 1000000, count) - 1 do store:create("Dog", values(id)) end
    end)
  end
end)
anonymous "memory after inserting"
local dogs = store:objects "Dog"
timed("count age > 50", function() return #dogs:where "age > 50" end)
timed("sum of age", function() return dogs:sum "age" end)
timed("first 100 by score", function()
  for _, dog in ipairs(dogs:sorted("score"):limit(100)) do assert(dog.age) end
end)
timed("1,000 look-ups by key", function()
  for number = 1, 1000 do assert(store:object("Dog", number * 7919 % count).age) end
end)
timed("100 look-ups by text", function()
  for number = 1, 100 do assert(#dogs:where("name == $1", "name " .. number * 7919 % texts)) end
end)
timed("group by age", function() return #dogs:group_by "age" end)

local half = dogs:where "age >= 50"
local calls = 0
local function called() calls = calls + 1 end
local tokens = {}
timed("observe a sorted half: first call", function()
  tokens[1] = half:sorted("score"):observe(called)
  moonpool.wait_until(function() return calls == 1 end)
end)
tokens[2] = half:observe(called)
tokens[3] = dogs:sorted("score"):limit(100):observe(called)
moonpool.wait_until(function() return calls == 3 end)
anonymous "memory with observers"
local function commits(number)
  for index = 1, number do
    local before = calls
    store:write(function()
      -- An object whose age is above 50, and stays there.
      local dog = store:object("Dog", index * 700 % count + 2)
      dog.age = 50 + (dog.age + 1) % 50
    end)
    moonpool.wait_until(function() return calls >= before + 2 end)
  end
end
commits(20)
timed("a commit with three observers", function() commits(200) end, 200)
for _, token in ipairs(tokens) do token:invalidate() end
half, tokens = nil, nil
timed("update 1 %", function()
  store:write(function() dogs:where("age == 7"):update { score = 1 } end)
end)
timed("delete 1 %", function() store:write(function() store:delete(dogs:where "age == 8") end) end)
report("objects", #dogs)
dogs = nil
store:close()
anonymous "memory after closing"

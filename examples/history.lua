-- History: undo writes, read earlier versions, and record and replay changes.
--
-- Prints:
--
--     Rex is 3, then 4; Max is deleted
--     undo: Max is back, and is 5
--     undo: Rex is 3
--     redo: Rex is 4
--     a new write leaves nothing to redo: true
--     at first Rex was 3 and there were 2 dogs
--     since then: Rex.age 3 -> 10
--     since then: +1 Dog (Cleo)
--     replayed 2 commits: Cleo came, Rex.age 10 -> 11
--     the copy has 3 dogs

local moonpool = require "moonpool"

local schema = { Dog = { name = "string primary", age = "int" } }
local store = moonpool.open { in_memory = "history", history = 50, schema = schema }

local function write(fn) return store:write(fn) end

write(function()
  store:create("Dog", { name = "Rex", age = 3 })
  store:create("Dog", { name = "Max", age = 5 })
end)
local rex, max = store:object("Dog", "Rex"), store:object("Dog", "Max")
local first = store.version

-- Undo and redo are transactions, which notify observers.
write(function() rex.age = 4 end)
write(function() store:delete(max) end)
print("Rex is 3, then " .. rex.age .. "; Max is " .. (max:is_valid() and "valid" or "deleted"))

store:undo()
print("undo: Max is back, and is " .. max.age)
store:undo()
print("undo: Rex is " .. rex.age)
store:redo()
print("redo: Rex is " .. rex.age)

-- Start a recording. A new write removes all steps to redo.
local path = os.tmpname()
local copy = moonpool.open { in_memory = "copy", schema = schema }
copy:write(function()
  copy:create("Dog", { name = "Rex", age = 10 })
  copy:create("Dog", { name = "Max", age = 5 })
end)

write(function() rex.age = 10 end)
print("a new write leaves nothing to redo: " .. tostring(not pcall(store.redo, store)))

local recording = store:record(path)
write(function() store:create("Dog", { name = "Cleo", age = 1 }) end)

-- Read any version that the history keeps, and compare two versions.
local past = store:at(first)
print(("at first Rex was %d and there were %d dogs"):format(
  past:object("Dog", "Rex").age, #past:objects "Dog"))

local diff = store:diff(first, store.version).Dog
for _, entry in ipairs(diff.modified) do
  for _, property in ipairs(entry.properties) do
    print(("since then: %s.%s %s -> %s"):format(
      entry.object.name, property.name, property.old, property.new))
  end
end
print(("since then: +%d Dog (%s)"):format(#diff.inserted, diff.inserted[1].name))

-- Replaying the recording into another store notifies the observers of that store.
write(function() rex.age = 11 end)
recording:stop()

local heard = {}
local token <close> = copy:objects("Dog"):observe(function(change)
  if change.type == "initial" then return end
  for _, dog in ipairs(change:inserted()) do heard[#heard + 1] = dog.name .. " came" end
  for i, dog in ipairs(change:modified()) do
    local age = change:properties(i)[1]
    heard[#heard + 1] = ("%s.age %d -> %d"):format(dog.name, age.old, age.new)
  end
end)
copy:refresh()
local commits = moonpool.replay(path, copy)
copy:refresh()
print(("replayed %d commits: %s"):format(commits, table.concat(heard, ", ")))
print("the copy has " .. #copy:objects "Dog" .. " dogs")
os.remove(path)

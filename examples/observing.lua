-- Observing: collections, objects, properties and the store report their changes.
--
-- Prints:
--
--     initial: 2 adults
--     update: -0 +1 ~0
--       Cleo is now at 1
--     update: -1 +0 ~1
--       deleted: Rex
--       changed: Max
--     Max: age 9 -> 10
--     list: Max inserted at 1, Cleo inserted at 2
--     list: Cleo moved from 2 to 1
--     marks: 5 inserted at 2, 1 at 1 became 3
--     high marks: 4 inserted at 2
--     owners of Max: 1
--     age: 10 -> 11
--     the store did change
--     people: 1 modified, because of dogs.age
--     silent: no call
--     debounced: 3 changes in one call
--     queued: wrote after the chunk
--     depends on Dog, Dog.name

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "observing",
  schema = {
    Dog = { name = "string primary", age = "int", marks = "int[]", owners = "backlinks Person.dogs" },
    Person = { name = "string primary", dogs = "Dog[]" },
  },
}

store:write(function()
  for name, age in pairs { Rex = 7, Max = 8, Pup = 0 } do
    store:create("Dog", { name = name, age = age })
  end
end)

-- Results: the first call reports the collection, each later call the changes and their indexes.

local adults = store:objects("Dog"):where("age >= $1", 2):sorted("name")

local token = adults:observe(function(change)
  if change.type == "initial" then
    print("initial: " .. #change.collection .. " adults")
    return
  end
  print(("update: -%d +%d ~%d"):format(
    #change.deletions, #change.insertions, #change.modifications))
  for _, index in ipairs(change.insertions) do
    print("  " .. change.collection[index].name .. " is now at " .. index)
  end
  for _, dog in ipairs(change:deleted()) do print("  deleted: " .. dog.name) end
  for _, dog in ipairs(change:modified()) do print("  changed: " .. dog.name) end
end)

-- Observers run between the chunks of a script. Inside a chunk, `refresh` and `sleep` run them.
store:refresh()
store:write(function() store:create("Dog", { name = "Cleo", age = 4 }) end)
store:refresh()
store:write(function()
  store:delete(store:object("Dog", "Rex"))
  store:object("Dog", "Max").age = 9
end)
store:refresh()
token:invalidate()

-- An object reports its changed properties with the old and the new values.
local max, cleo = store:object("Dog", "Max"), store:object("Dog", "Cleo")
do
  -- `<close>` ends the observation at the end of the block.
  local max_token <close> = max:observe(function(change)
    for _, property in ipairs(change.properties) do
      print(("Max: %s %s -> %s"):format(property.name, property.old, property.new))
    end
  end)
  store:write(function() max.age = 10 end)
  store:refresh()
end

-- A list reports its edits: inserted, removed, replaced and moved elements.
local ann = store:write(function() return store:create("Person", { name = "Ann" }) end)
do
  local list_token <close> = ann.dogs:observe(function(change)
    local inserted = {}
    for i, dog in ipairs(change:inserted()) do
      inserted[i] = ("%s inserted at %d"):format(dog.name, change.insertions[i])
    end
    if #change.deletions == 1 and #inserted == 1 then
      print(("list: %s moved from %d to %d"):format(
        change:inserted()[1].name, change.deletions[1], change.insertions[1]))
    elseif change.type == "update" then
      print("list: " .. table.concat(inserted, ", "))
    end
  end)
  store:refresh()
  store:write(function() ann.dogs:append(max, cleo) end)
  store:refresh()
  store:write(function() ann.dogs:move(2, 1) end)
  store:refresh()
end

-- A list of plain values reports the values.
store:write(function() max.marks = { 1 } end)
do
  local marks_token <close> = max.marks:observe(function(change)
    if change.type == "initial" then return end
    print(("marks: %d inserted at %d, 1 at %d became %d"):format(
      change:inserted()[1], change.insertions[1], change.modifications[1], change:modified()[1]))
  end)
  store:refresh()
  store:write(function()
    max.marks[1] = 3
    max.marks:append(5)
  end)
  store:refresh()
end

-- Filtered and sorted values are observable too. Their indexes are positions in the sorted result.
do
  local high_token <close> = max.marks:where("SELF > 2"):sorted("desc"):observe(function(change)
    if change.type == "initial" then return end
    print(("high marks: %d inserted at %d"):format(change:inserted()[1], change.insertions[1]))
  end)
  store:refresh()
  store:write(function() max.marks:append(1, 4) end)
  store:refresh()
end

-- Backlinks are an observable collection too.
do
  local owners_token <close> = max.owners:observe(function(change)
    if change.type == "initial" then print("owners of Max: " .. #change.collection) end
  end)
  store:refresh()
end

-- Observe one property, or the store. Observers of the store run before `write` returns.
do
  local age_token <close> = max:observe_value("age", function(new, old)
    print(("age: %d -> %d"):format(old, new))
  end)
  store:write(function() max.age = 11 end)
  store:refresh()
  local store_token <close> = store:observe(function(what)
    print("the store " .. what:gsub("_", " "))
  end)
  store:write(function() max.age = 12 end)
end

-- Key paths select the changes that count as modifications; `why` returns the reason of the last call.
do
  local calls = 0
  local people <close> = store:objects("Person"):observe(function(change)
    calls = calls + 1
    modified = #change.modifications
  end, { keypaths = { "name", "dogs.age" }, name = "people" })
  store:refresh()
  store:write(function() max.age = 13 end)
  store:refresh()
  print(("people: %d modified, because of %s"):format(modified, people:why().keypath))

  -- A silent write does not notify the given observers.
  store:write(function() store:create("Person", { name = "Bob" }) end, { without_notifying = { people } })
  store:refresh()
  print("silent: " .. (calls == 2 and "no call" or "a call"))
end

-- `debounce` notifies once no change has occurred for a time; `throttle` limits the frequency of calls.
do
  local debounced
  local calm <close> = store:objects("Dog"):observe(function(change)
    if change.type == "update" then debounced = #change.modifications end
  end, { debounce = 0.05 })
  store:refresh()
  for _, dog in ipairs { max, cleo, store:object("Dog", "Pup") } do
    store:write(function() dog.age = dog.age + 1 end)
    store:refresh()
  end
  moonpool.wait_until(function() return debounced end, 60)
  print("debounced: " .. debounced .. " changes in one call")
end

-- A queued write runs when the write lock is free, without blocking the script.
local done = false
store:write_async(function() done = true end)
moonpool.wait_until(function() return done end, 60)
print("queued: wrote after the chunk")

-- `depends_on` lists the classes and properties that an observer depends on; other commits do not affect the observer.
local last = store:objects("Dog"):observe(function() end, { keypaths = { "name" } })
print("depends on " .. table.concat(last:stats().depends_on, ", "))
last:invalidate()
store:close()

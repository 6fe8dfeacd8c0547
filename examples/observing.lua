-- Observing: a query's result and one object tell what changed in them, and where.
--
-- Prints:
--
--     initial: 2 adults
--     update: -0 +1 ~0
--       Cleo is now at 1
--     update: -1 +0 ~1
--       gone: Rex
--       changed: Max
--     Max: age 9 -> 10
--     done after 3 updates

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "observing",
  schema = { Dog = { name = "string primary", age = "int" } },
}

store:write(function()
  for name, age in pairs { Rex = 7, Max = 8, Pup = 0 } do
    store:create("Dog", { name = name, age = age })
  end
end)

local updates = 0
local adults = store:objects("Dog"):where("age >= $1", 2):sorted("name")

local token = adults:observe(function(change)
  if change.type == "initial" then
    print("initial: " .. #change.collection .. " adults")
    return
  end
  updates = updates + 1
  print(("update: -%d +%d ~%d"):format(
    #change.deletions, #change.insertions, #change.modifications))
  for _, index in ipairs(change.insertions) do
    print("  " .. change.collection[index].name .. " is now at " .. index)
  end
  for _, dog in ipairs(change:deleted()) do print("  gone: " .. dog.name) end
  for _, dog in ipairs(change:modified()) do print("  changed: " .. dog.name) end
end)

-- Observers run between the chunks of a script; `refresh` and `sleep` let them run inside one.
store:refresh()
store:write(function() store:create("Dog", { name = "Cleo", age = 4 }) end)
store:refresh()
store:write(function()
  store:delete(store:object("Dog", "Rex"))
  store:object("Dog", "Max").age = 9
end)
store:refresh()
token:invalidate()

-- An object tells which of its properties changed, with the old and the new value.
local max = store:object("Dog", "Max")
local max_token = max:observe(function(change)
  updates = updates + 1
  for _, property in ipairs(change.properties) do
    print(("Max: %s %s -> %s"):format(property.name, property.old, property.new))
  end
end)
store:write(function() max.age = 10 end)
store:refresh()
max_token:invalidate()

print("done after " .. updates .. " updates")
store:close()

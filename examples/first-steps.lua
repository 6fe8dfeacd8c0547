-- First steps: a class, a few objects, a change that is rolled back.
--
-- Prints:
--
--     2 dogs
--     Max is 3
--     Rex is 7
--     a birthday went wrong: no cake
--     Max is still 3
--     Max's owner is Ann, who has 2 dogs

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "first-steps",
  schema = {
    Dog = { id = "int primary", name = "string", age = "int?", owner = "Person" },
    Person = { name = "string primary", dogs = "backlinks Dog.owner" },
  },
}

-- Every change happens inside a write. All changes become visible together when the function returns.
local rex, max = store:write(function()
  local ann = store:create("Person", { name = "Ann" })
  return store:create("Dog", { id = 1, name = "Rex", age = 7, owner = ann }),
    store:create("Dog", { id = 2, name = "Max", age = 3, owner = ann })
end)

local dogs = store:objects("Dog")
print(#dogs .. " dogs")
for dog in dogs:sorted("age"):each() do print(dog.name .. " is " .. dog.age) end

-- An error rolls back all changes of the function.
local ok, err = pcall(function()
  store:write(function()
    max.age = max.age + 1
    error("no cake", 0)
  end)
end)
print("a birthday went wrong: " .. tostring(err))
print(max.name .. " is still " .. max.age)

-- A link is an object, and backlinks follow links in the opposite direction.
print(("%s's owner is %s, who has %d dogs"):format(max.name, max.owner.name, #rex.owner.dogs))

store:close()

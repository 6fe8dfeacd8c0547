-- A panel of your own in the studio: text, a chart, a table and a button, which follow every commit.
--
-- Run it at a prompt, and open the studio on the session:
--
--     moonpool -i examples/studio.lua
--     .studio
--
-- The panel is a tab beside Data, Schema and the other views. A running script with --attachable shows its panels in
-- `moonpool studio PID`; in the console of the studio, dofile "examples/studio.lua" adds the panel.
--
-- Prints:
--
--     the panel Kennel is in the studio: 4 dogs

local moonpool = require "moonpool"

-- At a prompt and in the console, the store is a global variable.
store = store or moonpool.open { in_memory = "kennel" }
if not store:schema().Dog then
  store:define { Dog = { { "name", "string primary" }, { "age", "int" }, { "weight", "double" } } }
  store:write(function()
    store:create("Dog", { name = "Rex", age = 7, weight = 31.5 })
    store:create("Dog", { name = "Max", age = 3, weight = 12 })
    store:create("Dog", { name = "Cleo", age = 5, weight = 22.5 })
    store:create("Dog", { name = "Luna", age = 9, weight = 27 })
  end)
end

local function birthday()
  store:write(function()
    for dog in store:objects("Dog"):each() do dog.age = dog.age + 1 end
  end)
end

-- The studio calls the function when the panel is shown, and after each commit.
moonpool.studio.panel("Kennel", function(shown)
  local dogs = shown:objects "Dog"
  local rows = { { "dog", "years", "kilograms a year" } }
  for dog in dogs:sorted("age", "desc"):each() do
    rows[#rows + 1] = { dog, dog.age, ("%.1f"):format(dog.weight / dog.age) }
  end
  return ("%d dogs, %.1f years old on average"):format(#dogs, dogs:average "age"), dogs:plot("age", "weight", { title = "weight by age" }),
    rows, { button = "Birthday", press = birthday }
end)

print(("the panel Kennel is in the studio: %d dogs"):format(#store:objects "Dog"))

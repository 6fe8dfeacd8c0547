-- PostgreSQL: exports a store to a database, changes the data with SQL, and imports the changes.
--
-- Prints:
--
--     usage: moonpool examples/postgres.lua postgres://user@host:5432/database
--
-- With an address, prints:
--
--  | 4 objects exported
--  | 2 created, 1 updated
--  | Rex is 8 and belongs to Ann
--  | upserted: 6 objects
--
-- Creates the tables Dog and Person in the database, and replaces them if they exist.

local moonpool = require "moonpool"

local database = arg[1]
if not database then
  print "usage: moonpool examples/postgres.lua postgres://user@host:5432/database"
  os.exit(0)
end

local store = moonpool.open {
  in_memory = "postgres",
  schema = {
    Person = { name = "string primary" },
    Dog = { id = "int primary", name = "string", age = "int", tags = "string[]", owner = "Person", friends = "Dog[]" },
  },
}
store:write(function()
  local ann = store:create("Person", { name = "Ann" })
  local rex = store:create("Dog", { id = 1, name = "Rex", age = 7, tags = { "good", "old" }, owner = ann })
  store:create("Dog", { id = 2, name = "Max", age = 3, friends = { rex } })
  store:create("Person", { name = "Bob" })
end)

-- Properties become columns, links become foreign keys, lists of values become arrays, and lists of links become
-- tables.
print(store:export(database, { replace = true }) .. " objects exported")

-- Another program would change the data with SQL; in this example, a second store does it.
local other = moonpool.open { in_memory = "other" }
other:import(database, { table = { "Person", "Dog" } })
other:write(function()
  other:object("Dog", 1).age = 8
  other:create("Dog", { id = 3, name = "Pup", age = 1, owner = other:object("Person", "Bob") })
  other:create("Person", { name = "Cid" })
end)
local changed = other:export(database, { upsert = true })

-- Existing objects are updated, new ones are created.
local fresh = moonpool.open { in_memory = "fresh", schema = { Dog = { id = "int primary", name = "string", age = "int" } } }
fresh:write(function() fresh:create("Dog", { id = 1, name = "?", age = 0 }) end)
local report = fresh:import(database, { upsert = true, table = "Dog", map = { tags = "", owner = "", friends = "" } })
print(("%d created, %d updated"):format(report.created, report.updated))

store:import(database, { upsert = true })
local rex = store:object("Dog", 1)
print(("%s is %d and belongs to %s"):format(rex.name, rex.age, rex.owner.name))
print(("upserted: %d objects"):format(changed))

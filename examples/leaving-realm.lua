-- Leaving Realm: imports data in the extended JSON that Realm's tools export, and restores the links.
--
-- Prints:
--
--     4 objects: 2 Dog, 2 Person
--     Rex weighs 31.5 kg, cost 199.90, is calm and old, and belongs to Ann, born 2000-01-01
--     Rex's friends: Max
--     Ann's dogs: Rex
--     the photo has 4 bytes
--
-- The file contains an object with a list for each class. The import creates missing classes from the values; declaring
-- the classes first defines which values are links.

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "leaving-realm",
  schema = {
    Person = { _id = "object_id primary", name = "string", born = "date?", dogs = "backlinks Dog.owner" },
    Dog = {
      _id = "int primary", name = "string", weight = "double", price = "decimal", tags = "string[]",
      owner = "Person", friends = "Dog[]", photo = "data?",
    },
  },
}

local folder = arg[0]:match("^(.*/)") or "./"
local report = store:import(arg[1] or folder .. "realm-export.json")
print(("%d objects: %d Dog, %d Person"):format(report.created, #store:objects "Dog", #store:objects "Person"))

local rex = store:object("Dog", 1)
print(("%s weighs %g kg, cost %s, is %s, and belongs to %s, born %s"):format(
  rex.name, rex.weight, rex.price, table.concat(rex.tags:to_table(), " and "), rex.owner.name,
  tostring(rex.owner.born):sub(1, 10)))
print("Rex's friends: " .. rex.friends[1].name)
print("Ann's dogs: " .. rex.owner.dogs[1].name)
print(("the photo has %d bytes"):format(#rex.photo))

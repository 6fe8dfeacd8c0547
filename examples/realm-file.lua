-- Reads a Realm file without Realm, cleans the data up, and exports it to SQLite.
--
-- Prints:
--
--     imported 4 objects of Collar, Dog and Person; schema version 4
--     Rex, 7 years, wears red, belongs to Ann
--     Max has no age; set it to 0
--     Ann's dogs: Pup, Rex
--     4 objects in dogs.sqlite
--
-- kennel.realm is a file of format 24. An encrypted file needs its key: store:import(path, { key = "@app.key" }).
-- moonpool examples/kennel.realm opens a prompt on a read-only copy of the same file.

local moonpool = require "moonpool"

local folder = arg[0]:match("^(.*/)") or "./"
local store <close> = moonpool.open { in_memory = "realm-file" }
local report = store:import(arg[1] or folder .. "kennel.realm")
table.sort(report.new_classes)
print(("imported %d objects of %s, %s and %s; schema version %d"):format(
  report.created, report.new_classes[1], report.new_classes[2], report.new_classes[3], store.schema_version))

local rex = store:object("Dog", 1)
print(("%s, %d years, wears %s, belongs to %s"):format(rex.name, rex.age, rex.collar.color, rex.owner.name))

-- The app stored -1 for an unknown age.
store:write(function()
  for dog in store:objects("Dog"):where("age < 0"):each() do
    print(dog.name .. " has no age; set it to 0")
    dog.age = 0
  end
end)

local names = {}
for dog in store:objects("Dog"):where("owner.name = 'Ann'"):sorted("name"):each() do names[#names + 1] = dog.name end
print("Ann's dogs: " .. table.concat(names, ", "))

local target = os.tmpname() .. ".sqlite"
print(("%d objects in dogs.sqlite"):format(store:export(target)))
os.remove(target)

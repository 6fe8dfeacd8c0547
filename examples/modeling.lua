-- Modeling: links, lists, sets, maps, embedded objects, backlinks and values of any type.
--
-- Prints:
--
--     Ann lives at 5 Main Street and has 2 dogs
--     Rex is walked by Ann, Bob
--     Bob walks Rex and Max
--     dogs that live in Main Street: Max, Rex
--     Ann has moved to 9 Side Street; 1 address remains
--     without Ann there are 0 addresses, and Rex has no owner
--     Rex is walked by Bob
--     a circle of friends: Bob -> Cleo -> Bob
--     Bob's friend's friend is Bob again: true
--     tags: clever, loud; both have: loud
--     shots: distemper 2024, rabies 2025
--     Max has the number D-2 and the chip 12, of Acme, with 2 readings
--     12.30 + 0.10 = 12.40
--     a frozen copy: Max; the dog: Maximilian
--     in another store: Bob walks Maximilian, Rex

local moonpool = require "moonpool"

local numbers = 0
local function next_number()
  numbers = numbers + 1
  return "D-" .. numbers
end

local schema = {
  Person = {
    name = "string primary",
    address = "Address",               -- embedded: belongs to this person only
    dogs = "Dog[]",                    -- a list of links: the dogs this person walks
    friend = "Person",                 -- a link; nil until it is set
    owned = "backlinks Dog.owner",     -- computed: the dogs whose `owner` is this person
  },
  Dog = {
    name = "string primary",
    owner = "Person",
    number = { type = "string", default = next_number },   -- the function returns the default of each new object
    tags = "string<>",                 -- a set: unique values, in order
    shots = "int{}",                   -- a map with text keys
    chip = "mixed",                    -- a value of any type, also with nested lists, maps and links
    fee = { type = "decimal", default = moonpool.decimal "12.30", map_to = "annual_fee" },   -- its name in the file
    walkers = "backlinks Person.dogs", -- computed: the people whose `dogs` contains this dog
  },
  Address = { embedded = true, street = "string", number = "int", resident = "backlinks Person.address" },
}
local store = moonpool.open { in_memory = "modeling", schema = schema }

local function names(objects)
  local found = {}
  for object in objects:sorted("name"):each() do found[#found + 1] = object.name end
  return table.concat(found, ", ")
end

-- Nested tables create linked objects. This is the only way to create an embedded object, which exists only as part of
-- its parent.
store:write(function()
  local ann = store:create("Person", {
    name = "Ann",
    address = { street = "Main Street", number = 5 },
    dogs = { { name = "Rex" } },
  })
  local rex = ann.dogs[1]
  rex.owner = ann
  local max = store:create("Dog", { name = "Max", owner = ann })
  store:create("Person", { name = "Bob", dogs = { rex, max } })
end)

local ann, bob = store:object("Person", "Ann"), store:object("Person", "Bob")
local rex = store:object("Dog", "Rex")
print(("%s lives at %d %s and has %d dogs"):format(ann.name, ann.address.number, ann.address.street, #ann.owned))

-- Backlinks are not stored. They are computed from the links, so they are always current.
print("Rex is walked by " .. names(rex.walkers))
print("Bob walks " .. bob.dogs[1].name .. " and " .. bob.dogs[2].name)

-- Queries follow links in both directions, and into embedded objects.
local neighbors = store:objects("Dog"):where("owner.address.street == $1", "Main Street")
print("dogs that live in Main Street: " .. names(neighbors))

-- A new address replaces the old one, which is deleted.
store:write(function() ann.address = { street = "Side Street", number = 9 } end)
print(("Ann has moved to %d %s; %d address remains"):format(
  ann.address.number, ann.address.street, #store:objects("Address")))

-- Deleting an object also deletes its embedded objects. Linked objects remain, and links to the deleted object become
-- nil.
store:write(function() store:delete(ann) end)
print(("without Ann there are %d addresses, and Rex has %s owner"):format(
  #store:objects("Address"), rex.owner and "an" or "no"))
print("Rex is walked by " .. names(rex.walkers))

-- New objects can link to each other before they are in a store; one `add` stores all of them.
local cleo = moonpool.new("Person", { name = "Cleo" })
local dora = moonpool.new("Person", { name = "Dora", friend = cleo })
cleo.friend = dora
store:write(function()
  store:add(cleo)
  cleo.friend = bob          -- now `cleo` is the stored object
  bob.friend = cleo
  store:delete(dora)
end)
print(("a circle of friends: %s -> %s -> %s"):format(bob.name, bob.friend.name, bob.friend.friend.name))

-- Two handles of the same object are equal, and a copy as plain tables preserves circular links.
local copy = bob:to_table(5)
print("Bob's friend's friend is Bob again: " .. tostring(bob.friend.friend == bob and copy.friend.friend == copy))

-- Sets, maps and mixed values can be changed in place. A mixed value contains a value of any type.
local max = store:object("Dog", "Max")
store:write(function()
  rex.tags = { "loud", "clever", "loud" }
  max.tags:add "loud"
  rex.shots = { rabies = 2025, distemper = 2024 }
  max.chip = { code = 12, maker = { name = "Acme" }, read_by = { bob } }
  max.chip.read_by:append(cleo)
end)
print("tags: " .. table.concat(rex.tags:union {}, ", ") .. "; both have: "
  .. table.concat(rex.tags:intersection(max.tags), ", "))
local shots = {}
for name, year in pairs(rex.shots) do shots[#shots + 1] = name .. " " .. year end
print("shots: " .. table.concat(shots, ", "))
print(("Max has the number %s and the chip %d, of %s, with %d readings"):format(
  max.number, max.chip.code, max.chip.maker.name, #max.chip.read_by))

-- Decimals are exact.
print("12.30 + 0.10 = " .. tostring(max.fee + moonpool.decimal "0.10"))

-- A frozen object never changes and is usable on any thread; a live object changes.
local kept = max:freeze()
store:write(function() store:object("Dog", "Max").owner = bob end)
local renamed = store:write(function()
  return store:create("Dog", { name = "Maximilian", owner = bob, chip = max.chip, tags = max.tags })
end)
store:write(function()
  bob.dogs = { rex, renamed }
  store:delete(max)
end)
print("a frozen copy: " .. kept.name .. "; the dog: " .. bob.dogs[2].name)

-- Creating an object of another store copies it together with all objects that it links to.
local other = moonpool.open { in_memory = "another", schema = schema }
other:write(function() other:create("Person", bob) end)
print("in another store: Bob walks " .. names(other:object("Person", "Bob").dogs))

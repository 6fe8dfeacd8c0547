-- Modelling: links, lists, what belongs to one parent, and the way back.
--
-- Prints:
--
--     Ann lives at 5 Main Street and has 2 dogs
--     Rex is walked by Ann, Bob
--     Bob walks Rex and Max
--     dogs that live in Main Street: Max, Rex
--     Ann has moved to 9 Side Street; 1 address is left
--     without Ann there are 0 addresses, and Rex has no owner
--     Rex is walked by Bob
--     a circle of friends: Bob -> Cleo -> Bob
--     Bob's friend's friend is Bob again: true

local moonpool = require "moonpool"

local store = moonpool.open {
  in_memory = "modelling",
  schema = {
    Person = {
      name = "string primary",
      address = "Address",               -- embedded: it belongs to this person and to nobody else
      dogs = "Dog[]",                    -- a list of links: the dogs this person walks
      friend = "Person",                 -- a link; nil until it is set
      owned = "backlinks Dog.owner",     -- computed: the dogs whose `owner` is this person
    },
    Dog = {
      name = "string primary",
      owner = "Person",
      walkers = "backlinks Person.dogs", -- computed: everybody whose `dogs` holds this dog
    },
    Address = { embedded = true, street = "string", number = "int", resident = "backlinks Person.address" },
  },
}

local function names(objects)
  local found = {}
  for object in objects:sorted("name"):each() do found[#found + 1] = object.name end
  return table.concat(found, ", ")
end

-- Nested tables create what is linked. An embedded object is always made that way: it has no life of its own.
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

-- Backlinks are never stored and never stale: they are the links, read from the other end.
print("Rex is walked by " .. names(rex.walkers))
print("Bob walks " .. bob.dogs[1].name .. " and " .. bob.dogs[2].name)

-- Queries follow links in both directions, and into embedded objects.
local neighbours = store:objects("Dog"):where("owner.address.street == $1", "Main Street")
print("dogs that live in Main Street: " .. names(neighbours))

-- A new address replaces the old one, which is gone with that.
store:write(function() ann.address = { street = "Side Street", number = 9 } end)
print(("Ann has moved to %d %s; %d address is left"):format(
  ann.address.number, ann.address.street, #store:objects("Address")))

-- What is embedded goes with its parent; what is linked stays, and its links to what is gone become nil.
store:write(function() store:delete(ann) end)
print(("without Ann there are %d addresses, and Rex has %s owner"):format(
  #store:objects("Address"), rex.owner and "an" or "no"))
print("Rex is walked by " .. names(rex.walkers))

-- Objects that are in no store yet may be linked in any way; one `add` stores all of them.
local cleo = moonpool.new("Person", { name = "Cleo" })
local dora = moonpool.new("Person", { name = "Dora", friend = cleo })
cleo.friend = dora
store:write(function()
  store:add(cleo)
  cleo.friend = bob          -- from here on `cleo` is the stored object
  bob.friend = cleo
  store:delete(dora)
end)
print(("a circle of friends: %s -> %s -> %s"):format(bob.name, bob.friend.name, bob.friend.friend.name))

-- Handles of one object are equal, and a copy as plain tables keeps circles.
local copy = bob:to_table(5)
print("Bob's friend's friend is Bob again: " .. tostring(bob.friend.friend == bob and copy.friend.friend == copy))

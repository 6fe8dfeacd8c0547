-- Frozen versions, equality and copies in scripts.

scenario("objects, lists and results freeze and thaw", function()
  local rex = dog { id = 1, name = "Rex", age = 3, marks = { 1, 2 }, owner = { name = "Ann" } }
  local frozen, marks, all = rex:freeze(), rex.marks:freeze(), store:objects("Dog"):freeze()
  assert(frozen:is_frozen() and marks:is_frozen() and all:is_frozen() and not rex:is_frozen())
  assert(frozen:freeze() == frozen and marks:freeze() == marks and all:freeze() == all)
  assert(rex:freeze() == frozen and frozen ~= rex and rex.marks:freeze() == marks and marks ~= rex.marks)
  assert(all[1] == frozen and frozen.owner.owned[1] == frozen and #all:filter(function(each) return each:is_frozen() end) == 1)
  store:write(function() rex.age = 4 rex.marks:append(3) store:create("Dog", { id = 2, name = "Max", score = 1, good = true }) end)
  assert(rex:freeze() ~= frozen)
  assert(frozen.age == 3 and #marks == 2 and #all == 1 and #all:where("age == 3") == 1)
  assert(all:where("age > 1"):sorted("name"):is_frozen() and all:sum "age" == 3)
  assert(frozen:thaw() == rex and frozen:thaw().age == 4 and #marks:thaw() == 3 and #all:thaw() == 2)
  assert(rex:thaw() == rex and rex.marks:thaw() == rex.marks)
  fails("frozen", function() frozen.age = 5 end)
  fails("frozen", function() frozen:update { age = 5 } end)
  fails("frozen", function() marks:append(1) end)
  fails("frozen", function() all:update { age = 5 } end)
  fails("frozen", function() frozen:observe(print) end)
  fails("frozen", function() all:observe(print) end)
  store:write(function()
    fails("frozen", store.delete, store, frozen)
    fails("frozen", store.delete, store, all)
    store:delete(rex)
  end)
  assert(frozen.age == 3 and frozen.owner.name == "Ann" and marks[2] == 2)
  assert(frozen:thaw() == nil and marks:thaw() == nil)
  fails("invalid_object", function() return rex:freeze() end)
end)

scenario("a store freezes to one store for each version", function()
  local rex = dog { id = 1, age = 3 }
  local past = store:freeze()
  assert(past.is_frozen and past.is_read_only and not past.is_in_write and not store.is_frozen)
  assert(store:freeze() == past and past:freeze() == past and past:thaw() == store and store:thaw() == store)
  assert(rex:freeze().store == past and moonpool.store_of(rex:freeze()) == past)
  assert(past.version == store.version and past.path == store.path)
  store:write(function() rex.age = 4 store:create("Dog", { id = 2, name = "Max", score = 1, good = true }) end)
  assert(store:freeze() ~= past and past.version < store.version)
  assert(past:object("Dog", 1).age == 3 and past:object("Dog", 2) == nil and #past:objects "Dog" == 1)
  assert(past:schema("Toy").label == "string" and past:schema().Dog)
  assert(past:refresh() == false and past.autorefresh == false)
  past.autorefresh = false
  fails("frozen", function() past.autorefresh = true end)
  for _, name in ipairs { "write", "begin_write", "create", "delete", "delete_all", "add", "define", "observe" } do
    fails("frozen", past[name], past)
  end
  fails("invalid_argument", past.object, past, "Toy", 1)
  fails("unknown_class", past.objects, past, "Cat")
  local old = past:object("Dog", 1)
  past:close()
  assert(past.is_closed and tostring(past):find("closed"))
  fails("closed", past.objects, past, "Dog")
  assert(code(function() return old.age end) == "closed" and not old:is_valid())
  assert(tostring(old):find("closed"))
end)

scenario("freezing inside a write shows the version before it", function()
  local rex = dog { id = 1, age = 1 }
  store:write(function()
    rex.age = 2
    local max = store:create("Dog", { id = 2, name = "Max", score = 1, good = true })
    equal(rex:freeze().age, 1)
    fails("already_in_write", max.freeze, max)
    equal(#store:objects("Dog"):freeze(), 1)
  end)
end)

scenario("frozen values outlive the store", function()
  local other = moonpool.open { in_memory = unique "short", schema = store:schema() }
  local rex = other:write(function() return other:create("Dog", { id = 1, name = "Rex", score = 1, good = true }) end)
  local frozen, all = rex:freeze(), other:objects("Dog"):freeze()
  other:close()
  collectgarbage()
  assert(frozen.name == "Rex" and #all == 1 and all[1] == frozen)
  fails("closed", function() return frozen:thaw() end)
  fails("closed", function() return rex.name end)
  assert(code(other.freeze, other) == "closed" and code(other.pins, other) == "closed")
end)

scenario("handles of the same object are equal", function()
  local rex = dog { id = 1, age = 3, owner = { name = "Ann" } }
  local dogs = store:objects "Dog"
  assert(rex == store:object("Dog", 1) and rex == dogs[1] and rex ~= rex.owner)
  assert(rex.marks == rex.marks and rex.marks ~= rex.notes)
  assert(dogs == store:objects "Dog" and dogs ~= store:objects "Person")
  equal(dogs:where("age > $1", 2), dogs:where("age > $1", 2))
  assert(dogs:where("age > $1", 2) ~= dogs:where("age > $1", 3))
  assert(dogs:where "age > 2" ~= dogs:where "age > 2":sorted "name")
  equal(dogs:sorted "name", store:objects "Dog":sorted "name")
  assert(dogs:limit(1) ~= dogs:limit(2) and dogs ~= 1 and dogs ~= rex)
  assert(rex.owner.owned == rex.owner.owned and dogs:freeze() ~= dogs)
end)

scenario("to_table copies up to a depth and keeps cycles", function()
  local rex = dog { id = 1, age = 3, owner = { name = "Ann" }, toys = { { "ball", 1.5 } } }
  local ann = rex.owner
  store:write(function() ann.dogs:append(rex, rex) end)
  local one = rex:to_table()
  assert(one.name == "Rex" and one.owner == ann and one.toys[1].label == "ball" and type(one.toys[1]) == "userdata")
  local two = rex:to_table(2)
  assert(two.owner.name == "Ann" and two.owner.dogs[1] == two and two.toys[1].price == 1.5)
  local many = ann:to_table(1 << 40)
  assert(many.dogs[1] == many.dogs[2] and many.dogs[1].owner == many)
  assert(rex:to_table(0).owner == ann and rex:to_table(-5).owner == ann)
  equal(rex:freeze():to_table(2).owner.name, "Ann")
  local all = store:objects("Dog"):to_table(2)
  assert(#all == 1 and all[1].owner.dogs[1] == all[1])
  equal(store:objects("Dog"):to_table()[1], rex)
  assert(ann.dogs:to_table()[1] == rex and ann.dogs:to_table(1)[2].name == "Rex")
end)

scenario("pins contain the script's line", function()
  if environment ~= "typed" then equal(#store:pins(), 0) end
  local rex = dog { id = 1 }
  local frozen = rex:freeze()
  store:write(function() rex.age = 9 end)
  local pin
  for _, each in ipairs(store:pins()) do
    if each.kind == "frozen" then
      equal(pin, nil)
      pin = each
    end
  end
  assert(pin.version < store.version and pin.source == "frozen.lua" and pin.line == 117)
  assert(pin.since and pin.bytes >= 0 and pin.held_by:find("frozen.lua:117", 1, true))
end)

scenario("max_live_versions refuses a write that would exceed it", function()
  local limited = moonpool.open { in_memory = unique "limited", max_live_versions = 3, schema = { Dog = { id = "int primary" } } }
  local held = {}
  local function add(id) limited:write(function() limited:create("Dog", { id = id }) end) end
  for id = 1, 3 do held[id] = limited:freeze() add(id) end
  fails("too_many_versions: frozen.lua:134", add, 4)
  fails("too_many_versions: 4 versions", add, 4)
  fails("too_many_versions: 3 are allowed", add, 4)
  held[1]:close()
  add(4)
  limited:close()
end)

scenario("should_compact must be a function", function()
  assert(not pcall(moonpool.open, { in_memory = "x", should_compact = 1 }))
  assert(not pcall(moonpool.open, { in_memory = "x", max_live_versions = -1 }))
end)

scenario("after a write, its objects and values can be frozen", function()
  local rex, max = dog { id = 1, age = 1 }, nil
  store:write(function()
    rex.age = 2
    max = store:create("Dog", { id = 2, name = "Max", score = 1, good = true })
  end)
  assert(max:freeze():is_valid() and rex:freeze().age == 2)
  local now = store:freeze()
  now:close()
  assert(store:freeze() ~= now and rex:freeze().age == 2)
  fails("closed: frozen", now.objects, now, "Dog")
end)

scenario("a frozen object thaws to the object of the store's version", { Dog = { id = "int primary", age = "int?" } }, function()
  local rex = store:write(function() return store:create("Dog", { id = 1, age = 1 }) end)
  local frozen = rex:freeze()
  elsewhere("Dog", 1)
  assert(frozen:thaw() == rex and rex:is_valid())
  store:refresh()
  assert(frozen:thaw() == nil and frozen.age == 1)
end)

scenario("many frozen versions stay readable after later commits and after the store is closed", function()
  local other = moonpool.open { in_memory = unique "many", schema = { Dog = { id = "int primary", age = "int?" } } }
  local function add(id) return other:write(function() return other:create("Dog", { id = id }) end) end
  local rex, frozen = add(0), {}
  for age = 1, 30 do
    other:write(function() rex.age = age end)
    frozen[age] = rex:freeze()
  end
  for id = 1, 300 do add(id) end
  other:close()
  for age, old in ipairs(frozen) do equal(old.age, age) end
end)

scenario("frozen values keep the lists of linked objects, also beside collected ones", function()
  local rex = dog { id = 1, owner = { name = "Ann" } }
  local frozen = rex:freeze()
  store:write(function() rex.owner.dogs = { rex } end)
  for _ = 1, 50 do equal(store:objects("Person"):freeze()[1].name, "Ann") end
  collectgarbage()
  collectgarbage()
  assert(frozen.owner.name == "Ann" and #frozen.owner.dogs == 0 and #rex.owner.dogs == 1)
end)

scenario("pins name the change of the schema that holds the data before it", function()
  dog { id = 1 }
  store:define { Cat = { name = "string" } }
  store:write(function() store:create("Cat", { name = "Tom" }) end)
  local holders = {}
  for _, pin in ipairs(store:pins()) do holders[pin.kind] = pin.held_by end
  equal(holders.definition, "the data before store:define at frozen.lua:195, for .migration")
end)

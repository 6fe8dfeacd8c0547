-- `moonpool.new`, `store:add`, and copies between stores.

schema {
  Person = {
    name = "string primary", age = "int?", friend = "Person", pets = "Pet[]",
    home = "Home", places = "Home[]", rank = { type = "int", default = 5 },
  },
  Pet = { kind = "string", owner = "Person" },
  Home = { embedded = true, street = "string", landlord = "Person", inner = "Home" },
}

scenario("an added object becomes the stored object", function()
  local ann = moonpool.new("Person", { name = "Ann" })
  ann.age = 4
  assert(ann.name == "Ann" and ann.age == 4 and ann.class == "Person")
  assert(tostring(ann):find("unmanaged"))
  local same = ann
  local added = store:write(function() return store:add(ann) end)
  assert(added == ann and rawequal(added, ann))
  assert(same == store:object("Person", "Ann") and store:object("Person", "Ann") == same)
  assert(ann:is_valid() and ann.rank == 5 and ann.store == store)
  store:write(function() same.age = 5 end)
  equal(ann.age, 5)
  store:write(function() equal(store:add(ann), ann) end)
  collectgarbage() collectgarbage()
  equal(ann.age, 5)
end)

scenario("loops over objects and collections do not need the global functions", function()
  local next, ipairs, pairs, count = next, ipairs, pairs, 0
  local ann = moonpool.new("Person", { name = "Ann", age = 3, pets = { { kind = "cat" } } })
  local added = store:write(function() return store:add(moonpool.new("Person", { name = "Bob", pets = { { kind = "a" }, { kind = "b" } } })) end)
  _G.next, _G.ipairs, _G.pairs = nil, nil, nil
  local is_done, message = pcall(function()
    for name, value in pairs(ann) do count = count + (name == "age" and value or 0) end
    for _, pet in pairs(added.pets) do count = count + (pet.class == "Pet" and 10 or 0) end
    for _, person in pairs(store:objects "Person") do count = count + (person == added and 100 or 0) end
  end)
  _G.next, _G.ipairs, _G.pairs = next, ipairs, pairs
  assert(is_done, message)
  equal(count, 123)
end)

scenario("an object is added with all linked objects, also in cycles", function()
  local ann = moonpool.new("Person", { name = "Ann" })
  local bob = moonpool.new("Person", { name = "Bob", friend = ann })
  ann.friend = bob
  ann.pets = { moonpool.new("Pet", { kind = "cat", owner = bob }), { kind = "dog", owner = ann } }
  ann.home = { street = "Main", landlord = bob }
  ann.places = { moonpool.new("Home", { street = "A", inner = { street = "B", landlord = ann } }) }
  store:write(function() store:add(ann) end)
  assert(ann.friend == bob and bob.friend == ann)
  assert(ann.pets[1].owner == bob and ann.pets[2].owner == ann)
  assert(ann.home.landlord == bob and ann.places[1].inner.landlord == ann)
  assert(#store:objects "Person" == 2 and #store:objects "Pet" == 2 and #store:objects "Home" == 3)
end)

except(sweep)

scenario("a long chain and a deep nesting succeed or throw an error", function()
  local first = moonpool.new("Person", { name = "0" })
  local last = first
  for i = 1, 5000 do
    local next = moonpool.new("Person", { name = tostring(i) })
    if i % 2 == 0 then last.friend = next else last.pets = { { kind = "x", owner = next } } end
    last = next
  end
  last.friend = first
  store:write(function() store:add(first) end)
  assert(#store:objects "Person" == 5001 and last.friend == first)
  local copy <close> = moonpool.open { in_memory = unique "chain", schema = store:schema() }
  copy:write(function() copy:create("Person", first) end)
  equal(#copy:objects "Person", 5001)

  local loop = {} loop.inner = loop loop.street = "x"
  local me = moonpool.new("Home", { street = "y" }) me.inner = me
  store:write(function()
    fails("invalid_argument", function() first.home = loop end)
    fails("invalid_argument", function() first.home = me end)
    fails("invalid_argument", store.add, store, moonpool.new("Person", { name = "z", home = me }))
  end)
  assert(#store:objects "Home" == 0 and #store:objects "Person" == 5001)
end)

except {}

scenario("assigning an unmanaged object stores it, and a rollback removes it", function()
  local ann, bob = store:write(function()
    return store:create("Person", { name = "Ann" }), store:create("Person", { name = "Bob" })
  end)
  local cleo = moonpool.new("Person", { name = "Cleo" })
  store:begin_write()
  ann.friend = cleo
  assert(ann.friend == cleo and cleo:is_valid())
  store:cancel_write()
  assert(ann.friend == nil and #store:objects "Person" == 2 and not cleo:is_valid())

  store:write(function()
    ann.pets:append(moonpool.new("Pet", { kind = "cat" }), { kind = "dog" })
    ann.pets:insert(1, moonpool.new("Pet", { kind = "rat" }))
    ann:update { friend = moonpool.new("Person", { name = "Dora" }) }
    store:create("Person", { name = "Eve", friend = moonpool.new("Person", { name = "Finn" }) })
    ann.home = moonpool.new("Home", { street = "Main" })
    ann.places = { moonpool.new("Home", { street = "Side" }) }
  end)
  assert(ann.pets[1].kind == "rat" and #ann.pets == 3)
  assert(ann.friend.name == "Dora" and store:object("Person", "Eve").friend.name == "Finn")
  assert(ann.home.street == "Main" and ann.places[1].street == "Side")
end)

scenario("an update with an unmanaged object writes all of its values", function()
  store:write(function()
    store:create("Person", {
      name = "Ann", age = 4, rank = 9, friend = { name = "Bob" }, pets = { { kind = "cat" } },
      home = { street = "Main" },
    })
    fails("duplicate_key", store.add, store, moonpool.new("Person", { name = "Ann" }))
  end)
  local ann = moonpool.new("Person", { name = "Ann" })
  store:write(function() store:add(ann, "all") end)
  equal(#store:objects "Person", 2)
  assert(ann.age == nil and ann.rank == 5 and ann.friend == nil and #ann.pets == 0 and ann.home == nil)
end)

scenario("an object that cannot be stored stays unmanaged and leaves no objects", function()
  local pet = moonpool.new("Pet", {})
  local ann = moonpool.new("Person", { name = "Ann", pets = { pet } })
  store:write(function()
    fails("missing_value", store.add, store, ann)
    assert(#store:objects "Person" == 0 and #store:objects "Pet" == 0)
    pet.kind = "cat"
    store:add(ann)
  end)
  equal(ann.pets[1], pet)
  store:write(function()
    fails("unknown_class", store.add, store, moonpool.new("Missing", {}))
    fails("unknown_property", store.add, store, moonpool.new("Person", { nam = "x" }))
    fails("invalid_argument", store.add, store, moonpool.new("Home", { street = "x" }))
    fails("type_mismatch", function() ann.friend = moonpool.new("Pet", { kind = "x" }) end)
    fails("invalid_object", store.delete, store, moonpool.new("Pet", {}))
  end)
  fails("not_in_write", store.add, store, moonpool.new("Pet", { kind = "x" }))
  local unmanaged = moonpool.new("Pet", { kind = "x" })
  fails("invalid_argument", function() unmanaged:observe(print) end)
  fails("invalid_argument", function() unmanaged:freeze() end)
  fails("invalid_argument", function() unmanaged[1] = 2 end)
end)

scenario("an unmanaged object does not equal a stored object", function()
  store:write(function() store:create("Person", { name = "Ann", friend = { name = "Bob" } }) end)
  local bob = moonpool.new("Person", { name = "Bob" })
  equal(#store:objects("Person"):where("friend == $1", bob), 0)
  equal(#store:objects("Person"):where("friend != $1", bob), 2)
end)

-- Ann and Bob are friends, Ann has a cat, and Bob is her landlord.
local function ann_and_bob()
  return store:write(function()
    local ann = store:create("Person", { name = "Ann", age = 40, friend = { name = "Bob" }, home = { street = "Main" } })
    ann.friend.friend, ann.home.landlord, ann.pets = ann, ann.friend, { { kind = "cat", owner = ann } }
    return ann
  end)
end

scenario("an object of another store is copied by create and refused by add", function()
  local other = moonpool.open { in_memory = unique "other", schema = store:schema() }
  local ann, copy = ann_and_bob(), nil
  fails("not_in_write", other.create, other, "Person", ann)
  other:write(function()
    fails(": store:create", other.add, other, ann)
    fails("invalid_object", other.add, other, moonpool.new("Person", { name = "x", friend = ann }))
    fails("unknown_class", other.create, other, "Cat", ann)
    fails("invalid_argument", other.create, other, "Home", ann.home)
    copy = other:create("Person", ann)
    fails("duplicate_key", other.create, other, "Person", ann)
  end)
  assert(copy ~= ann and copy.store == other and copy.age == 40 and copy.friend.friend == copy and copy.home.street == "Main")
  assert(copy.pets[1].owner == copy and copy.home.landlord == copy.friend)
  local function counts() return { #other:objects "Person", #other:objects "Pet", #other:objects "Home", #store:objects "Home" } end
  equal(counts(), { 2, 1, 1, 1 })
  store:write(function() ann.age = 41 end)
  for _, mode in ipairs { "modified", "all" } do
    other:write(function() equal(other:create("Person", ann, mode), copy) end)
    assert(copy.age == 41 and #other:objects "Person" == 2 and #other:objects "Home" == 1)
    store:write(function() equal(store:create("Person", ann, mode), ann) end)
  end
  store:write(function()
    fails("duplicate_key", store.create, store, "Person", ann)
    local cat = store:create("Pet", ann.pets[1])
    assert(cat ~= ann.pets[1] and cat.owner == ann and #store:objects "Person" == 2)
  end)
  other:close()
end)

scenario("a frozen object restores a deleted object, which itself cannot be copied", function()
  local ann = ann_and_bob()
  local frozen = ann:freeze()
  store:write(function() store:delete_all() end)
  store:write(function()
    fails("invalid_object", store.create, store, "Person", ann)
    local again = store:create("Person", frozen)
    assert(again.friend.friend == again and again.home.street == "Main" and #store:objects "Person" == 2)
  end)
end)

scenario("an object with properties that the class does not have cannot be copied", function()
  local ann = ann_and_bob()
  local small <close> = moonpool.open { in_memory = unique "small", schema = { Person = { name = "string primary", age = "int?" } } }
  small:write(function() fails("unknown_property: 'Person'", small.create, small, "Person", ann) end)
end)

scenario("a deleted object cannot be assigned", function()
  local ann, bob = store:write(function()
    return store:create("Person", { name = "Ann" }), store:create("Person", { name = "Bob" })
  end)
  store:write(function() store:delete(bob) end)
  store:write(function()
    fails("invalid_object", function() ann.friend = bob end)
    fails("invalid_object", store.add, store, bob)
    fails("invalid_object", store.create, store, "Person", bob)
  end)
end)

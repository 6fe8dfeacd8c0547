-- Maps: their order, their values, and what they refuse.

schema {
  Owner = { id = "int primary", ints = "int{}", numbers = "int?{}", any = "mixed{}", dogs = "Dog{}", set = "int<>",
            homes = "Home{}" },
  Dog = { { "id", "int primary" }, { "age", { type = "int", default = 0 } }, { "owners", "backlinks Owner.dogs" } },
  Home = { embedded = true, city = "string" },
}

local N = moonpool.null
local owner

before(function() owner = store:write(function() return store:create("Owner", { id = 1 }) end) end)

scenario("entries are set, replaced, removed and cleared, in byte order of the keys", function()
  local map = owner.ints
  store:write(function()
    for index, key in ipairs { "b", "ä", "Z", "", "b2", "a\0" } do map[key] = index - 1 end
    map.b = 9
  end)
  equal(map:keys(), { "", "Z", "a\0", "b", "b2", "ä" })
  equal(map:values(), { 3, 2, 5, 9, 4, 1 })
  assert(map.b == 9 and map.c == nil and #map == 6)
  equal(owner:to_table().ints, { [""] = 3, Z = 2, ["a\0"] = 5, b = 9, b2 = 4, ["ä"] = 1 })
  store:write(function()
    assert(map:remove "b" and not map:remove "b")
    equal(map:keys(), { "", "Z", "a\0", "b2", "ä" })
    map:clear()
    assert(#map:keys() == 0 and #map == 0)
    map.x = 1
  end)
  equal(map:keys(), { "x" })
end)

scenario("an invalid map element is refused and changes nothing", function()
  local map = owner.ints
  fails("not_in_write", map.set, map, "a", 1)
  store:write(function()
    map.a = 1
    fails("type_mismatch", map.set, map, "a", "x")
    fails("missing_value", map.set, map, "a", N)
    fails("type_mismatch", function() owner.ints = { 1 } end)
    fails("type_mismatch", function() owner.ints = { b = 1, c = true } end)
    fails("type_mismatch", owner.dogs.set, owner.dogs, "a", owner)
    equal(map:values(), { 1 })
    owner.numbers:set("n", N)
    equal(owner.numbers:keys(), { "n" })
    equal(owner.numbers.n, nil)
  end)
  local frozen = map:freeze()
  fails("frozen", frozen.set, frozen, "a", 2)
  store:write(function() store:delete(owner) end)
  assert(not map:is_valid())
  equal(frozen:keys(), { "a" })
  fails("invalid_object", map.keys, map)
  fails("invalid_object", function() return map.a end)
  store:write(function()
    fails("invalid_object", map.set, map, "a", 1)
    fails("invalid_object", map.remove, map, "a")
  end)
end)

scenario("links in maps can be nil, and a deleted object keeps its key", function()
  store:write(function()
    owner.dogs = { new = { id = 100 }, none = N }
    local dogs, rex = owner.dogs, store:create("Dog", { id = 1 })
    for _, key in ipairs { "a", "c", "z" } do dogs[key] = rex end
    dogs.b = store:create("Dog", { id = 2 })
    equal(rex.owners, { owner, owner, owner })
    equal(#dogs, 6)
    store:delete(rex)
    equal(dogs:keys(), { "a", "b", "c", "new", "none", "z" })
    assert(dogs.a == nil and dogs.none == nil and #dogs:where "TRUEPREDICATE" == 2)
    dogs.a = store:create("Dog", { id = 3 })
    equal(#dogs:where "TRUEPREDICATE", 3)
  end)
end)

scenario("mixed values can be links, lists and maps, which change in place", function()
  store:write(function()
    local map, rex = owner.any, store:create("Dog", { id = 1 })
    map.dog, map.list = rex, { 1, rex }
    local list = map.list
    list:append "x"
    equal(map.list, { 1, rex, "x" })
    store:delete(rex)
    assert(map.dog == nil and #map.list == 3 and map.list[2] == nil and map.list[3] == "x")
    map:remove "list"
    assert(not list:is_valid())
    fails("invalid_object", function() return #list end)
  end)
end)

scenario("update all replaces a map, update modified merges it", function()
  store:write(function()
    owner.ints = { a = 1, b = 2 }
    store:create("Owner", { id = 1, ints = { b = 3, c = 4 } }, "modified")
    equal(owner.ints:to_table(), { a = 1, b = 3, c = 4 })
    store:create("Owner", { id = 1, ints = { x = 5 } }, "all")
    equal(owner.ints:to_table(), { x = 5 })
    owner.ints = owner.ints
    equal(owner.ints:to_table(), { x = 5 })
    owner.ints = nil
    equal(#owner.ints, 0)
  end)
end)

scenario("a map of embedded objects owns them", function()
  store:write(function()
    owner.homes = { a = { city = "Rome" }, b = { city = "Bern" }, none = N }
    local homes, left = owner.homes, function() return #store:objects "Home" end
    local rome = homes.a
    equal(homes:keys(), { "a", "b", "none" })
    equal(rome.city, "Rome")
    fails("invalid_argument", homes.set, homes, "b", rome)
    homes.a = rome
    equal(left(), 2)
    homes.b = { city = "Oslo" }
    assert(homes.b.city == "Oslo" and left() == 2)
    -- "modified" changes existing values in place and keeps the values that are not given.
    store:create("Owner", { id = 1, homes = { a = { city = "Paris" }, c = { city = "Riga" } } }, "modified")
    assert(homes.a == rome and rome.city == "Paris" and left() == 3)
    equal(homes:keys(), { "a", "b", "c", "none" })
    fails("missing_value", function() owner.homes = { x = { city = "Kiel" }, y = {} } end)
    equal(left(), 3)
    owner.homes = { x = rome, y = { city = "Kiel" } }
    assert(homes.x == rome and left() == 2)
    assert(homes:remove "x" and left() == 1)
    homes:clear()
    equal(left(), 0)
    homes.z = { city = "Nice" }
    store:delete(owner)
    equal(left(), 0)
  end)
end)

scenario("objects that are deleted one by one become nil in a long map", function()
  local expected = {}
  store:write(function()
    for i = 1, 1200 do
      expected["k" .. i] = store:create("Dog", { id = i })
      owner.dogs["k" .. i] = expected["k" .. i]
    end
    owner.dogs.again, expected.again = expected.k700, expected.k700
    for i = 1, 1200 do
      local id = i * 7919 % 1201
      store:delete(store:object("Dog", id))
      expected["k" .. id] = nil
      if id == 700 then expected.again = nil end
      if i % 200 == 0 then
        for key in pairs(owner.dogs) do equal(owner.dogs[key], expected[key]) end
        equal(#owner.dogs, 1201)
      end
    end
  end)
  for _, dog in ipairs(owner.dogs:values()) do equal(dog, N) end
  equal(#owner.dogs, 1201)
end)

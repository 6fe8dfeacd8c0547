local dogs

before(function()
  store:write(function()
    for i = 1, 20 do
      store:create("Dog", { id = i, name = ("Dog %02d"):format(i), age = i % 5, score = i / 2, good = i % 2 == 0,
        owner = { name = i % 2 == 0 and "Ann" or "Bob" } }, "modified")
    end
  end)
  dogs = store:objects "Dog"
end)

scenario("results are counted, indexed, iterated and found", function()
  assert(#dogs == 20 and dogs:count() == 20 and dogs[1].id == 1 and dogs[20].id == 20 and dogs[21] == nil and dogs[0] == nil)
  assert(dogs:first().id == 1 and dogs:last().id == 20)
  assert(dogs:index_of(dogs[7]) == 7 and dogs:contains(dogs[7]))
  local n = 0
  for dog in dogs:each() do n = n + dog.id end
  equal(n, 210)
  n = 0
  for i, dog in ipairs(dogs) do n = n + i * dog.id end
  equal(n, 2870)
  equal(#dogs:filter(function(d) return d.id > 18 end), 2)
  equal(dogs:map(function(d) return d.name end)[3], "Dog 03")
  equal(tostring(dogs), "Results of Dog (20)")
end)

scenario("predicates, shorthands, orders, distinct and limit select objects", function()
  equal(#dogs:where("age > $1 and name beginswith $2", 2, "Dog 1"), 4)
  equal(#dogs:where { age = 3, good = true }, 2)
  equal(#dogs:where("owner.name == 'Ann'"), 10)
  equal(dogs:sorted("score", "desc")[1].id, 20)
  local sorted = dogs:sorted { { "age" }, { "id", "desc" } }
  assert(sorted[1].id == 20 and sorted[2].id == 15)
  assert(#dogs:distinct("age") == 5 and #dogs:limit(3) == 3)
  equal(#dogs:where("age == 1"):where("id > 5"), 3)
  equal(type(dogs:where("age > 2"):explain()), "string")
  equal(#dogs:where("owner == $1", store:object("Person", "Ann")), 10)
end)

scenario("collections can be updated and deleted", function()
  store:write(function() dogs:where("id <= 5"):update { age = 99 } end)
  equal(#dogs:where("age == 99"), 5)
  store:write(function() for dog in dogs:where("age == 99"):each() do dog.age = 1 end end)
  equal(#dogs:where("age == 99"), 0)
  store:write(function() store:delete(dogs:where("id > 10")) end)
  equal(#dogs, 10)
  store:write(function() store:delete_all("Dog") end)
  assert(#dogs == 0 and dogs:first() == nil)
end)

scenario("errors of queries contain the solution", function()
  fails("unknown_property: 'name'", function() return #dogs:where("nmae == 'x'") end)
  fails("unknown_property", dogs.where, dogs, { nmae = 1 })
  fails("invalid_query", dogs.sorted, dogs, "toys")
  fails("invalid_argument", dogs.sorted, dogs, "age", "down")
  fails("invalid_argument", function() dogs[1] = 5 end)
  fails("invalid_query", dogs.sum, dogs, "name")
  fails("invalid_argument", dogs.index_of, dogs, 5)
end)

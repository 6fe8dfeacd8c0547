-- What observers of sets and maps receive.

schema(linked)

local bag

before(function()
  fill_linked()
  bag = store:write(function()
    return store:create("Bag", {
      ints = { 1, 3, 5 }, links = { target(2), target(4), target(6) }, names = { key0 = 0, key1 = 1, key3 = 3 },
      things = { a = target(1), b = target(2) },
    })
  end)
end)

scenario("elements are inserted at their sorted positions, equal ones are not", function()
  local news = changes(bag.ints)
  equal(news(function() bag.ints:add(4) end), "ins[3]")
  equal(news(function() bag.ints:add(4) end), "")
  equal(news(function() bag.ints:remove(3) end), "del[2]")
  equal(news(function() bag.ints:remove(3) end), "")
end)

scenario("clearing a set deletes every element", function()
  local news = changes(bag.links)
  equal(news(function() bag.links:clear() bag.links:add(target(4)) end), "del[1, 2, 3] ins[1]")
  equal(news(function() bag.links:clear() end), "del[1]")
end)

scenario("changes of elements and of the owner are reported, those of other sets are not", function()
  local news, token = changes(bag.links)
  equal(news(function() bag.ints:add(9) end), "")
  equal(news(function() target(4).value = 99 end), "mod[2]")
  equal(news(function() store:delete(target(4)) end), "del[2]")
  equal(news(function() store:delete(bag) end), "del[1, 2] gone")
  assert(not token.is_valid)
end)

scenario("set algebra is reported by element", function()
  local news = changes(bag.ints)
  equal(news(function() bag.ints:form_union { 0, 3, 7 } end), "ins[1, 5]")
  equal(news(function() bag.ints:form_intersection { 0, 7 } end), "del[2, 3, 4]")
end)

scenario("a key path of a set applies to its objects", function()
  local news = changes(bag.links, { keypaths = "value" })
  equal(news(function() target(2).value = 5 end), "mod[1]")
  equal(news(function() target(2).value2 = 5 end), "")
end)

scenario("a map reports its keys", function()
  local names = bag.names
  local news = changes(names)
  equal(news(function() names.key2 = 2 end), "ins[key2]")
  equal(news(function() names.key1 = 7 end), "mod[key1]")
  equal(news(function() names.key1 = 7 end), "mod[key1]")
  equal(news(function() names.key3 = nil end), "del[key3]")
  equal(news(function() names.key1 = 5 names.key0 = nil names.a = 5 end), "del[key0] ins[a] mod[key1]")
  equal(news(function() names:clear() end), "del[a, key1, key2]")
end)

scenario("deleting the owner causes the last call of a map", function()
  local news, token = changes(bag.names)
  equal(news(function() store:delete(bag) end), "del[key0, key1, key3] gone")
  assert(not token.is_valid)
end)

scenario("objects of a map are modified, also by deletion", function()
  local news = changes(bag.things)
  equal(news(function() target(1).value = 99 end), "mod[a]")
  equal(news(function() store:delete(target(2)) end), "mod[b]")
  equal(#bag.things, 2)
  equal(news(function() bag.things.a = nil end), "del[a]")
end)

scenario("results of a map follow its keys, sorted results follow the values", function()
  local news, other = changes(bag.things:where "TRUEPREDICATE"), changes(bag.things:sorted("value", "desc"))
  equal(news(function() bag.things.aa = target(9) end), "ins[2]")
  equal(other(), "ins[1]")
  equal(news(function() bag.things.b = nil end), "del[3]")
  equal(other(), "del[2]")
end)

scenario("a key path of a map applies to its objects", function()
  local news, token = changes(bag.things, { keypaths = "value" })
  equal(news(function() target(1).value = 5 end), "mod[a]")
  equal(news(function() target(1).value2 = 5 end), "")
  equal(news(function() store:delete(obj(3)) end), "")
  token:invalidate()
  local back = changes(bag.things, { keypaths = "origin.text" })
  equal(back(function() obj(1).text = "x" end), "mod[a]")
end)

scenario("key paths of plain values are refused", function()
  fails("invalid_query", bag.names.observe, bag.names, print, { keypaths = "x" })
  fails("invalid_query", bag.ints.observe, bag.ints, print, { keypaths = "x" })
end)

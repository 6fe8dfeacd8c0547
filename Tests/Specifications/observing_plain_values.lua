-- What observers of filtered, sorted, distinct or limited plain values receive. The list contains 0 to 9.

schema(linked)

local list

before(function()
  list = store:write(function()
    return store:create("Holder", { id = 1, ints = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } })
  end).ints
end)

scenario("values that match a condition are inserted, deleted and modified", function()
  local news, token = changes(list:where "SELF > 3")
  equal(news(function() list:append(2) end), "")
  equal(news(function() list:append(20) end), "ins[7]")
  equal(news(function() list[5] = 1 end), "del[1]")
  equal(news(function() list[6] = 50 end), "mod[1]")
  equal(news(function() list[6] = 50 end), "mod[1]")
  equal(news(function() list[1] = 8 end), "ins[1]")
  equal(news(function() list:move(1, 12) end), "del[1] ins[7]")
  equal(news(function() list:move(1, 3) end), "")
  equal(news(function() list:clear() end), "del[1, 2, 3, 4, 5, 6, 7]")
  token:invalidate()
  equal(news(function() list:append(9) end), "")
end)

scenario("in a sorted view, a value that keeps its position is modified, others move", function()
  local news = changes(list:sorted "desc")
  -- The result is 9, 8, 7 … 0.
  equal(news(function() list[1] = -7 end), "mod[10]")
  equal(news(function() list[1] = 100 end), "del[10] ins[1]")
  equal(news(function() list:insert(1, 5) end), "ins[6]")
  equal(news(function() list:move(7, 1) end), "del[7] ins[6]")
  equal(news(function() list:move(4, 10) end), "")
end)

scenario("distinct values are observed", function()
  local news = changes(list:distinct())
  equal(news(function() list:append(3, 4) end), "")
  equal(news(function() list:remove(4) end), "del[4] ins[10]")
  equal(news(function() list[1] = 5 end), "del[5] mod[1]")
end)

scenario("limits and later operations are observed", function()
  local values = list:sorted("desc"):limit(4):where("SELF != 7"):sorted():limit(2)
  local news = changes(values)
  -- The first four are 9, 8, 7 and 6, of which 6 and 8 remain.
  equal(news(function() list:append(20) end), "del[1] ins[2]")
  equal(news(function() list:append(1) end), "")
  equal(news(function() list[9] = 2 end), "del[1] ins[1]")
  equal(values:to_table(), { 6, 9 })
end)

scenario("a change contains inserted, deleted and modified values", function()
  local observed
  local token = list:where("SELF < 3"):sorted("desc"):observe(function(change)
    observed = { change:deleted(), change:inserted(), change:modified() }
  end)
  turn()
  store:write(function()
    list[1] = -5
    list[2] = 7
    list:append(-1)
  end)
  turn()
  equal(observed, { { 1 }, { -1 }, { -5 } })
  assert(token.is_valid)
end)

scenario("a map reports positions, and its last call lists all values", function()
  local bag = store:write(function() return store:create("Bag", { names = { a = 1, b = 5, c = 9 } }) end)
  local map, last = bag.names, nil
  local news, token = changes(map:where "SELF > 3")
  equal(news(function() map.a = 8 end), "ins[1]")
  equal(news(function() map.b = 6 end), "mod[2]")
  equal(news(function() map:remove "b" end), "del[2]")
  local other = map:sorted("desc"):observe(function(change) last = change:deleted() end)
  turn()
  equal(news(function() store:delete(bag) end), "del[1, 2] gone")
  equal(last, { 9, 8 })
  assert(not token.is_valid and not other.is_valid)
end)

scenario("plain values have no key paths, and frozen ones cannot be observed", function()
  local values = list:sorted()
  fails("invalid_query: 'Holder.ints' contains plain values", values.observe, values, print, { keypaths = "value" })
  local frozen = values:freeze()
  store:write(function() list:clear() end)
  assert(#frozen == 10 and #values == 0 and #frozen:thaw() == 0)
  fails("frozen", frozen.observe, frozen, print)
end)

scenario("explain lists the steps, and the cost of an observer", function()
  local values = list:where("SELF > 3"):sorted("desc"):distinct():limit(2)
  equal(values:explain(), [[
reads 10 values of 'Holder.ints'
keeps matches of: SELF > 3
sorts by value, descending
keeps the first of each value
stops after 2
an observer follows the edits of the collection, and searches for the positions of values that a commit changes]])
  local _, token = changes(values)
  assert(values:explain():sub(-#token:stats().cost) == token:stats().cost)
  equal(token:stats().depends_on, { "a Holder" })
end)

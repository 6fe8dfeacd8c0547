-- What observers of filtered, sorted and limited collections receive, which follow each element.
-- `list` contains the targets 0 to 9, whose values are their numbers.

schema(linked)

local holder, list

before(function()
  fill_linked()
  holder = store:write(function()
    local targets = {}
    for n = 0, 9 do targets[n + 1] = target(n) end
    return store:create("Holder", { id = 1, targets = targets })
  end)
  list = holder.targets
end)

local function observe(rows, options)
  assert(not rows:explain():find("runs the query again", 1, true), rows:explain())
  return changes(rows, options)
end

scenario("a filtered list keeps its order, and reports entering, leaving and modified rows", function()
  local news = observe(list:where "value > 3")
  equal(news(function() target(4).value = 1 end), "del[1]")
  equal(news(function() target(4).value = 5 end), "ins[1]")
  equal(news(function() target(6).value = 60 end), "mod[3]")
  equal(news(function() target(1).value = 2 end), "")
  equal(news(function() list:append(target(2), target(7)) end), "ins[7]")
  equal(news(function() list:remove(1) end), "")
  equal(news(function() list:remove(4) end), "del[1]")
  equal(news(function() store:delete(target(9)) end), "del[5]")
  equal(news(function() list:clear() end), "del[1, 2, 3, 4, 5]")
  equal(news(function() list:append(target(8)) end), "ins[1]")
end)

scenario("a move is reported only among matching rows", function()
  local news = observe(list:where "value > 3")
  equal(news(function() list:move(1, 3) end), "")
  equal(news(function() list:move(1, 10) end), "")
  equal(news(function() list:swap(1, 2) end), "")
  -- The list is now 0, 2, 3, 4 … 9, 1.
  equal(news(function() list:move(9, 4) end), "del[6] ins[1]")
end)

scenario("a replaced element is a deletion and an insertion", function()
  local news = observe(list:where "value > 3")
  equal(news(function() list[5] = target(8) end), "del[1] ins[1]")
  equal(news(function() list[5] = target(0) end), "del[1]")
  equal(news(function() list[1] = target(5) end), "ins[1]")
  equal(news(function() list[1] = target(5) end), "")
end)

scenario("moves in a sorted list count among equal values only", function()
  local news = observe(list:sorted "value2")
  -- All values are equal, so the result has the order of the list.
  equal(news(function() list:move(10, 1) end), "del[10] ins[1]")
  news(function() for n = 0, 9 do target(n).value2 = n end end)
  equal(news(function() list:move(10, 1) end), "")
  equal(news(function() list:swap(3, 8) end), "")
  equal(news(function() target(2).value2 = 100 end), "del[3] ins[10]")
end)

scenario("an object that occurs several times is several rows", function()
  store:write(function() list:insert(1, target(5)) end)
  local news = observe(list:where "value > 3")
  equal(news(function() target(5).value = 50 end), "mod[1, 3]")
  equal(news(function() target(5).value = 0 end), "del[1, 3]")
  equal(news(function() target(5).value = 5 end), "ins[1, 3]")
  equal(news(function() list:remove(7) end), "del[3]")
  equal(news(function() list:append(target(5)) end), "ins[7]")
  equal(news(function() store:delete(target(5)) end), "del[1, 7]")
end)

scenario("distinct values and limits apply to a list", function()
  store:write(function() list:append(target(0), target(1)) end)
  local news = observe(list:distinct("value"):limit(3))
  equal(news(function() list:remove(1) end), "del[1] ins[3]")
  equal(news(function() list:remove(6) end), "")
  equal(news(function() target(2).value = 1 end), "del[2] ins[3]")
end)

scenario("deleting the owner of a filtered list causes the last call", function()
  local news, token = observe(list:where("value > 3"):sorted("value", "desc"))
  equal(news(function() store:delete(holder) end), "del[1, 2, 3, 4, 5, 6] gone")
  assert(not token.is_valid)
end)

scenario("the objects of a map follow its edits, in the order of the keys", function()
  local bag = store:write(function()
    local things = { k1 = moonpool.null }
    for _, n in ipairs { 0, 2, 3, 4 } do things["k" .. n] = target(n) end
    return store:create("Bag", { things = things })
  end)
  local map = bag.things
  local news, token = observe(map:where "value > 1")
  equal(token:stats().cost, "follows the edits of the map, and reads only objects that a commit changes")
  -- Now k2, k3 and k4; k0 does not match, and k1 is nil.
  equal(news(function() map.a = target(7) end), "ins[1]")
  equal(news(function() map.k1 = target(8) end), "ins[2]")
  equal(news(function() map:set("k3", moonpool.null) end), "del[4]")
  equal(news(function() target(4).value = 40 end), "mod[4]")
  equal(news(function() target(0).value = 40 end), "ins[2]")
  equal(news(function() map.k4 = target(9) end), "del[5] ins[5]")
  equal(news(function() store:delete(target(8)) end), "del[3]")
  equal(news(function() map:remove "k3" end), "")
  equal(news(function() map:clear() end), "del[1, 2, 3, 4]")
  equal(news(function() store:delete(bag) end), "gone")
  assert(not token.is_valid)
end)

scenario("operations after a limit apply to the rows before it", function()
  local best = store:objects("Obj"):sorted("value", "desc"):limit(4)
  local news, token = changes(best:where("value != 14"):sorted { "text", "value" })
  equal(token:stats().cost, "reads only objects that a commit changes; runs the query again when no more of the "
    .. "258 rows after the limit are left; then reads only objects that a commit changes, and searches for their "
    .. "positions")
  -- The first four are 18, 16, 14 and 12, of which 12, 16 and 18 remain.
  equal(news(function() obj(0).value = 20 end), "del[1] ins[3]")
  equal(news(function() obj(1).value = 3 end), "")
  equal(news(function() obj(9).text = "a" end), "del[2] ins[3]")
  equal(news(function() obj(8).value = 14 end), "del[1]")
  equal(news(function() store:delete(obj(7)) end), "ins[1]")
end)

scenario("backlinks through a list count every link", function()
  local holders = target(3).holders
  local sorted, plain = observe(holders:sorted("value", "desc"), { keypaths = "value" }),
    observe(holders, { keypaths = "value" })
  local function news(body) return { sorted(body), plain() } end
  equal(news(function() obj(4).targets:append(target(3)) end), { "ins[1]", "ins[1]" })
  equal(news(function() obj(2).targets:append(target(3), target(1)) end), { "ins[2]", "ins[1]" })
  equal(news(function() obj(4).targets:append(target(3)) end), { "ins[2]", "ins[3]" })
  equal(news(function() obj(4).value = 1 end), { "del[3] ins[1] mod[1, 2] new[2, 3]", "mod[2, 3]" })
  equal(news(function() obj(4).targets:remove(1) end), { "del[3]", "del[3]" })
  equal(news(function() obj(2).targets:move(1, 2) end), { "", "" })
  equal(news(function() obj(2).targets[2] = target(5) end), { "del[1]", "del[1]" })
  equal(news(function() store:delete(obj(4)) end), { "del[1]", "del[1]" })
end)

-- What observers of lists receive. `holder.targets` contains the targets 0 to 9.

schema(linked)

local holder, list

local function make(id)
  return store:write(function()
    local targets = {}
    for n = 0, 9 do targets[n + 1] = target(n) end
    return store:create("Holder", { id = id, ints = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, targets = targets })
  end)
end

before(function()
  fill_linked()
  holder = make(1)
  list = holder.targets
end)

local all = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"

-- Edits new lists, and compares what their observers receive.
local function edits(cases)
  for number, case in ipairs(cases) do
    local edited = make(number + 1).targets
    local news, token = changes(edited)
    equal({ number, news(function() case[2](edited) end) }, { number, case[1] })
    token:invalidate()
  end
end

scenario("the first call shows the list and no changes", function()
  local received = {}
  local token = list:observe(function(change) received[#received + 1] = change end)
  equal(#received, 0)
  turn()
  equal(#received, 1)
  assert(#received[1].deletions == 0 and #received[1].insertions == 0 and #received[1].collection == 10)
end)

scenario("changes before the first call are part of it", function()
  local calls = {}
  local token = list:observe(function(change) calls[#calls + 1] = describe(change) end)
  elsewhere("Target", 5)
  turn()
  equal(calls, { "initial" })
  equal(#list, 9)
end)

scenario("appended elements are insertions", function()
  edits {
    { "ins[11]", function(l) l:append(target(0)) end },
    { "ins[11, 12]", function(l) l:append(target(0)) l:append(target(1)) end },
  }
end)

scenario("successive removals are reported in old positions", function()
  local cases = {}
  for _, case in ipairs {
    { "del[6, 7, 8]", 6, 6, 6 }, { "del[6, 7, 8]", 8, 7, 6 }, { "del[6, 7, 8]", 6, 7, 6 }, { "del[4, 6, 8]", 4, 5, 6 },
    { "del[4, 6, 8]", 8, 6, 4 }, { "del[4, 6, 8]", 4, 7, 5 },
  } do
    table.insert(cases, { case[1], function(l) for n = 2, 4 do l:remove(case[n]) end end })
  end
  edits(cases)
end)

scenario("setting an element is a modification, even to the same value", function()
  edits {
    { "mod[6]", function(l) l[6] = target(1) end },
    { "mod[6]", function(l) for _ = 1, 3 do l[6] = target(2) end end },
    { "mod[6]", function(l) l[6] = target(5) end },
  }
end)

scenario("clearing deletes every element", function()
  edits {
    { "del[" .. all .. "]", function(l) l:clear() end },
    { "del[" .. all .. "] ins[1]", function(l) l:clear() l:append(target(3)) end },
  }
end)

scenario("edits that undo each other do not affect the others", function()
  edits {
    { "", function(l) l:insert(6, target(0)) l:remove(6) end },
    { "ins[1, 2]", function(l) l:insert(1, target(0)) l:insert(1, target(1)) end },
    { "del[6] ins[6]", function(l) l:remove(6) l:insert(6, target(0)) end },
  }
end)

scenario("moves are a deletion and an insertion, and are combined", function()
  edits {
    { "del[6] ins[4]", function(l) l:move(6, 4) end },
    { "del[2] ins[4]", function(l) l:move(2, 4) end },
    { "del[2] ins[6]", function(l) l:move(2, 4) l:move(4, 6) end },
    { "del[6] ins[2]", function(l) l:move(6, 4) l:move(4, 2) end },
    { "del[2, 4] ins[5, 8]", function(l) l:move(2, 6) l:move(3, 8) end },
    { "del[2, 8] ins[1, 7]", function(l) l:move(2, 6) l:move(8, 1) end },
    { "", function(l) l:move(6, 6) end },
  }
end)

scenario("a swap is two moves, and two swaps change nothing", function()
  edits {
    { "del[4, 6] ins[4, 6]", function(l) l:swap(4, 6) end },
    { "del[4, 6] ins[4, 6]", function(l) l:swap(6, 4) end },
    { "", function(l) l:swap(4, 6) l:swap(4, 6) end },
  }
  -- Either of two neighbors can be the moved one.
  local news = changes(list)
  local observed = news(function() list:swap(4, 5) end)
  assert(observed == "del[4] ins[5]" or observed == "del[5] ins[4]", observed)
end)

scenario("insertions and removals shift the indexes of set elements", function()
  edits {
    { "ins[6] mod[6] new[7]", function(l) l[6] = target(0) l:insert(6, target(0)) end },
    { "ins[6] mod[5]", function(l) l[5] = target(0) l:insert(6, target(0)) end },
    { "ins[6]", function(l) l:insert(6, target(0)) l[6] = target(1) end },
    { "ins[6] mod[6] new[7]", function(l) l:insert(6, target(0)) l[7] = target(1) end },
    { "del[6]", function(l) l[6] = target(0) l:remove(6) end },
    { "del[5] mod[6] new[5]", function(l) l[6] = target(0) l:remove(5) end },
    { "del[6] mod[7] new[6]", function(l) l:remove(6) l[6] = target(0) end },
  }
end)

scenario("a moved element is not also modified", function()
  edits {
    { "del[6] ins[9]", function(l) target(5).value = 99 l:move(6, 9) end },
    { "del[6] ins[1]", function(l) l[6] = target(9) l:move(6, 1) end },
    { "del[6] ins[1]", function(l) l:move(6, 1) l[1] = target(9) end },
    { "del[6]", function(l) l:move(6, 1) l:remove(1) end },
    { "del[3, 7] ins[8]", function(l) l:move(3, 9) l:remove(6) end },
    { "del[3] ins[6, 10]", function(l) l:move(3, 9) l:insert(6, target(0)) end },
    { "del[7] ins[5, 7] mod[6] new[8]", function(l) l:insert(6, target(0)) l[7] = target(1) l:move(8, 5) end },
    { "del[1] ins[1]", function(l) l:insert(2, target(0)) l:remove(1) end },
  }
end)

scenario("a changed object is modified at each of its positions", function()
  store:write(function() list:append(target(5)) end)
  local news = changes(list)
  equal(news(function() target(5).value = 6 end), "mod[6, 11]")
  equal(news(function() store:delete(target(5)) end), "del[6, 11]")
end)

scenario("deleted objects are removed from the list, others have no effect", function()
  local news = changes(list)
  local stranger
  equal(news(function() stranger = store:create("Target", { id = 20 }) end), "")
  equal(news(function() store:delete(stranger) end), "")
  equal(news(function() store:delete(target(5)) end), "del[6]")
  equal(news(function() store:delete_all "Target" end), "del[1, 2, 3, 4, 5, 6, 7, 8, 9]")
end)

scenario("deleting the owner causes the last call, with every row", function()
  local news, token = changes(list)
  equal(news(function() store:delete(holder) end), "del[" .. all .. "] gone")
  assert(not list:is_valid() and not token.is_valid)
  equal(news(function() target(5).value = 6 end), "")
end)

scenario("an empty list reports the deletion of its owner, also to a late observer", function()
  local news, token = changes(holder.others)
  equal(news(function() store:delete(holder) end), "gone")
  assert(not token.is_valid)
  local calls = {}
  local late = make(2).targets:observe(function(change) calls[#calls + 1] = describe(change) end)
  elsewhere("Holder", 2)
  turn()
  equal(calls, { "initial gone" })
  assert(not late.is_valid)
end)

scenario("observers that began at different versions receive the changes since then", function()
  local others, other = holder.others, nil
  local first, kept = changes(others)
  store:write(function()
    other = store:create "Other"
    others:append(other)
  end)
  local second, late = changes(others)
  equal(first(), "ins[1]")
  equal(second(), "")
  equal(first(function() others:append(other) end), "ins[2]")
  equal(second(), "ins[2]")
  assert(kept.is_valid and late.is_valid)
end)

scenario("several lists are reported separately", function()
  local numbers = changes(holder.ints)
  local news = changes(list)
  local observed = news(function()
    list:append(target(0))
    holder.ints:insert(2, 7)
    list:append(target(1))
  end)
  equal(observed, "ins[11, 12]")
  equal(numbers(), "ins[2]")
end)

scenario("lists of plain values report the positions of their edits", function()
  local ints = holder.ints
  local news = changes(ints)
  equal(news(function() ints:insert(1, 5) end), "ins[1]")
  equal(news(function() ints[1] = 5 end), "mod[1]")
  equal(news(function() ints:remove(1) ints[1] = 1 end), "del[1] mod[2] new[1]")
  equal(news(function() ints:clear() end), "del[" .. all .. "]")
  equal(news(function() store:delete(holder) end), "gone")
end)

scenario("key paths apply to the elements, and are exact for each token", function()
  local everything = changes(list)
  local news = changes(list, { keypaths = "value" })
  equal(news(function() target(3).value = 77 end), "mod[4]")
  equal(news(function() target(3).value2 = 77 end), "")
  equal(everything(), "mod[4]; mod[4]")
  equal(news(function() list:append(target(0)) end), "ins[11]")
  equal(news(function() list:remove(1) end), "del[1]")
end)

scenario("a silent write does not notify a list's observer", function()
  local news, token = changes(list)
  local loud = changes(list)
  store:write(function() list:append(target(0)) end, { without_notifying = { token } })
  equal(news(), "")
  equal(loud(), "ins[11]")
  equal(news(function() list:append(target(1)) end), "ins[12]")
end)

scenario("observing an invalid list is an error", function()
  local function ignore() end
  fails("invalid_query: plain values", holder.ints.observe, holder.ints, ignore, { keypaths = "value" })
  fails("unknown_property", list.observe, list, ignore, { keypaths = "vlaue" })
  store:write(function() fails("already_in_write", list.observe, list, ignore) end)
  store:write(function() store:delete(holder) end)
  fails("invalid_object", list.observe, list, ignore)
end)

scenario("edits beyond the recorded number are found by comparing", function()
  local ints, positions = holder.ints, {}
  local news = changes(ints)
  local observed = news(function()
    for number = 0, 2999 do ints:insert(number % 2 == 0 and 1 or #ints + 1, 100) end
  end)
  for n = 1, 1500 do positions[n], positions[1500 + n] = n, 1510 + n end
  equal(observed, "ins[" .. table.concat(positions, ", ") .. "]")
end)

-- What observers of results receive. The observed rows are mostly the objects 1 to 4, with the values 2, 4, 6 and 8.

schema(linked)
before(fill_linked)

local function middle() return store:objects("Obj"):where "value > 0 and value < 10" end
local function insert(id, value) return store:create("Obj", { id = id, value = value or 5 }) end

-- Gives object n the value n, and returns the objects 1 to 4.
local function numbered()
  store:write(function() for n = 0, 9 do obj(n).value = n end end)
  return store:objects("Obj"):where "value > 0 and value < 5"
end

-- Observes without a first turn, and returns the calls.
local function calls_of(observed)
  local calls = {}
  return calls, observed:observe(function(change) calls[#calls + 1] = describe(change) end)
end

-- The time of delivery.

scenario("the initial call comes with the next delivery, not before", function()
  local calls, token = calls_of(middle())
  equal(calls, {})
  equal(store:refresh(), false)
  equal(calls, { "initial" })
  turn()
  assert(#calls == 1 and token.is_valid)
end)

scenario("without autorefresh, own changes are delivered and those of others wait", function()
  store.autorefresh = false
  local news = changes(middle())
  equal(news(function() obj(1).value = 3 end), "mod[1]")
  elsewhere("Obj", 2, { value = 5 })
  equal(news(), "")
  store:refresh()
  equal(news(), "mod[2]")
end)

scenario("changes before the initial call are part of it", function()
  local calls, token = calls_of(middle())
  elsewhere("Obj", 10, { value = 5 })
  turn()
  equal(calls, { "initial" })
  store:write(function() obj(10).value = 6 end)
  turn()
  equal(calls, { "initial", "mod[5]" })
  assert(token.is_valid)
end)

scenario("begin_write delivers the previous write", function()
  local news = changes(middle())
  local calls, token = calls_of(middle())
  turn()
  store:write(function() obj(1).value = 3 end)
  equal(calls, { "initial" })
  store:begin_write()
  equal(calls, { "initial", "mod[1]" })
  store:cancel_write()
  equal(news(), "mod[1]")
  assert(token.is_valid)
end)

scenario("begin_write and refresh make all pending initial calls", function()
  local first, second = calls_of(store:objects "Obj"), calls_of(store:objects("Obj"):sorted("value", "desc"))
  store:begin_write()
  store:cancel_write()
  local third, token = calls_of(store:objects "Obj")
  store:refresh()
  equal({ first, second, third }, { { "initial" }, { "initial" }, { "initial" } })
  assert(token.is_valid)
end)

scenario("a hundred commits cause one call", function()
  local news, token = changes(middle())
  local positions = {}
  for n = 1, 100 do
    elsewhere("Obj", 9 + n, { value = 5 })
    positions[n] = 4 + n
  end
  equal(news(), "ins[" .. table.concat(positions, ", ") .. "]")
  equal(token:stats().coalesced, 99)
end)

scenario("frozen results cannot be observed", function()
  local frozen = middle():freeze()
  fails("frozen", frozen.observe, frozen, print)
end)

-- Insertions, deletions, modifications.

scenario("unrelated changes are not reported", function()
  local news = changes(middle())
  equal(news(function() store:create "Other" end), "")
  equal(news(function() store:create("Target", { id = 20 }) end), "")
  equal(news(function() store:create("Linking", { link = obj(1) }) end), "")
  equal(news(function() obj(6).value = 13 end), "")
  equal(news(function() insert(10, 50) end), "")
  equal(news(function() store:delete(obj(0)) store:delete(obj(6)) end), "")
  equal(news(function() end), "")
end)

scenario("rows are modified, inserted and deleted", function()
  local news = changes(middle())
  equal(news(function() obj(1).value = 3 end), "mod[1]")
  equal(news(function() obj(7).value = 3 end), "ins[5]")
  equal(news(function() store:delete(obj(3)) end), "del[3]")
  equal(news(function() insert(10) end), "ins[5]")
end)

scenario("modifications are reported in old positions", function()
  local news = changes(middle())
  equal(news(function() obj(2).value = 0 obj(3).value = 6 end), "del[2] mod[3] new[2]")
end)

scenario("an insertion includes later changes of the row", function()
  local news = changes(middle())
  elsewhere("Obj", 10, { value = 5 })
  elsewhere("Obj", 10, { value = 6 })
  equal(news(), "ins[5]")
  elsewhere("Obj", 11, { value = 5 })
  elsewhere("Obj", 11)
  equal(news(), "")
  equal(news(function() store:delete(insert(12)) end), "")
end)

scenario("setting an equal value, and leaving and returning, are modifications", function()
  local news = changes(middle())
  equal(news(function() obj(2).value = 4 end), "mod[2]")
  elsewhere("Obj", 2, { value = 100 })
  elsewhere("Obj", 2, { value = 4 })
  equal(news(), "mod[2]")
end)

scenario("deleting and creating again is a deletion and an insertion", function()
  store:write(function() for id = 0, 2 do store:create("Keyed", { id = id }) end end)
  local news = changes(store:objects "Keyed")
  equal(news(function() store:delete(store:object("Keyed", 1)) store:create("Keyed", { id = 1 }) end), "del[2] ins[3]")
end)

scenario("replacing all rows is reported as deletions and insertions", function()
  local news = changes(middle())
  equal(news(function() store:delete_all "Obj" end), "del[1, 2, 3, 4]")
  equal(news(function() for n = 1, 3 do insert(n, n) end end), "ins[1, 2, 3]")
  equal(news(function() store:delete_all "Obj" end), "del[1, 2, 3]")
end)

scenario("deletions by a query report the deleted rows", function()
  local news = changes(numbered())
  local function delete(predicate) return function() store:delete(store:objects("Obj"):where(predicate)) end end
  equal(news(delete "value > 4"), "")
  equal(news(delete "value > 1"), "del[2, 3, 4]")
  equal(news(function() store:delete_all "Obj" end), "del[1]")
end)

for _, order in ipairs { { 2, 3, 4 }, { 4, 3, 2 }, { 3, 4, 2 } } do
  scenario("deletions in the order " .. table.concat(order, ", ") .. " cause the same call", function()
    local news = changes(numbered())
    equal(news(function() for _, n in ipairs(order) do store:delete(obj(n)) end end), "del[2, 3, 4]")
  end)
end

scenario("a modified row that shifts is reported at its old index, a row that enters is an insertion", function()
  local news = changes(numbered())
  equal(news(function() store:delete(obj(2)) obj(3).value = 4 end), "del[2] mod[3] new[2]")
  store:write(function() insert(2, 2) obj(3).value = 3 end)
  news()
  equal(news(function() obj(9).value = 3 store:delete(obj(1)) end), "del[1] ins[3]")
end)

scenario("a row that enters after a deleted one is an insertion", function()
  local news = changes(numbered())
  equal(news(function() obj(9).value = 3 store:delete(obj(2)) end), "del[2] ins[4]")
end)

scenario("rows outside the condition are reported when they cross it, and only then", function()
  local news = changes(numbered())
  equal(news(function() obj(7).text = "a" end), "")
  equal(news(function() obj(7).value = 8 end), "")
  equal(news(function() obj(7).value = 1 end), "ins[5]")
  equal(news(function() obj(7).text = "b" end), "mod[5]")
  equal(news(function() obj(7).value = 7 end), "del[5]")
end)

scenario("visible rows keep their positions when hidden rows are deleted", function()
  store:write(function()
    store:delete_all "Obj"
    insert(1, 15)
    insert(2, 5)
  end)
  local news = changes(store:objects("Obj"):where("value < 10"):sorted("value", "desc"))
  equal(news(function() store:delete(obj(1)) insert(3, 3) end), "ins[2]")
end)

-- Sorting, distinct, limit.

scenario("changes of sorted rows have exact indexes", function()
  local news = changes(middle():sorted("value", "desc"))
  equal(news(function() obj(1).value = 3 end), "mod[4]")
  equal(news(function() obj(1).value = 9 end), "del[4] ins[1]")
  equal(news(function() obj(1).value = 2 end), "del[1] ins[4]")
  equal(news(function() obj(2).value = 0 end), "del[3]")
  equal(news(function() obj(7).value = 3 end), "ins[3]")
  equal(news(function() store:delete(obj(3)) end), "del[2]")
end)

scenario("rows sorted by a linked property move with it", function()
  local news = changes(middle():sorted "link.value")
  equal(news(function() target(1).value = 100 end), "del[1] ins[4]")
  equal(news(function() store:create "Other" end), "")
end)

scenario("the modified row is the one that moves", function()
  local news = changes(middle():sorted "value")
  equal(news(function() obj(1).value = 5 end), "del[1] ins[2]")
end)

scenario("distinct, sorted and limited rows have exact changes", function()
  store:write(function()
    store:delete_all "Obj"
    for n, value in ipairs { 3, 3, 2, 2, 1, 1, 0, 0 } do insert(n, value) end
  end)
  local news = changes(store:objects("Obj"):distinct("value"):sorted("value", "desc"):limit(2))
  equal(news(function() insert(9, 5) end), "del[2] ins[1]")
end)

scenario("limited rows have exact changes", function()
  local news = changes(store:objects("Obj"):limit(2))
  equal(news(function() obj(1).value = 100 end), "mod[2]")
  equal(news(function() obj(2).value = 100 end), "")
  equal(news(function() store:delete(obj(0)) end), "del[1] ins[2]")
end)

scenario("rows of a list have exact changes", function()
  local list = obj(0).targets
  store:write(function() for n = 0, 9 do list:append(target(n)) end end)
  local plain, first = changes(list:where "TRUEPREDICATE")
  local sorted, second = changes(list:sorted("value", "desc"))
  plain(function() list:append(target(5), target(5), target(5)) end)
  equal(sorted(), "ins[6, 7, 8]")
  plain(function() list:swap(1, 2) end)
  equal(sorted(), "")
  local gone = "del[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13] gone"
  equal(plain(function() store:delete(obj(0)) end), gone)
  equal(sorted(), gone)
  assert(not first.is_valid and not second.is_valid)
  equal(plain(), "")
end)

scenario("rows of backlinks have exact changes", function()
  local child = target(0)
  store:write(function() for n = 1, 9 do obj(n).link = child end end)
  local news = changes(child.origin)
  equal(news(function() store:create("Obj", { id = 10, link = child }) end), "ins[11]")
  equal(news(function() obj(3).value = 100 end), "mod[4]")
  equal(news(function() store:delete(obj(5)) end), "del[6]")
  equal(news(function() obj(2).link = nil end), "del[3]")
  equal(news(function() store:create "Other" end), "")
  equal(news(function() store:delete(child) end), "del[1, 2, 3, 4, 5, 6, 7, 8, 9] gone")
end)

-- Links.

scenario("changes of linked objects modify the linking rows", function()
  local news = changes(middle())
  equal(news(function() target(1).value = 100 end), "mod[1]")
  news(function() obj(2).second = target(1) end)
  equal(news(function() target(1).value = 101 end), "mod[1, 2]")
  equal(news(function() obj(3).targets:append(target(9)) end), "mod[3]")
  equal(news(function() target(9).value = 101 end), "mod[3]")
  equal(news(function() store:delete(target(9)) end), "mod[3]")
  equal(news(function() store:delete(target(1)) end), "mod[1, 2]")
end)

scenario("a link to a new object modifies the row, a link from it does not", function()
  local news = changes(middle())
  equal(news(function() obj(1).link = store:create("Target", { id = 20 }) end), "mod[1]")
  local linker
  equal(news(function() linker = store:create("Linking", { link = obj(1) }) end), "")
  equal(news(function() linker.value = 5 end), "")
end)

-- Creates objects that link to the next one.
local function chain(count)
  local objects = {}
  store:write(function()
    for n = 1, count do objects[n] = store:create "Other" end
    for n = 1, count - 1 do objects[n].next = objects[n + 1] end
  end)
  return objects
end

scenario("changes are tracked through three links", function()
  local objects = chain(20)
  local news = changes(store:objects "Other")
  equal(news(function() objects[20].value = 1 end), "mod[17, 18, 19, 20]")
end)

for _, order in ipairs { { 0, 5, 9 }, { 9, 5, 0 }, { 5, 9, 0 } } do
  scenario("the order of observing the rows of a chain does not matter: " .. table.concat(order, ", "), function()
    local objects, observed = chain(10), {}
    for n, number in ipairs(order) do
      observed[n] = changes(store:objects("Other"):sorted("value", number % 2 == 0 and "asc" or "desc"))
    end
    store:write(function() objects[6].value = 0 end)
    for _, news in ipairs(observed) do equal(news(), "mod[3, 4, 5, 6]") end
  end)
end

scenario("membership by a linked property follows the linked object", function()
  local news = changes(store:objects("Obj"):where "link.value == 3")
  equal(news(function() target(7).value = 3 end), "ins[2]")
  equal(news(function() target(3).value = 4 end), "del[1]")
end)

scenario("during the call, the results equal the old ones with the change applied", function()
  local results, calls = middle():sorted("value", "desc"), 0
  local rows = results:to_table()
  local token = results:observe(function(change)
    calls = calls + 1
    for n = #change.deletions, 1, -1 do table.remove(rows, change.deletions[n]) end
    for _, position in ipairs(change.insertions) do table.insert(rows, position, results[position]) end
    equal(#rows, #results)
    for n, row in ipairs(results) do equal(rows[n], row) end
  end)
  turn()
  for round = 0, 19 do
    store:write(function()
      obj(round % 7).value = round * 5 % 12
      obj(round * 3 % 10).value = round * 7 % 12
    end)
    turn()
  end
  assert(calls > 10 and token.is_valid)
end)

scenario("the objects of a change can be read, deleted ones with their last values", function()
  local deleted, modified = {}, {}
  local token = middle():observe(function(change)
    for _, object in ipairs(change:deleted()) do deleted[#deleted + 1] = object.value end
    for n, object in ipairs(change:modified()) do
      for _, property in ipairs(change:properties(n)) do modified[#modified + 1] = object.id .. " " .. property.name end
    end
  end)
  turn()
  store:write(function()
    store:delete(obj(2))
    obj(3).value = 7
    target(4).value = 7
  end)
  turn()
  equal(deleted, { 4 })
  equal(modified, { "3 value", "4 link" })
  assert(token.is_valid)
end)

scenario("a modification lists the links that lead to the change, backlinks on request", {
  Row = { { "id", "int primary" }, { "value", "int?" }, { "link", "Row" }, { "any", "mixed" }, { "all", "mixed{}" },
          { "linkers", "backlinks Row.link" } },
}, function()
  -- 1 → 2 by a link, 1 → 4 by a mixed value, 3 → 4 by a map in a mixed map.
  local rows = {}
  store:write(function()
    for n = 1, 4 do rows[n] = store:create("Row", { id = n }) end
    rows[1].link, rows[1].any = rows[2], rows[4]
    rows[3].all = { a = { b = rows[4] } }
  end)
  local observed = {}
  local function observe(name, keypaths)
    return store:objects("Row"):observe(function(change)
      for n, position in ipairs(change.modifications) do
        for _, property in ipairs(change:properties(n)) do
          observed[name] = (observed[name] or "") .. position .. " " .. property.name .. " "
        end
      end
    end, { keypaths = keypaths })
  end
  local tokens = { observe("all", {}), observe("paths", { "linkers.value", "any.value" }) }
  turn()
  store:write(function() rows[4].value = 1 end)
  turn()
  equal(observed, { all = "1 any 3 all 4 value ", paths = "1 any " })
  observed = {}
  store:write(function() rows[1].value = 1 end)
  turn()
  equal(observed, { all = "1 value ", paths = "2 linkers " })
  equal(#tokens, 2)
end)

-- Key paths.

scenario("a property of the row passes the filter", function()
  local news = changes(middle(), { keypaths = "value" })
  equal(news(function() obj(1).value = 3 end), "mod[1]")
  equal(news(function() obj(1).second = target(1) end), "")
  equal(news(function() target(1).value = 9 end), "")
end)

scenario("a property of a linked object passes the filter", function()
  local news = changes(middle(), { keypaths = "link.value" })
  equal(news(function() target(1).value = 9 end), "mod[1]")
  equal(news(function() target(1).value2 = 9 end), "")
  equal(news(function() obj(1).value = 3 end), "")
  equal(news(function() obj(1).link = nil end), "mod[1]")
  equal(news(function() target(1).value = 10 end), "")
end)

scenario("a property of a list's element passes the filter", function()
  local news = changes(middle(), { keypaths = "targets.value" })
  equal(news(function() obj(3).targets:append(target(9)) end), "mod[3]")
  equal(news(function() target(9).value = 9 end), "mod[3]")
  equal(news(function() target(9).value2 = 9 end), "")
  equal(news(function() obj(3).targets:remove(1) end), "mod[3]")
  equal(news(function() target(9).value = 10 end), "")
end)

scenario("a link alone passes the filter", function()
  local news = changes(middle(), { keypaths = "link" })
  equal(news(function() target(1).value = 9 end), "")
  equal(news(function() obj(1).link = nil end), "mod[1]")
end)

scenario("inserted, deleted and moved rows pass every filter", function()
  local news = changes(middle():sorted "value", { keypaths = "text" })
  equal(news(function() obj(2).value = 0 end), "del[2]")
  equal(news(function() obj(2).value = 5 end), "ins[2]")
  equal(news(function() obj(2).value = 9 end), "del[2] ins[4]")
  equal(news(function() obj(2).value = 8 end), "del[4] ins[3]")
  equal(news(function() obj(1).value = 1 end), "")
end)

scenario("an empty list of key paths does not filter", function()
  local news = changes(middle(), { keypaths = {} })
  equal(news(function() obj(1).value = 3 end), "mod[1]")
  equal(news(function() obj(1).link = nil end), "mod[1]")
  equal(news(function() target(2).value = 9 end), "mod[2]")
end)

scenario("a filter of backlinks applies to the linking objects", function()
  local child = target(1)
  local news, token = changes(child.origin, { keypaths = "value" })
  equal(news(function() obj(1).value = 3 end), "mod[1]")
  equal(news(function() obj(1).text = "a" end), "")
  equal(news(function() obj(2).link = child end), "ins[2]")
  equal(news(function() obj(1).link = nil end), "del[1]")
  equal(news(function() store:delete(child) end), "del[1] gone")
  assert(not token.is_valid)
end)

scenario("backlinks of the row pass the filter", function()
  local news = changes(store:objects "Target", { keypaths = "origin.value" })
  equal(news(function() obj(1).value = 9 end), "mod[2]")
  equal(news(function() obj(1).second = target(0) end), "")
  equal(news(function() store:create("Obj", { id = 10, link = target(0) }) end), "mod[1]")
  equal(news(function() store:delete(obj(10)) end), "mod[1]")
  equal(news(function() obj(1).link = target(0) end), "mod[1, 2]")
end)

scenario("a list that gains an element modifies only that element's row", function()
  local list = obj(3).targets
  store:write(function() list:append(target(0), target(1)) end)
  local news = changes(store:objects "Target", { keypaths = "holders" })
  equal(news(function() list:append(target(2)) end), "mod[3]")
  equal(news(function() list:remove(1) end), "mod[1]")
  equal(news(function() list:swap(1, 2) end), "")
end)

scenario("filters are exact for each token, regardless of other observers", function()
  local observed = {}
  for n, paths in ipairs { {}, { "value" }, { "link.value" }, { "link.link.value" } } do
    observed[n] = changes(middle(), { keypaths = paths })
  end
  local function hit(body)
    store:write(body)
    local numbers = {}
    for n, news in ipairs(observed) do if news() ~= "" then numbers[#numbers + 1] = n end end
    return numbers
  end
  equal(hit(function() obj(1).value = 3 end), { 1, 2 })
  equal(hit(function() target(1).value = 3 end), { 1, 3 })
  equal(hit(function() target(1).value2 = 3 end), { 1 })
  equal(hit(function() obj(1).link = nil end), { 1, 3, 4 })
  equal(hit(function() store:create "Other" end), {})
end)

scenario("the reason contains the changed key path", function()
  local news, token = changes(middle(), { keypaths = { "text", "link.value" } })
  news(function() target(1).value = 9 end)
  equal(token:why().keypath, "link.value")
end)

-- Silent writes.

scenario("the given token is skipped once, others are not", function()
  local news, token = changes(middle())
  local others = changes(middle())
  store:write(function() insert(10) end, { without_notifying = { token } })
  equal(news(), "")
  equal(others(), "ins[5]")
  equal(news(function() insert(11) end), "ins[6]")
  equal(others(), "ins[6]")
end)

for _, order in ipairs { "none", "desc" } do
  scenario("a commit of others after a silent write is reported alone, in final positions; order: " .. order, function()
    local rows = middle()
    if order == "desc" then rows = rows:sorted("value", "desc") end
    local news, token = changes(rows)
    local others = changes(rows)
    store:write(function() insert(10, 1) end, { without_notifying = { token } })
    elsewhere("Obj", 11, { value = 1 })
    equal(news(), "ins[6]")
    equal(others(), "ins[5, 6]")
  end)
end

scenario("a silent write without a change, or one that failed, does not affect later writes", function()
  local news, token = changes(middle())
  store:write(function() end, { without_notifying = { token } })
  fails(": stop", store.write, store, function() insert(10) error "stop" end, { without_notifying = { token } })
  equal(news(function() insert(10) end), "ins[5]")
  fails("not_in_write", store.commit_write, store, { without_notifying = { token } })
end)

scenario("an observer that writes silently for itself does not loop", function()
  local calls, own = {}, nil
  own = middle():observe(function(change)
    calls[#calls + 1] = describe(change)
    if change.type == "update" then store:write(function() insert(11) end, { without_notifying = { own } }) end
  end)
  local others = changes(middle())
  elsewhere("Obj", 10, { value = 5 })
  equal(others(), "ins[5]; ins[6]")
  store:refresh()
  equal(calls, { "initial", "ins[5]" })
  equal(others(), "")
end)

scenario("a call can silence later and earlier observers", function()
  local early, first = changes(middle())
  local last, written
  local writer = middle():observe(function(change)
    if change.type ~= "update" or written then return end
    written = true
    store:write(function() insert(11) end, { without_notifying = { first, last } })
  end)
  local late
  late, last = changes(middle())
  elsewhere("Obj", 10, { value = 5 })
  equal(early(), "ins[5]")
  store:refresh()
  equal(late(), "ins[5]")
  equal(early(), "")
  assert(written and writer.is_valid)
end)

scenario("a silent write also skips observers of objects, even for a deletion", function()
  local news, token = changes(obj(1))
  store:write(function() obj(1).value = 3 end, { without_notifying = { token } })
  equal(news(), "")
  equal(news(function() obj(1).value = 4 end), "value 3>4")
  store:write(function() store:delete(obj(1)) end, { without_notifying = { token } })
  equal(news(), "")
  assert(not token.is_valid)
end)

scenario("a token can end before its silent write is evaluated", function()
  local news, token = changes(middle())
  local others = changes(middle())
  store:write(function() insert(10) end, { without_notifying = { token } })
  token:invalidate()
  equal(news(), "")
  equal(others(), "ins[5]")
end)

scenario("silent changes are visible immediately and count in later positions", function()
  local news, token = changes(middle())
  local others = changes(middle())
  store:write(function() store:delete(obj(1)) end, { without_notifying = { token } })
  equal(#middle(), 3)
  equal(news(function() obj(4).value = 9 end), "mod[3]")
  equal(others(), "del[1]; mod[3]")
end)

-- Writes inside observers.

scenario("refresh in a call has no effect", function()
  local answers = {}
  local token = middle():observe(function(change)
    if change.type ~= "update" or #answers > 0 then return end
    elsewhere("Obj", 11, { value = 5 })
    answers[#answers + 1] = store:refresh()
  end)
  turn()
  elsewhere("Obj", 10, { value = 5 })
  turn()
  equal(answers, { false })
  assert(token.is_valid)
end)

scenario("commits that others make while a call waits are reported after the call", function()
  local observed = {}
  local token = middle():observe(function(change)
    if change.type ~= "update" then return end
    observed[#observed + 1] = #change.insertions
    if #observed > 1 then return end
    elsewhere("Obj", 11, { value = 5 })
    turn()
    equal(observed, { 1 })
  end)
  turn()
  elsewhere("Obj", 10, { value = 5 })
  turn()
  equal(observed, { 1, 1 })
  assert(token.is_valid)
end)

scenario("beginning a write in a call first notifies the later observers", function()
  local early = changes(middle())
  local counts, in_write, late, written = {}, {}, {}, false
  local writer = middle():observe(function(change)
    if change.type ~= "update" or written then return end
    written = true
    counts[1] = #late
    store:begin_write()
    counts[2] = #late
    insert(11)
    store:commit_write()
  end)
  local last = middle():observe(function(change)
    late[#late + 1] = describe(change)
    in_write[#in_write + 1] = store.is_in_write
  end)
  turn()
  late, in_write = {}, {}
  elsewhere("Obj", 10, { value = 5 })
  store:refresh()
  equal(counts, { 0, 1 })
  equal(in_write, { true })
  equal(late, { "ins[5]" })
  equal(early(), "ins[5]; ins[6]")
  equal(late, { "ins[5]", "ins[6]" })
  assert(writer.is_valid and last.is_valid)
end)

scenario("begin and cancel in a call include commits that occurred in the meantime", function()
  local own = {}
  local first = middle():observe(function(change)
    own[#own + 1] = describe(change)
    if #own ~= 2 then return end
    elsewhere("Obj", 11, { value = 5 })
    store:begin_write()
    store:cancel_write()
  end)
  local late, second = calls_of(middle())
  turn()
  elsewhere("Obj", 10, { value = 5 })
  turn()
  equal(own, { "initial", "ins[5]", "ins[6]" })
  equal(late, { "initial", "ins[5, 6]" })
  assert(first.is_valid and second.is_valid)
end)

scenario("a chain of writes calls each observer once for each write", function()
  local early, first = calls_of(middle())
  local calls, writes = {}, 0
  local writer = middle():observe(function(change)
    calls[#calls + 1] = describe(change)
    if writes == 9 then return end
    writes = writes + 1
    if not store.is_in_write then store:begin_write() end
    insert(9 + writes)
    store:commit_write()
    store:begin_write()
    if store.is_in_write then store:cancel_write() end
  end)
  local late, last = calls_of(middle())
  store:refresh()
  turn()
  local expected = { "initial" }
  for n = 5, 13 do expected[#expected + 1] = "ins[" .. n .. "]" end
  equal(early, expected)
  equal(calls, expected)
  equal(late[1], "initial")
  assert(first.is_valid and writer.is_valid and last.is_valid)
end)

scenario("deleting the last row in each call notifies every observer five times", function()
  local observed, tokens = { {}, {}, {} }, {}
  for n, calls in ipairs(observed) do
    tokens[n] = middle():observe(function(change)
      calls[#calls + 1] = describe(change)
      if n ~= 2 or store.is_in_write then return end
      while middle():last() do
        store:begin_write()
        store:delete(middle():last())
        store:commit_write()
      end
    end)
  end
  turn()
  local expected = { "initial", "del[4]", "del[3]", "del[2]", "del[1]" }
  equal(observed, { expected, expected, expected })
  equal(#tokens, 3)
end)

scenario("changes in a call at the beginning of a write are part of the write, and later calls precede them", function()
  local first = middle():observe(function(change)
    if change.type == "update" and store.is_in_write then obj(1).value = 8 end
  end)
  local late, second = calls_of(middle())
  turn()
  elsewhere("Obj", 2, { value = 5 })
  store:begin_write()
  equal(late, { "initial", "mod[2]" })
  equal(obj(1).value, 8)
  store:cancel_write()
  equal(obj(1).value, 2)
  assert(first.is_valid and second.is_valid)
end)

for order, position in pairs { none = 2, desc = 3 } do
  scenario("later calls do not show the changes of a call at the beginning of a write; order: " .. order, function()
    local rows = middle()
    if order == "desc" then rows = rows:sorted("value", "desc") end
    local first = rows:observe(function(change)
      if change.type == "update" and store.is_in_write then obj(2).value = 100 end
    end)
    local late, second = calls_of(rows)
    turn()
    elsewhere("Obj", 2, { value = 5 })
    store:begin_write()
    equal(late, { "initial", "mod[" .. position .. "]" })
    store:cancel_write()
    turn()
    equal(#late, 2)
    store:write(function() obj(2).value = 100 end)
    turn()
    equal(late[3], "del[" .. position .. "]")
    assert(first.is_valid and second.is_valid)
  end)
end

scenario("other objects show the new version before their own observers are called", function()
  local observed = {}
  local first, second = obj(1), obj(2)
  local tokens = {
    first:observe(function() observed[#observed + 1] = "first sees " .. second.value end),
    second:observe(function() observed[#observed + 1] = "second" end),
  }
  store:write(function() first.value, second.value = 5, 6 end)
  turn()
  equal(observed, { "first sees 6", "second" })
  equal(#tokens, 2)
end)

scenario("a call at the beginning of a write can cancel or commit the write", function()
  local token = middle():observe(function() if store.is_in_write then store:cancel_write() end end)
  store:begin_write()
  assert(not store.is_in_write)
  token:invalidate()
  local writer = middle():observe(function(change)
    if change.type ~= "update" or not store.is_in_write then return end
    insert(11)
    store:commit_write()
  end)
  local news = changes(middle())
  elsewhere("Obj", 10, { value = 5 })
  store:begin_write()
  equal(news(), "ins[5, 6]")
  assert(writer.is_valid)
end)

scenario("an error in a call is reported and the others are called", function()
  local first = middle():observe(function(change) if change.type == "update" then error "no" end end)
  local late = changes(middle())
  equal(late(function() insert(10) end), "ins[5]")
  equal(#reports(), 1)
  assert(first.is_valid)
  late(function() insert(11) end)
  equal(#reports(), 1)
end)

scenario("no observer receives a write in a call twice", function()
  local observed, tokens, written = { {}, {}, {} }, {}, false
  for n, calls in ipairs(observed) do
    tokens[n] = middle():observe(function(change)
      calls[#calls + 1] = describe(change)
      if n ~= 2 or change.type ~= "update" or written then return end
      written = true
      store:write(function() insert(11) end)
    end)
  end
  turn()
  elsewhere("Obj", 10, { value = 5 })
  turn()
  store:refresh()
  local expected = { "initial", "ins[5]", "ins[6]" }
  equal(observed, { expected, expected, expected })
  equal(#tokens, 3)
end)

schema { Dog = { id = "int primary", extra = "mixed", many = "mixed[]" }, Toy = { id = "int primary" } }

local rex, toy

local function put(values)
  return store:write(function() return store:create("Dog", values, "all") end)
end

local function change(f) return store:write(f) end

before(function()
  rex = put { id = 1 }
  toy = store:write(function() return store:create("Toy", { 1 }) end)
end)

scenario("a mixed property stores values of every type", function()
  equal(rex.extra, nil)
  local values = { true, false, 5, 2.5, "text", "", moonpool.date(10), moonpool.uuid(), moonpool.object_id(),
    moonpool.decimal("1.50"), toy }
  for _, value in ipairs(values) do
    change(function() rex.extra = value end)
    assert(rex.extra == value and math.type(rex.extra) == math.type(value))
  end
  change(function() rex.extra = moonpool.data("\xff\0") end)
  equal(rex.extra, "\xff\0")
  change(function() rex.extra = "\xff" end)
  equal(rex.extra, "\xff")
  change(function() rex.extra = moonpool.null end)
  equal(rex.extra, nil)
  change(function() rex.extra = 1 rex.extra = nil end)
  equal(rex.extra, nil)
end)

scenario("arrays and empty tables become lists, tables with names become maps", function()
  put { id = 1, extra = { 1, "two", { three = { 4, moonpool.null } } } }
  assert(#rex.extra == 3 and rex.extra[1] == 1 and rex.extra[2] == "two" and rex.extra[4] == nil and rex.extra[0] == nil)
  assert(#rex.extra[3] == 1 and rex.extra[3].three[1] == 4 and #rex.extra[3].three == 2)
  put { id = 1, extra = {} }
  assert(tostring(rex.extra) == "list in a mixed value (0)" and #rex.extra == 0)
  put { id = 1, extra = { a = 1, ["b c"] = 2 } }
  assert(tostring(rex.extra) == "map in a mixed value (2)" and rex.extra["b c"] == 2 and rex.extra.zzz == nil)
  put { id = 1, many = { 1, { 2 }, { a = { 3 } }, toy } }
  assert(#rex.many == 4 and rex.many[2][1] == 2 and rex.many[3].a[1] == 3 and rex.many[4] == toy)
end)

scenario("a value that a mixed value cannot contain is refused and changes nothing", function()
  put { id = 1, extra = { kept = true } }
  local loop = {} loop[1] = loop
  local deep = {} for i = 1, 120 do deep = { deep } end
  local cases = {
    { { 1, nil, 3 }, "type_mismatch", "moonpool.null" }, { { 1, a = 2 }, "type_mismatch", "array or has text" },
    { { [true] = 1 }, "type_mismatch" }, { { [1.5] = 1 }, "type_mismatch" }, { { [10] = 1 }, "type_mismatch" },
    { print, "type_mismatch", "function" }, { { print }, "type_mismatch" }, { { a = coroutine.create(print) }, "type_mismatch" },
    { loop, "invalid_argument", "100" }, { deep, "invalid_argument" }, { store, "type_mismatch" },
  }
  for i, case in ipairs(cases) do
    local set = function() change(function() rex.extra = case[1] end) end
    assert(code(set) == case[2], i .. ": " .. tostring(code(set)))
    assert(message(set):find(case[3] or "", 1, true), i .. ": " .. message(set))
    assert(code(function() change(function() rex.many:append(case[1]) end) end) == case[2], i)
  end
  assert(rex.extra.kept == true and #rex.many == 0)
  fails("not_in_write", function() rex.extra = 1 end)
  fails("not_in_write", function() rex.extra.kept = false end)
end)

scenario("nested lists are changed in place", function()
  put { id = 1, extra = { list = { 1, 2, 3 } } }
  local list = rex.extra.list
  change(function()
    list[1] = "one" list:append(4, { five = 5 }) list:insert(1, 0) list:remove(3) list:swap(1, 2)
  end)
  assert(list[1] == "one" and list[2] == 0 and list[3] == 3 and list[4] == 4 and list[5].five == 5 and #list == 5)
  change(function() list:move(5, 1) list:append "end" end)
  assert(list[1].five == 5 and list[6] == "end" and list:index_of(3.0) == 4 and list:contains("end"))
  equal(list:index_of("nothing"), nil)
  for _, index in ipairs { 0, -1, 7, 8, 2^53 // 1 | 0, math.maxinteger, math.mininteger } do
    fails("out_of_range", function() change(function() list[index] = 1 end) end)
  end
  fails("out_of_range", function() change(function() list:remove(7) end) end)
  local seen = {}
  for i, value in ipairs(rex.extra.list) do seen[i] = value end
  equal(#seen, 6)
  for i, value in pairs(rex.extra.list) do assert(i == 1 or value == seen[i]) end
  change(function() list:clear() end)
  equal(#rex.extra.list, 0)
end)

scenario("nested maps are changed in place", function()
  put { id = 1, extra = { map = { b = 1, a = { 1 } } } }
  local map = rex.extra.map
  change(function() rex.extra.map.key = 3 map.b = nil map:set("clear", "data") map["x y"] = { z = {} } end)
  assert(map.key == 3 and map.b == nil and map:get("clear") == "data" and type(map.clear) == "function")
  assert(same(map:keys(), { "a", "clear", "key", "x y" }) and map:values()[3] == 3 and #map == 4)
  fails(": m:set", function() change(function() map.clear = 1 end) end)
  local names = {}
  for name, value in pairs(map) do names[#names + 1] = name assert(name ~= "key" or value == 3) end
  equal(names, map:keys())
  change(function() map:remove("x y") map:remove("nothing") map:set("key", nil) map.a[1] = "deep" end)
  assert(#map == 2 and map.a[1] == "deep" and map:to_table().a[1] == "deep")
  change(function() map:clear() end)
  assert(#map == 0 and tostring(rex.extra.map) == "map in a mixed value (0)")
end)

scenario("collections in lists of mixed values are changed in place", function()
  put { id = 1, many = { { 1 }, { a = { b = 1 } } } }
  change(function() rex.many[1]:append(2) rex.many[2].a.b = { toy } end)
  assert(rex.many[1][2] == 2 and rex.many[2].a.b[1] == toy)
  store:write(function() store:delete(toy) end)
  assert(rex.many[2].a.b[1] == nil and #rex.many[2].a.b == 1)
end)

scenario("a handle of a replaced collection reports an error", function()
  put { id = 1, extra = { list = { 1 } } }
  local outer, list = rex.extra, rex.extra.list
  change(function() rex.extra.list = "no list" end)
  assert(outer:is_valid() and not list:is_valid() and tostring(list):find("invalid"))
  assert(code(function() return #list end) == "invalid_object" and code(function() return list[1] end) == "invalid_object")
  fails("invalid_object", function() change(function() list:append(1) end) end)
  change(function() rex.extra.list = { 7 } end)
  assert(list:is_valid() and list[1] == 7)
  change(function() store:delete(rex) end)
  assert(not outer:is_valid() and code(function() return outer.list end) == "invalid_object")
end)

scenario("frozen objects show old mixed values and refuse changes", function()
  put { id = 1, extra = { list = { 1 } } }
  local ice = rex:freeze()
  change(function() rex.extra.list[1] = 2 end)
  assert(ice.extra.list[1] == 1 and rex.extra.list[1] == 2 and ice.extra.list:is_frozen())
  fails("frozen", function() change(function() ice.extra.list[1] = 3 end) end)
end)

scenario("copies are plain tables, and nested values can be assigned to other properties", function()
  put { id = 1, extra = { list = { 1, { a = toy } } }, many = { { 1 } } }
  local copy = rex:to_table(2)
  assert(type(copy.extra) == "table" and copy.extra.list[2].a.id == 1 and copy.many[1][1] == 1)
  equal(rex:to_table().extra.list[2].a, toy)
  local max = put { id = 2, extra = rex.extra.list, many = { rex.extra.list, rex.extra } }
  assert(max.extra[2].a == toy and max.many[2].list[1] == 1)
  change(function() rex.extra.list[1] = 9 end)
  equal(max.extra[1], 1)
end)

scenario("mixed properties are queried, sorted and observed", function()
  put { id = 2, extra = "b" } put { id = 3, extra = 1.0 } put { id = 4, extra = { 1 } } put { id = 5, extra = toy }
  local dogs = store:objects "Dog"
  assert(#dogs:where("extra == 1") == 1 and #dogs:where("extra == nil") == 1 and #dogs:where { extra = 1 } == 1)
  assert(#dogs:where("extra == $1", toy) == 1 and #dogs:where("extra beginswith 'b'") == 1)
  local order = {}
  for i, dog in ipairs(dogs:sorted "extra") do order[i] = dog.id end
  equal(order, { 1, 3, 2, 5, 4 })
  local observed = {}
  local token = dogs:where("extra > 0"):observe(function(c) observed[#observed + 1] = c.type .. #c.insertions end)
  turn()
  change(function() rex.extra = 2 end)
  turn()
  change(function() rex.extra = { 2 } end)
  turn()
  equal(observed, { "initial0", "update1", "update0" })
end)

scenario("paths lead into mixed values and through links in them", function()
  put { id = 1, extra = { name = "Rex", scores = { 3, 4 }, toy = toy } }
  put { id = 2, extra = toy } put { id = 3, extra = { 7, { 8 } } } put { id = 4, many = { toy, { id = 9 } } }
  local function ids(text, ...)
    local found = {}
    for i, dog in ipairs(store:objects("Dog"):where(text, ...)) do found[i] = dog.id end
    return table.concat(found, " ")
  end
  assert(ids "extra.name == 'Rex'" == "1" and ids "extra.id == 1" == "2" and ids "extra.toy.id == 1" == "1")
  assert(ids "extra.scores[last] == 4" == "1" and ids "extra[2][1] == 8" == "3" and ids("extra.scores == $1", { 3, 4 }) == "1")
  assert(ids "any extra == 7" == "3" and ids "many.id == 9" == "4" and ids "many.id == 1" == "4")
  assert(ids "extra.@type == 'Toy'" == "2" and ids "extra.@type in {'map', 'nil'}" == "1 4")
  equal(#store:objects("Toy"):where "@links.Dog.extra.id == 2", 1)
  local message = message(function() ids "extra.@type == 'mapp'" end)
  assert(message:find("did you mean 'map'", 1, true) and message:find("^", 1, true), message)
  assert(store:objects("Dog"):sum "extra.id" == 1 and store:objects("Dog"):sorted("extra.scores[1]", "desc")[1].id == 1)
end)

scenario("sections by a mixed property combine equal numbers", function()
  local values = { 1, 1.0, moonpool.decimal("1.00"), "1", 0/0, { 1 }, { 1.0 }, toy, true, 2.5, moonpool.decimal("2.50"), 0/0 }
  for i, value in ipairs(values) do put { id = i, extra = value } end
  put { id = 20 }
  local sections = store:objects("Dog"):group_by "extra"
  local seen = {}
  for i, section in ipairs(sections) do
    local objects = section.objects
    local ids = {}
    for j, dog in ipairs(objects) do ids[j] = dog.id end
    seen[i] = table.concat(ids, "+")
  end
  equal(seen, { "20", "9", "5+12", "1+2+3", "10+11", "4", "8", "6+7" })
  assert(sections[4].key == 1 and sections[7].key == toy and sections[1].key == nil)
  assert(sections:index_of(1.0) == 4 and sections:index_of "1" == 6 and sections:index_of "zzz" == nil)
  local observed = {}
  local token = sections:observe(function(change) observed[#observed + 1] = change.type end)
  turn()
  change(function() store:object("Dog", 4).extra = 2.5 end)
  turn()
  assert(#sections == 7 and #observed == 2)
end)

scenario("a table that is neither an array nor a map is refused wherever it becomes a value", function()
  local toys = store:objects "Toy"
  local function declare(property) store:define { Fresh = { id = "int primary", list = property } } end
  for index, wrong in ipairs { { 1, x = 2 }, { 1, [5] = 2 }, { [2] = 1 }, { 1, [1.5] = 2 }, { [true] = 1 } } do
    local message = tostring(index)
    fails("type_mismatch", put, { id = 2, extra = wrong })
    fails("type_mismatch", put, { id = 2, many = wrong })
    fails("type_mismatch", put, { id = 2, many = { wrong } })
    fails("type_mismatch", function() return toys:where("id IN $1", wrong):count() end)
    fails("type_mismatch", function() return toys:where("id IN $1", { wrong }):count() end)
    fails("invalid_schema", declare, { type = "int[]", default = wrong })
    fails("invalid_schema", declare, { type = "int{}", default = wrong })
    fails("invalid_schema", declare, { type = "int", enum = wrong })
    assert(#store:objects "Dog" == 1 and not store:schema().Fresh, message)
  end
  declare { type = "int?[]", default = { 1, moonpool.null, 3 } }
  equal(store:new("Fresh").list, { 1, moonpool.null, 3 })
end)

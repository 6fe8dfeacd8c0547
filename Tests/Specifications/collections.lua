schema {
  Dog = {
    id = "int primary", tags = "string<>", numbers = "int?<>", bytes = "data<>", days = "date<>",
    friends = "Dog<>", notes = "string?{}", prices = "decimal<>", scores = "double{}", any = "mixed{}", things = "mixed<>", pups = "Dog{}", list = "int[]",
    liked = "backlinks Dog.friends", known = "backlinks Dog.pups",
  },
}

local rex

local function write(f) return store:write(f) end

local function text(t)
  local parts = {}
  for i = 1, #t do parts[i] = tostring(t[i]) end
  return table.concat(parts, ",")
end

before(function()
  rex = write(function() return store:create("Dog", { id = 1 }) end)
end)

-- The keys of another store identify other objects here, or no objects.
scenario("collections of objects of another store are refused", function()
  local other = moonpool.open { in_memory = unique "foreign", schema = store:schema() }
  local theirs = other:write(function()
    local theirs = other:create("Dog", { id = 7 })
    theirs.friends, theirs.pups, theirs.any, theirs.things = { theirs }, { a = theirs }, { a = theirs }, { theirs }
    theirs.tags = { "x" }
    return theirs
  end)
  write(function()
    for _, value in ipairs { theirs.friends, other:objects "Dog", theirs.friends:where "id > 0", theirs.known } do
      fails("invalid_object", function() rex.friends = value end)
      fails("invalid_object", function() rex.things = value end)
      fails("invalid_object", function() rex.any.a = value end)
      fails("invalid_object", function() return rex.friends:union(value) end)
      fails("invalid_object", function() rex.friends:form_union(value) end)
      fails("invalid_object", store.create, store, "Dog", { id = 9, friends = value })
      fails("invalid_object", function() return #store:objects("Dog"):where("any friends in $1", value) end)
    end
    fails("invalid_object", function() rex.pups = theirs.pups end)
    fails("invalid_object", function() rex.any = theirs.any end)
    fails("invalid_object", function() rex.things = theirs.things end)
    fails(": belongs to another store", function() rex.friends = theirs.friends end)
    rex.tags = theirs.tags
  end)
  assert(text(rex.tags) == "x" and #rex.friends == 0)
  other:close()
end)

scenario("errors of elements, keys and receivers contain the solution", function()
  fails("not_in_write: set 'tags'", function() rex.tags:add "x" end)
  fails(": map 'notes'", function() rex.notes.a = "x" end)
  write(function()
    fails("type_mismatch", function() rex.tags:add(1) end)
    fails("missing_value", function() rex.tags:add(nil) end)
    assert(code(function() rex.tags:add("a", "\xff") end) == "type_mismatch" and #rex.tags == 0)
    assert(code(function() rex.numbers:add(1, 2, "x") end) == "type_mismatch" and #rex.numbers == 0)
    assert(rex.numbers:add(1, 2) and rex.numbers:add(2, 3) and not rex.numbers:add(1, 3))
    rex.numbers:clear()
    fails("type_mismatch", function() rex.tags:add({}) end)
    fails("invalid_argument", function() rex.tags[1] = "x" end)
    fails("type_mismatch", function() rex.tags = "x" end)
    fails("type_mismatch", function() rex.tags = { a = "x" } end)
    fails(": set, list, Results or array expected", function() rex.tags:union(3) end)
    fails("type_mismatch", function() rex.tags:form_union { 3 } end)
    fails("type_mismatch", function() rex.notes[1] = "x" end)
    fails("type_mismatch", function() rex.notes[1.5] = "x" end)
    fails("type_mismatch", function() rex.notes[rex] = "x" end)
    fails("invalid_argument", function() rex.notes["\xff"] = "x" end)
    fails("type_mismatch", function() return rex.notes[1] end)
    fails("type_mismatch", function() for _ in ipairs(rex.notes) do end end)
    fails("type_mismatch", function() rex.notes.a = 1 end)
    fails("missing_value", function() rex.scores.a = moonpool.null end)
    fails("type_mismatch", function() rex.notes = { "x" } end)
    fails("type_mismatch", function() rex.notes = "x" end)
    fails("duplicate_key", function() rex.pups = { a = { id = 1 } } end)
    assert(#rex.tags == 0 and #rex.notes == 0)
  end)
  fails(": set expected", function() local f = rex.tags.add f(rex.notes, "x") end)
  fails("unknown_property", function() return rex.tags.ad end)
end)

scenario("sets loop, print and compare, and are assigned from lists", function()
  write(function()
    rex.bytes = { "\xff", "" }
    rex.days = { moonpool.date "2026-01-02T00:00:00Z", moonpool.date "2025-01-02T00:00:00Z" }
    rex.list = { 5, 4 }
    rex.numbers = rex.list
  end)
  assert(rex.bytes:contains "\xff" and rex.bytes[1] == "" and rex.days[1].year == 2025)
  for _, loop in ipairs { ipairs, pairs } do
    local shown = {}
    for i, v in loop(rex.numbers) do shown[i] = v end
    equal(shown, { 4, 5 })
  end
  equal(tostring(rex.numbers), "set Dog.numbers (2)")
  assert(rex.numbers == rex.numbers and rex.numbers ~= rex.tags)
  assert(tostring(rex):find("tags = string<>(0)", 1, true))
  write(function() rex.numbers:clear() end)
  equal(#rex.numbers, 0)
end)

scenario("maps loop, print and compare", function()
  write(function()
    rex.notes = { b = "2", a = "1", ["ä"] = "3", [""] = "0", none = moonpool.null }
    rex.scores = { x = 1, y = 2.5 }
  end)
  assert(rex.notes.none == nil and rex.scores.x == 1.0 and math.type(rex.scores.x) == "float")
  local shown = {}
  for k, v in pairs(rex.notes) do shown[#shown + 1] = k .. "=" .. tostring(v) end
  equal(text(shown), "=0,a=1,b=2,none=nil,ä=3")
  write(function() for k in pairs(rex.notes) do rex.notes[k] = nil end end)
  equal(tostring(rex.notes), "map Dog.notes (0)")
  assert(rex.notes == rex.notes and rex.notes ~= rex.scores)
  assert(tostring(rex):find("notes = string?{}(0)", 1, true))
end)

scenario("data cannot hide a method of a map", function()
  write(function()
    local wrong = message(function() rex.notes.clear = "x" end)
    assert(wrong:find('m:set("clear", value)', 1, true), wrong)
    fails("invalid_argument", function() rex.notes.clear = "x" end)
    fails("invalid_argument", function() rex.notes["keys"] = nil end)
    rex.notes:set("clear", "y")
    rex.notes = { keys = "z", clear = "y" }
  end)
  assert(type(rex.notes.clear) == "function" and rex.notes:get "clear" == "y" and rex.notes:get "keys" == "z")
  equal(text(rex.notes:keys()), "clear,keys")
  write(function() rex.notes:set("clear", nil) assert(rex.notes:remove "keys") end)
  equal(#rex.notes, 0)
end)

scenario("deleted objects are removed from sets and maps", function()
  local max, tim
  write(function()
    rex.friends = { { id = 2 }, { id = 3 } }
    max, tim = rex.friends[1], rex.friends[2]
    assert(rex.friends:add { id = 4 } and not rex.friends:add(max))
    rex.pups = { first = max, tim = tim, new = { id = 5 } }
  end)
  assert(#rex.friends == 3 and rex.friends:contains(max) and rex.pups.first == max and rex.pups.new.id == 5)
  assert(#max.liked == 1 and max.liked[1] == rex and #max.known == 1)
  assert(rex.friends:where("id > 2"):count() == 2 and rex.friends:sorted("id", "desc")[1].id == 4)
  assert(rex.friends:sum "id" == 9 and rex.pups:where("id == 5"):first().id == 5 and rex.pups:max "id" == 5)
  equal(#rex.friends:intersection(rex.pups), 2)
  assert(rex.friends:is_superset_of(rex.friends:where "id > 2"))
  write(function() store:delete(max) end)
  assert(#rex.friends == 2 and #rex.pups == 3 and rex.pups.first == nil)
  equal(text(rex.pups:keys()), "first,new,tim")
  assert(not rex.friends:contains(max))
  write(function() fails("invalid_object", function() rex.friends:add(max) end) end)
  write(function() store:delete(rex.friends) end)
  assert(#rex.friends == 0 and rex.pups.tim == nil and #rex.pups == 3 and #store:objects "Dog" == 2)
end)

scenario("handles of a deleted owner or closed store report errors, frozen ones stay", function()
  write(function() rex.tags = { "a" } rex.notes = { k = "v" } rex.friends = { { id = 2 } } end)
  local tags, notes = rex.tags, rex.notes
  local frozen_tags, frozen_notes, old = tags:freeze(), notes:freeze(), rex:freeze()
  assert(frozen_tags:is_frozen() and not tags:is_frozen())
  write(function() tags:add "b" notes.k = "w" end)
  assert(#frozen_tags == 1 and frozen_notes.k == "v" and old.notes.k == "v" and #old.tags == 1)
  assert(old.friends[1].id == 2 and old.friends[1]:is_frozen())
  fails("frozen", function() frozen_tags:add "x" end)
  fails("frozen", function() frozen_notes.a = "x" end)
  write(function() store:delete(rex) end)
  assert(not tags:is_valid() and not notes:is_valid() and frozen_tags:is_valid())
  for _, f in ipairs { function() return #tags end, function() return tags[1] end, function() return notes.k end,
    function() return notes:keys() end, function() return #notes end, function() return tags:contains "a" end,
    function() for _ in pairs(notes) do end end, function() return tags:freeze() end } do
    fails("invalid_object", f)
  end
  equal(tostring(tags), "set Dog.tags (invalid)")
  store:close()
  assert(code(function() return tags[1] end) == "closed" and code(function() return notes.k end) == "closed")
end)

scenario("copies are plain tables, and methods serve as functions", function()
  write(function() rex.tags = { "b", "a" } rex.notes = { k = "v" } rex.pups = { p = { id = 9 } } end)
  local copy = rex:to_table(2)
  assert(text(copy.tags) == "a,b" and copy.notes.k == "v" and copy.pups.p.id == 9)
  assert(moonpool.store_of(rex.tags) == store and moonpool.store_of(rex.notes) == store)
  assert(moonpool.keys(rex.notes)[1] == "k" and moonpool.contains(rex.tags, "a"))
  local text = store:schema "Dog"
  assert(text.tags == "string<>" and text.notes == "string?{}" and text.pups == "Dog{}" and text.numbers == "int?<>")
end)

scenario("collections can have defaults, which are checked and stored in the schema", function()
  store:define { Cat = {
    tags = { type = "string<>", default = { "b", "a", "b" } },
    notes = { type = "int?{}", default = { x = 1, y = moonpool.null } },
    list = { type = "int[]", default = { 3, 1 } }, plain = { type = "int<>", default = {} },
  } }
  local cat = write(function() return store:create("Cat", {}) end)
  assert(text(cat.tags) == "a,b" and text(cat.list) == "3,1" and #cat.plain == 0)
  assert(cat.notes.x == 1 and text(cat.notes:keys()) == "x,y" and cat.notes.y == nil)
  local given = write(function() return store:create("Cat", { tags = {}, list = { 9 } }) end)
  assert(#given.tags == 0 and text(given.list) == "9" and given.notes.x == 1)
  assert(store:schema("Cat").notes.default.x == 1 and store:schema("Cat").tags.type == "string<>")
  local function wrong(type, default)
    return code(function() store:define { Wrong = { p = { type = type, default = default } } } end)
  end
  assert(wrong("int<>", { "x" }) == "invalid_schema" and wrong("int{}", { 1 }) == "invalid_schema")
  assert(wrong("int[]", { a = 1 }) == "invalid_schema" and wrong("int{}", { a = moonpool.null }) == "invalid_schema")
  assert(wrong("int<>", 5) == "invalid_schema" and wrong("int", { 5 }) == "invalid_schema")
end)

scenario("predicates on sets and maps test their elements", function()
  write(function()
    rex.tags = { "red", "blue" } rex.scores = { a = 1, b = 9 }
    rex.friends = { { id = 2, tags = { "green" } } }
    rex.pups = { x = { id = 3 }, y = moonpool.null }
  end)
  local function ids(predicate, ...)
    local found = {}
    for dog in store:objects("Dog"):where(predicate, ...):each() do found[#found + 1] = dog.id end
    return table.concat(found, ",")
  end
  assert(ids("any tags == 'red'") == "1" and ids("tags.@count == 1") == "2")
  assert(ids("none tags == 'red'") == "2,3" and ids("all tags beginswith 'g' and tags.@count > 0") == "2")
  assert(ids("any scores > 8") == "1" and ids("scores.@sum == 10") == "1" and ids("scores.@max > $1", 8) == "1")
  assert(ids("any friends.id == 2") == "1" and ids("any friends.tags == 'green'") == "1")
  assert(ids("pups.@count == 2") == "1" and ids("any pups.id == 3") == "1")
end)

-- The order and the aggregates of plain values.

schema {
  Dog = {
    id = "int primary", tags = "string<>", numbers = "int?<>", bytes = "data<>", days = "date<>",
    friends = "Dog<>", notes = "string?{}", prices = "decimal<>", scores = "double{}", any = "mixed{}", things = "mixed<>", pups = "Dog{}", list = "int[]",
    liked = "backlinks Dog.friends", known = "backlinks Dog.pups",
  },
}

local rex

local function text(t) return table.concat(t:to_table(), ",") end

before(function()
  rex = store:write(function()
    return store:create("Dog", { id = 1, list = { 3, 1, 2, 3 }, numbers = { 5, moonpool.null, 7 },
      scores = { b = 1.5, a = 2.5 }, tags = { "x", "y" } })
  end)
end)

scenario("a value without an order, a sum or a member is an error", function()
  fails("invalid_query", function() return rex.tags:sum() end)
  fails(": 'tags' is string; avg requires a number", function() return rex.tags:average() end)
  fails("invalid_query", function() return rex.days:sum() end)
  assert(code(function() return rex.list:sorted("up") end) ~= "no error")
  fails("invalid_query", function() return rex.list:limit(-1) end)
  local sorted = rex.list:sorted()
  fails("invalid_argument", function() sorted[1] = 5 end)
  fails("unknown_property", function() return sorted.nothing end)
  store:write(function() store:delete(rex) end)
  assert(not sorted:is_valid() and code(function() return #sorted end) == "invalid_object")
  equal(tostring(sorted), "Values (invalid)")
end)

scenario("values that were filtered or sorted are observed, frozen and explained", function()
  local calls = {}
  local high = rex.list:where("SELF > 1"):sorted("desc")
  local token = high:observe(function(change)
    calls[#calls + 1] = change.type .. " " .. table.concat(change.deletions, ",") .. "|"
      .. table.concat(change.insertions, ",") .. "|" .. table.concat(change.modifications, ",")
      .. "|" .. table.concat(change:deleted(), ",") .. "|" .. table.concat(change:inserted(), ",")
      .. " " .. text(change.collection)
  end, { name = "high" })
  local function last() store:refresh() return calls[#calls] end
  equal(last(), "initial |||| 3,3,2")
  store:write(function() rex.list:append(9) end)
  equal(last(), "update |1|||9 9,3,3,2")
  store:write(function() rex.list[3] = 0 end)
  equal(last(), "update 4|||2| 9,3,3")
  store:write(function() rex.list[2] = -1 end)
  assert(#calls == 3 and tostring(token):find("high", 1, true))
  equal(token:why().properties[1], "list")
  local map = {}
  local of_map = rex.scores:where("SELF > 2"):observe(function(change)
    map[#map + 1] = #change.insertions > 0 and change.insertions[1] or 0
  end)
  store:refresh()
  store:write(function() rex.scores.c = 7 end)
  store:refresh()
  equal(map[2], 2)
  local frozen = high:freeze()
  store:write(function() rex.list:clear() end)
  assert(frozen:is_frozen() and text(frozen) == "9,3,3" and text(frozen:thaw()) == "")
  assert(frozen:freeze() == frozen and code(function() frozen:observe(print) end) == "frozen")
  fails("invalid_query", function() high:observe(print, { keypaths = "x" }) end)
  assert(high:explain():find("keeps matches of: SELF > 1", 1, true))
end)

scenario("where on plain values names them SELF", function()
  assert(text(rex.list:where("SELF > $1", 1)) == "3,2,3" and text(rex.tags:where "self == 'y'") == "y")
  local big = rex.scores:where "SELF > 2"
  assert(#big == 1 and big[1] == 2.5 and text(rex.list:sorted():where("SELF < 3"):limit(1)) == "1")
  assert(rex.numbers:where("SELF == nil"):count() == 1 and rex.list:where("SELF > 2"):sum() == 6)
  store:write(function() rex.scores.c = 9 end)
  equal(#big, 2)
  fails(": SELF", function() return rex.list:where { 3 } end)
  assert(code(function() return rex.list:where(nil) end) ~= "no error")
  assert(code(function() return rex.list:where("SELF > $1", print) end) ~= "no error")
  fails("type_mismatch", function() return rex.list:group_by("SELF") end)
end)

scenario("conditions on SELF filter lists, sets and maps of values", {
  Row = { ints = "int?[]", words = "string<>", reals = "double{}", any = "mixed[]", days = "date[]" },
}, function()
  local N = moonpool.null
  local row = store:write(function()
    return store:create("Row", {
      ints = { 5, N, 1, 9, 5 }, words = { "Rex", "älp", "" }, reals = { a = 1.5, b = 0 / 0, c = -2 },
      any = { 1, "x", 2.5, N, { 4 } }, days = { moonpool.date(5) },
    })
  end)
  for _, case in ipairs {
    { "ints", "SELF > 3", { 5, 9, 5 } }, { "ints", "self > 3 and not SELF == $1", { 5, 5 }, 9 }, { "ints", "SELF == nil", { N } },
    { "ints", "SELF != 5", { N, 1, 9 } }, { "ints", "SELF in {1, 9} or SELF between {5, 6}", { 5, 1, 9, 5 } },
    { "ints", "SELF > 4.5", { 5, 9, 5 } }, { "ints", "truepredicate", { 5, N, 1, 9, 5 } }, { "ints", "4 < SELF", { 5, 9, 5 } },
    { "days", "SELF > 1970-01-01T00:00:01Z", { moonpool.date(5) } }, { "words", "SELF beginswith[c] 'r'", { "Rex" } },
    { "words", "SELF like[cd] 'A*'", { "älp" } }, { "words", "SELF == ''", { "" } }, { "any", "SELF > 0", { 1, 2.5 } },
    { "any", "SELF == 'x'", { "x" } }, { "any", "SELF == nil", { N } },
  } do
    equal({ case[2], row[case[1]]:where(case[2], table.unpack(case, 4)):to_table() }, { case[2], case[3] })
  end
  equal(#row.reals:where "SELF < 2", 3)
  local two = row.ints:sorted():where("SELF > 1"):limit(2)
  equal(two:to_table(), { 5, 5 })
  store:write(function() row.ints:append(4) end)
  equal(two:to_table(), { 4, 5 })
  for text, part in pairs {
    ["SELF >"] = "^", ["SELF.name == 3"] = "", ["SELF beginswith 'a'"] = "", ["SELF > $1"] = "^", ["SELF > 'a'"] = "^", [""] = "",
    ["SELF[1] == 2"] = "", ["SELF + 1 > 3"] = "constants", ["SELF > SELF"] = "constants", ["any SELF > 3"] = "",
    ["SELF > 3 sort(SELF asc)"] = "sort or limit", ["SELF > 3 limit(2)"] = "sort or limit", ["SELF.@count > 1"] = "",
    ["@links.Row.ints > 3"] = "", ["subquery(SELF, $x, $x > 1).@count > 0"] = "",
  } do
    fails("invalid_query: " .. part, row.ints.where, row.ints, text)
  end
  fails("unknown_property: ^", row.ints.where, row.ints, "value > 3")
  local ints = row.ints
  store:write(function() store:delete(row) end)
  fails("invalid_object", function() return #ints:where "SELF > 3" end)
end)

scenario("sorted, distinct and limited values follow the collection", function()
  local up, down = rex.list:sorted(), rex.list:sorted "desc"
  assert(text(up) == "1,2,3,3" and text(down) == "3,3,2,1" and text(rex.list:distinct()) == "3,1,2")
  assert(text(up:distinct():limit(2)) == "1,2" and #up == 4 and up[1] == 1 and up[5] == nil)
  store:write(function() rex.list:append(0) end)
  assert(up[1] == 0 and #down == 5 and text(down:limit(3)) == "3,3,2")
  assert(up:first() == 0 and up:last() == 3 and rex.numbers:last() == 7 and rex.tags:first() == "x")
  local seen = {}
  for v in rex.numbers:each() do seen[#seen + 1] = tostring(v) end
  equal(table.concat(seen, ","), "null,5,7")
  equal(#rex.list:filter(function(v) return v > 2 end), 2)
  equal(rex.tags:map(function(v) return v .. "!" end)[2], "y!")
  assert(rex.tags:is_subset_of(rex.tags:sorted "desc"))
  equal(tostring(up), "Values of int (5)")
  for i, v in ipairs(up) do equal(up[i], v) end
end)

scenario("a table with names is not a set of values", function()
  for _, name in ipairs { "union", "intersection", "is_subset_of", "intersects" } do
    local wrong = message(rex.numbers[name], rex.numbers, { a = 5 })
    assert(wrong:find("expected set, list, Results or array, got a table with names", 1, true), wrong)
  end
  store:write(function()
    assert(code(rex.numbers.form_union, rex.numbers, { 1, a = 2 }) ~= "no error")
    assert(not rex.numbers:contains(1) and #rex.numbers:union {} == #rex.numbers)
  end)
end)

scenario("aggregates of values skip nil", function()
  assert(rex.list:sum() == 9 and math.type(rex.list:sum()) == "integer" and rex.list:average() == 2.25)
  assert(rex.list:min() == 1 and rex.list:max() == 3 and rex.list:count() == 4)
  assert(rex.numbers:sum() == 12 and rex.numbers:average() == 6.0 and rex.numbers:count() == 3)
  assert(rex.scores:sum() == 4.0 and rex.scores:max() == 2.5 and rex.scores:sorted()[1] == 1.5)
  store:write(function() rex.list:clear() rex.days = { moonpool.date(5), moonpool.date(3) } end)
  assert(rex.list:sum() == 0 and rex.list:min() == nil and rex.list:average() == nil)
  assert(rex.days:min() == moonpool.date(3) and rex.days:max() == moonpool.date(5))
  equal(rex.prices:sum(), moonpool.decimal(0))
end)

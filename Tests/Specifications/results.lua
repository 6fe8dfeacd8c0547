-- Orders, duplicates, limits and aggregates of results, and what they contain during a write.

schema {
  Person = {
    { "id", "int primary" }, { "rank", "int indexed" }, { "nick", "string indexed" }, { "age", "int?" }, { "name", "string?" },
    { "height", "double?" }, { "weight", "float?" }, { "active", "bool?" }, { "born", "date?" }, { "photo", "data?" },
    { "buddy", "Person" }, { "items", "Item[]" },
  },
  Item = { price = "double" },
}

local all

before(function() all = store:objects "Person" end)

-- Creates people whose id, rank and nick are their number, counted from 0.
local function people(rows)
  store:write(function()
    for n, row in ipairs(rows) do
      row.id, row.rank, row.nick = n - 1, n - 1, "n" .. n - 1
      store:create("Person", row)
    end
  end)
end

local function ages(...)
  local rows = {}
  for n, age in ipairs { ... } do rows[n] = { age = age } end
  people(rows)
end

local function ids(rows)
  local found = {}
  for n, row in ipairs(rows) do found[n] = row.id end
  return table.concat(found, " ")
end

scenario("nil comes first ascending and last descending", function()
  people {
    { age = 2, name = "b", height = 2, active = true, weight = 2 }, {},
    { age = -1, name = "a", height = -1, active = false, weight = -1 },
  }
  for _, path in ipairs { "age", "name", "height", "active", "weight" } do
    equal({ path, ids(all:sorted(path)), ids(all:sorted(path, "desc")) }, { path, "1 2 0", "0 2 1" })
  end
end)

scenario("a nil link in the path counts as nil, first when ascending", function()
  ages(3, 1, 2)
  store:write(function() all[1].buddy, all[3].buddy = all[1], all[2] end)
  equal(ids(all:sorted "buddy.age"), "1 2 0")
  equal(ids(all:sorted("buddy.age", "desc")), "0 2 1")
end)

scenario("equal values keep the previous order", function()
  ages(2, 3, 0, 1, 2, 3, 0, 1)
  equal(ids(all:sorted "age"), "2 6 3 7 0 4 1 5")
  equal(ids(all:sorted("age", "desc")), "1 5 0 4 3 7 2 6")
end)

scenario("the first key decides, and a later sort precedes an earlier one", function()
  people { { age = 1, name = "b" }, { age = 2, name = "a" }, { age = 1, name = "a" }, { age = 2, name = "b" } }
  equal(ids(all:sorted { "age", "name" }), "2 0 1 3")
  equal(ids(all:sorted { { "age", "desc" }, "name" }), "1 3 2 0")
  equal(ids(all:sorted("name"):sorted "age"), "2 0 1 3")
end)

scenario("sorting refuses paths without an order", function()
  for path, expected in pairs {
    [""] = "invalid_query: empty component", ["buddy."] = "invalid_query: empty component",
    agee = "unknown_property: did you mean 'age'?", buddy = "invalid_query: ends in the link",
    ["items.price"] = "invalid_query: goes through the list", photo = "invalid_query: which is data",
    ["age.name"] = "invalid_query: not a link",
  } do
    fails(expected, all.sorted, all, path)
  end
end)

scenario("distinct keeps the first row in the current order", function()
  local rows = {}
  for n = 0, 9 do rows[n + 1] = { age = n % 3, height = 10 - n } end
  people(rows)
  local by_age = all:distinct "age"
  equal(ids(by_age), "0 1 2")
  equal(ids(all:sorted("height"):distinct "age"), "9 8 7")
  equal(ids(by_age:sorted "height"), "2 1 0")
  assert(#by_age:where "age < 2" == 2 and #all:distinct("age", "height") == 10 and #by_age:distinct "height" == 3)
end)

scenario("limits apply at their position", function()
  ages(2, 3, 0, 1, 2, 3, 0, 1)
  assert(#all:limit(0) == 0 and #all:limit(100) == 8)
  equal(ids(all:sorted("age"):limit(2)), "2 6")
  local limited = all:limit(3)
  equal(ids(limited:sorted "age"), "2 0 1")
  assert(#limited:limit(5) == 3 and ids(limited:where "age > 1") == "0 1")
  fails("invalid_query", all.limit, all, -1)
end)

scenario("sort, distinct and limit can follow a predicate", function()
  ages(2, 3, 0, 1, 2, 3, 0, 1)
  equal(ids(all:where "truepredicate sort(age asc, rank desc) limit(3)"), "6 2 7")
  equal(ids(all:where "age > 0 SORT(age DESC) DISTINCT(age) LIMIT(2)"), "1 0")
  equal(ids(all:where "truepredicate distinct(age) sort(age)"), "2 3 0 1")
end)

scenario("filters compose and keep the order", function()
  ages(5, 1, 4, 2, 3)
  equal(ids(all:sorted("age", "desc"):where("age > 1"):where "age < 5"), "2 4 3")
end)

scenario("results include the changes of the open write", function()
  local active = all:where "active == true"
  local function person(id, is_active)
    return store:create("Person", { id = id, rank = id, nick = "n", active = is_active })
  end
  equal(#active, 0)
  store:begin_write()
  local first = person(1, true)
  equal(#active, 1)
  store:delete(first)
  equal(#active, 0)
  local second = person(2, false)
  equal(#active, 0)
  second.active = true
  equal(#active, 1)
  person(3, true)
  equal(#active, 2)
  store:cancel_write()
  equal(#active, 0)
end)

scenario("a loop visits the initial members", function()
  local zeros = {}
  for n = 1, 40 do zeros[n] = 0 end
  ages(table.unpack(zeros))
  local rows, visited = all:where "age == 0", 0
  store:write(function()
    for row in rows:each() do
      row.age = 1
      visited = visited + 1
    end
  end)
  assert(visited == 40 and #rows == 0)
end)

scenario("aggregates skip nil", function()
  people { {}, { age = 0, height = 0 }, { age = 2, height = 2 } }
  assert(all:min "age" == 0 and all:max "age" == 2 and all:average "age" == 1 and all:sum "age" == 2)
  assert(math.type(all:sum "age") == "integer" and math.type(all:average "age") == "float")
  assert(all:sum "height" == 2 and all:average "height" == 1 and all:max "height" == 2)
  assert(all:min "weight" == nil and all:count "age" == 2)
  local none = all:where "falsepredicate"
  assert(none:sum "age" == 0 and none:sum "height" == 0 and none:average "height" == nil)
  for _, path in ipairs { "name", "items.price", "nothing", "buddy" } do fails(": ", all.sum, all, path) end
  fails(": ", all.average, all, "born")
end)

scenario("first and last of empty results are nil, an index past the end has no object", function()
  assert(all:first() == nil and all:last() == nil)
  ages(1, 2)
  assert(all:first().age == 1 and all:last().age == 2 and all[3] == nil)
end)

scenario("results return the index of an object", function()
  ages(3, 1, 2)
  local sorted, object = all:sorted "age", all[1]
  assert(sorted:index_of(object) == 3 and all:index_of(object) == 1)
  equal(all:where("age < 3"):index_of(object), nil)
  store:write(function() store:delete(object) end)
  fails("invalid_object", sorted.index_of, sorted, object)
end)

scenario("the equality shorthand takes values by name", function()
  people { { name = "Rex", age = 3 }, { name = "Rex" } }
  equal(ids(all:where { name = "Rex", age = 3 }), "0")
  fails("unknown_property", all.where, all, { nmae = "Rex" })
end)

scenario("a loop over results sees each change of its write that their query reads, and no other", function()
  ages(4, 3, 2, 1)
  local young = all:where("age < 4"):sorted "age"
  store:write(function()
    local first = all[1]
    for _, person in ipairs(young) do
      person.height, person.buddy, person.born = 2, first, moonpool.date(0)
      person.items:append { price = person.age }
    end
    equal(ids(young), "3 2 1")
    assert(#young == 3 and young:sum "height" == 6 and #all:where "buddy.age == 4" == 3)
    equal(ids(all:where("items.@sum.price > 1"):sorted "age"), "2 1")
    local befriended, rich = all:where "buddy.age == 4", all:where "any items.price > 2"
    assert(#befriended == 3 and ids(rich) == "1")
    first.age = 5
    assert(#befriended == 0 and ids(young) == "3 2 1")
    all[2].buddy = nil
    all[4].items[1].price = 9
    assert(ids(rich) == "1 3" and ids(all:where "buddy.age == 5") == "2 3")
    all[4].age = 2.0
    equal(ids(young), "2 3 1")
    store:delete(all[3])
    equal(ids(young), "3 1")
  end)
end)

scenario("results that a default function reads are those of the moment", function()
  local made
  store:define {
    Leaf = { name = "string?", number = { type = "int", default = function() return #made end } },
    Tree = { leaf = "Leaf", leaves = "Leaf[]" },
  }
  made = store:objects "Leaf"
  store:write(function()
    local tree = store:create("Tree", { leaf = { name = "a" } })
    equal(#made, 1)
    tree.leaf = {}
    equal(#made, 2)
    tree.leaves:append {}
    tree.leaves = { {}, {} }
    equal(#made, 5)
  end)
  local numbers = {}
  for i, leaf in ipairs(made) do numbers[i] = leaf.number end
  equal(numbers, { 0, 1, 2, 3, 4 })
end)

scenario("results in a write agree with all objects after each change of their own properties", function()
  local s = moonpool.open { in_memory = unique "live" }
  s:define {
    Dog = {
      id = "int primary", age = "int?", name = { type = "string", indexed = true }, tags = "string[]",
      text = { type = "string", fulltext = true }, kind = { type = "int", indexed = true }, rank = "int",
      indexes = { { "kind", "rank" } }, mate = "Dog", mates = "backlinks Dog.mate",
    },
  }
  local dogs, seed = {}, 7
  local function random(n) seed = seed * 1103515245 + 12345 & 0x7fffffff return (seed >> 8) % n + 1 end
  s:write(function()
    for i = 1, 600 do
      dogs[i] = s:create("Dog", { id = i, age = i % 7 > 0 and i % 7 or nil, name = "n" .. i % 9, kind = i % 40,
                                  rank = i % 5, text = "word" .. i % 30, tags = { "t" .. i % 3 } })
    end
  end)
  local changes = {
    function(d, n) d.age = n % 7 > 0 and n % 7 or nil end, function(d, n) d.name = "n" .. n % 9 end,
    function(d, n) d.kind = n % 40 end, function(d, n) d.rank = n % 5 end,
    function(d, n) d.text = "word" .. n % 30 end, function(d, n) d.tags:append("t" .. n % 3) end,
    function(d, n) d.mate = dogs[n] end, function(d) d.tags:clear() end,
    function(d, n) d.age = 3 d.name = "n" .. n % 9 d.rank = n % 5 end,
  }
  local function isTagged(d) return d.tags:contains "t1" end
  local queries = {
    { "age > 3", function(d) return d.age and d.age > 3 end },
    { "age == nil", function(d) return d.age == nil end, "name" },
    { "name == 'n4'", function(d) return d.name == "n4" end },
    { "kind == 7", function(d) return d.kind == 7 end, "age" },
    { "kind == 7 and rank > 1", function(d) return d.kind == 7 and d.rank > 1 end },
    { "text text 'word4'", function(d) return d.text == "word4" end, "rank" },
    { "any tags == 't1'", isTagged, "age" },
    { "not any tags == 't1'", function(d) return not isTagged(d) end },
    { "mate.age > 3", function(d) return d.mate and d.mate.age and d.mate.age > 3 end, "rank" },
    { "mates.@count > 0", function(d) return #d.mates > 0 end },
    { "truepredicate", function() return true end, "mate.age" },
  }
  for _, query in ipairs(queries) do
    query.fresh = function()
      local all = s:objects "Dog":where(query[1])
      return query[3] and all:sorted(query[3], "desc") or all
    end
    query.results, query.counted, query.firsts = query.fresh(), query.fresh(), query.fresh()
  end
  s:write(function()
    for step = 1, 400 do
      changes[random(#changes)](dogs[random(#dogs)], random(600))
      local one = queries[step // 20 % #queries + 1]
      equal(#one.counted, #one.fresh())
      assert(one.firsts:first() == one.fresh():first())
      if step % 9 ~= 0 then
        local query = queries[random(#queries)]
        local results, fresh = query.results, query.fresh()
        equal(#results, #fresh)
        assert(results:first() == fresh:first() and results:last() == fresh:last())
        for i = 1, #fresh, random(4) do assert(results[i] == fresh[i]) end
        if step % 8 == 0 then
          local count = 0
          for d in s:objects "Dog":each() do
            if query[2](d) then
              count = count + 1
              assert(results:contains(d))
            end
          end
          equal(#results, count)
        end
      end
      if step % 60 == 0 then
        pcall(s.savepoint, s, function()
          for _, query in ipairs(queries) do query.rest = #query.results end
          for i = 1, 3 do changes[i](dogs[random(#dogs)], random(600)) end
          for _, query in ipairs(queries) do query.rest = #query.results end
          error "back"
        end)
      end
      if step % 100 == 0 then s:delete(table.remove(dogs)) end
    end
    for _, dog in ipairs(s:objects "Dog":where "age == 3":sorted "name") do dog.age = 4 end
    for _, dog in ipairs(s:objects "Dog":where "rank == 3") do dog.rank = 4 end
  end)
  for _, query in ipairs(queries) do
    local fresh = query.fresh()
    equal(#query.results, #fresh)
    for i, dog in ipairs(fresh) do assert(query.results[i] == dog) end
  end
  s:close()
end)

scenario("results in a write agree with a new query after each creation, deletion and update", function()
  local s = moonpool.open { in_memory = unique "live" }
  s:define {
    Dog = {
      id = "int primary", age = "int?", name = { type = "string", indexed = true }, mate = "Dog", note = "mixed",
      owner = "Person", mates = "backlinks Dog.mate",
    },
    Person = { age = "int", dogs = "backlinks Dog.owner", pets = "Dog[]" },
  }
  local seed, id = 11, 0
  local function random(n) seed = seed * 1103515245 + 12345 & 0x7fffffff return (seed >> 8) % n + 1 end
  local function values(more)
    id = id + 1
    local all = { id = id, age = random(8) > 1 and random(6) or nil, name = "n" .. random(9) }
    for key, value in pairs(more or {}) do all[key] = value end
    return all
  end
  local function any(class)
    local all = s:objects(class)
    return all[random(#all)]
  end
  local changes = {
    function() s:create("Dog", values()) end, function() s:create("Dog", values()) end,
    function() s:create("Dog", values { mate = any "Dog" }) end,
    function() s:create("Dog", values { owner = any "Person", note = any "Dog" }) end,
    function() s:create("Dog", values { owner = { age = random(9) } }) end,
    function() s:create("Dog", values { id = any("Dog").id }, "modified") end,
    function() s:create("Person", { age = random(9) }) end,
    function() s:delete(any "Dog") end, function() s:delete(any "Dog") end,
    function() if #s:objects "Person" > 3 then s:delete(any "Person") end end,
    function() any("Dog"):update { age = random(6), name = "n" .. random(9) } end,
    function() any("Dog"):update { age = random(6), mate = any "Dog" } end,
    function() any("Dog"):update { note = { a = random(5) } } end,
    function() any("Person").pets:append(any "Dog") end, function() any("Person"):update { age = random(9) } end,
    function() any("Dog").age = random(6) end,
    function() s:objects("Dog"):where("age == 2 and name == 'n2'"):update { age = 3 } end,
  }
  local queries = {
    { "Dog", "age > 3" }, { "Dog", "age == nil", "name" }, { "Dog", "name == 'n4'", "age" }, { "Dog", "truepredicate" },
    { "Dog", "truepredicate", "age" }, { "Dog", "mate.age > 3", "name" }, { "Dog", "mates.@count > 0" },
    { "Dog", "note.a > 2" }, { "Person", "any dogs.age > 3" }, { "Person", "dogs.@count > 1", "age" },
    { "Person", "pets.@count > 0" }, { "Person", "age > 4", "age" }, { "Dog", "note.age > 2", "id" },
  }
  local function fresh(query)
    local all = s:objects(query[1]):where(query[2])
    return query[3] and all:sorted(query[3]) or all
  end
  local checks = {
    function(kept, new) equal(#kept, #new) end, function(kept, new) assert(kept:first() == new:first()) end,
    function(kept, new) assert(kept:last() == new:last()) end, function(kept, new) assert(kept[1] == new[1]) end,
    function(kept, new)
      equal(#kept, #new)
      for i = 1, #new, random(3) do assert(kept[i] == new[i]) end
    end,
  }
  s:write(function()
    for _ = 1, 4 do s:create("Person", { age = random(9) }) end
    for _ = 1, 300 do s:create("Dog", values()) end
    for _, query in ipairs(queries) do
      query.kept = {}
      for i = 1, #checks do query.kept[i] = fresh(query) end
    end
    local pets = any("Person").pets:where "age > 1"
    for step = 1, 700 do
      local one, check = queries[step // 10 % #queries + 1], step // 50 % #checks + 1
      changes[random(#changes)]()
      checks[check](one.kept[check], fresh(one))
      if random(3) == 1 then
        local other = queries[random(#queries)]
        checks[#checks](other.kept[#checks], fresh(other))
      end
      if pets:count() > 0 then assert(pets:first().age > 1) end
      if step % 90 == 0 then
        pcall(s.savepoint, s, function()
          for _ = 1, 5 do
            changes[random(#changes)]()
            checks[check](one.kept[check], fresh(one))
          end
          error "back"
        end)
        checks[check](one.kept[check], fresh(one))
      end
      if #s:objects "Dog" < 50 then for _ = 1, 300 do s:create("Dog", values()) end end
    end
  end)
  for _, query in ipairs(queries) do
    for _, kept in ipairs(query.kept) do checks[#checks](kept, fresh(query)) end
  end
  local sorted = s:objects("Dog"):where("age > 0"):sorted "age"
  s:write(function() while sorted:first() do s:delete(sorted:first()) end end)
  equal(#sorted, 0)
  equal(#s:objects("Dog"):where "age > 0", 0)
  s:close()
end)

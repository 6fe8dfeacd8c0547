schema {
  Dog = { id = "int primary", breed = "string?", about = "string?" },
}

local dogs

before(function()
  store:write(function()
    store:create("Dog", { id = 1, breed = "pug", about = "A red dog" })
    store:create("Dog", { id = 2, breed = "mutt", about = "A blue dog, dog" })
    store:create("Dog", { id = 3, breed = "pug" })
    store:create("Dog", { id = 4 })
  end)
  dogs = store:objects "Dog"
end)

scenario("group_by refuses values without an order", function()
  store:define { Dog = { "...", owner = "Dog", photo = "data?", friends = "Dog[]" } }
  for _, path in ipairs { "owner", "photo", "friends", "friends.id", "" } do fails("invalid_query", dogs.group_by, dogs, path) end
  fails("unknown_property", dogs.group_by, dogs, "nothing")
  for _, key in ipairs { 3, {} } do
    local sections = dogs:group_by "breed"
    fails("type_mismatch", sections.objects, sections, key)
    fails("type_mismatch", sections.index_of, sections, key)
  end
  assert(not pcall(dogs.group_by, dogs, "breed", "sideways"))
  assert(not pcall(dogs.group_by, dogs))
  local ok, err = pcall(function() dogs:group_by("breed")[1] = 5 end)
  assert(not ok and err.code == "invalid_argument")
end)

scenario("sections are counted, indexed, iterated and found", function()
  local sections = dogs:group_by("breed")
  assert(#sections == 3 and sections[0] == nil and sections[4] == nil)
  assert(sections[1].key == nil and #sections[1].objects == 1)
  assert(sections[2].key == "mutt" and sections[3].key == "pug")
  equal(sections[3].objects[2].id, 3)
  local seen = {}
  for i, section in ipairs(sections) do seen[i] = tostring(section.key) .. #section.objects end
  equal(table.concat(seen, " "), "nil1 mutt1 pug2")
  seen = {}
  for i, section in pairs(sections) do seen[i] = section.key or "-" end
  equal(table.concat(seen, " "), "- mutt pug")
  assert(sections:keys()[1] == moonpool.null and sections:keys()[3] == "pug")
  assert(sections:index_of "mutt" == 2 and sections:index_of(nil) == 1 and sections:index_of "x" == nil)
  equal(#sections:objects "pug", 2)
  equal(dogs:group_by("breed", "desc")[1].key, "pug")
  equal(tostring(sections), "Sections of Dog by breed (3)")
  local frozen = sections:freeze()
  store:write(function() store:delete(dogs[4]) end)
  assert(#sections == 2 and #frozen == 3 and frozen:is_frozen() and sections:is_valid())
end)

scenario("sections follow the data, including links and limits", {
  Dog = { { "name", "string" }, { "breed", "string" }, { "owner", "Person" } }, Person = { name = "string" },
}, function()
  local dogs = store:objects "Dog"
  store:write(function() for n, name in ipairs { "a", "b", "c" } do store:create("Dog", { name, n < 3 and "x" or "y" }) end end)
  local sections = dogs:group_by "breed"
  local first = sections[1].objects
  equal(#first, 2)
  store:write(function() dogs[1].breed = "y" end)
  assert(#first == 1 and #sections[2].objects == 2)
  local function sizes(of) return of:keys(), #of[1].objects, of[2] and #of[2].objects end
  equal({ sizes(dogs:limit(2):group_by "breed") }, { { "x", "y" }, 1, 1 })
  equal({ sizes(dogs:distinct("breed"):group_by "name") }, { { "a", "b" }, 1, 1 })
  equal(dogs:sorted("name", "desc"):group_by("breed")[2].objects:map(function(dog) return dog.name end), { "c", "a" })
  store:write(function() dogs[3].owner = store:create("Person", { name = "Ann" }) end)
  equal({ sizes(dogs:group_by "owner.name") }, { { moonpool.null, "Ann" }, 2, 1 })
end)

scenario("sections by several paths have arrays as keys, and follow changes", function()
  store:define { Cat = { id = "int primary", color = "string?", age = "int?", x = "mixed", owner = "Dog" } }
  local function cat(id, color, age, x)
    return store:write(function() return store:create("Cat", { id = id, color = color, age = age, x = x, owner = dogs[id] }) end)
  end
  local cats = { cat(1, "red", 3, 1), cat(2, "red", 5, 1.0), cat(3, nil, 5, "a"), cat(4, "red", 5), cat(5, "blue", 3) }
  local all = store:objects "Cat"
  local function text(sections)
    local texts = {}
    for _, section in ipairs(sections) do
      local ids = {}
      for _, c in ipairs(section.objects) do ids[#ids + 1] = c.id end
      for i = 1, #section.key do texts[#texts + 1] = tostring(section.key[i]) end
      texts[#texts + 1] = "(" .. table.concat(ids, " ") .. ")"
    end
    return table.concat(texts, " ")
  end
  local function check(sections, want) local got = text(sections) equal(got, want) end
  local sections = all:group_by { "color", { "age", "desc" } }
  check(sections, "null 5 (3) blue 3 (5) red 5 (2 4) red 3 (1)")
  check(all:group_by { { "color", "desc" }, "x" }, "red null (4) red 1 (1 2) blue null (5) null a (3)")
  check(all:group_by { "owner.breed", "age" }, "null 3 (5) null 5 (4) mutt 5 (2) pug 3 (1) pug 5 (3)")
  check(all:where("age > 3"):sorted("id", "desc"):group_by { "age", "color" }, "5 null (3) 5 red (4 2)")
  equal(all:group_by({ { "age", "desc" } })[1].key, 5)
  equal(tostring(sections), "Sections of Cat by color, age (4)")
  assert(sections:keys()[3] == sections[3].key and sections:index_of(sections[3].key) == 3)
  assert(#sections:objects { "red", 5 } == 2 and #sections:objects { moonpool.null, 5 } == 1 and #sections:objects { "red", 9 } == 0)
  assert(code(sections.objects, sections, "red") == "type_mismatch" and code(sections.objects, sections, { "red" }) == "type_mismatch")
  fails("type_mismatch", sections.objects, sections, { "red", "old" })
  assert(code(all.group_by, all, {}) == "invalid_query" and code(all.group_by, all, { "color", "nope" }) == "unknown_property")
  local log, sums = {}, {}
  local token = sections:observe(function(change)
    log[#log + 1] = change.type .. "-" .. table.concat(change.section_deletions, ",") .. "+" .. table.concat(change.section_insertions, ",")
    for _, s in ipairs(change.sections) do
      log[#log] = log[#log] .. " " .. tostring(s.key[1]) .. s.key[2] .. ":" .. #s.deletions .. #s.insertions
        .. #s.modifications
    end
  end)
  local aggregate = sections:observe_aggregate("count", function(groups) for key, group in pairs(groups) do sums[key] = group.new end end)
  turn()
  equal(sums[sections[3].key], 2)
  store:write(function() cats[1].age = 5 end) turn()
  equal(log[2], "update-4+ red5:010")
  equal(sums[sections[3].key], 3)
  store:write(function() cats[3].color = "white" end) turn()
  equal(log[3], "update-1+3")
  check(sections, "blue 3 (5) red 5 (1 2 4) white 5 (3)")
  check(sections:freeze(), "blue 3 (5) red 5 (1 2 4) white 5 (3)")
  local runs, computed = 0
  local effect <close> = moonpool.effect(function() runs = runs + 1 computed = #sections:keys() end)
  store:write(function() cats[5].age = 4 end) turn()
  equal(runs, 2)
  store:write(function() cats[5].color = "red" cats[5].age = 5 end) turn()
  assert(runs == 3 and computed == 2)
end)

scenario("sections are observed", function()
  local sections, calls = dogs:group_by("breed"), {}
  local token = sections:observe(function(change) calls[#calls + 1] = change end)
  turn()
  assert(#calls == 1 and calls[1].type == "initial" and #calls[1].collection == 3)
  store:write(function()
    dogs[1].breed = "husky"
    dogs[3].about = "changed"
    store:delete(dogs[4])
  end)
  turn()
  local change = calls[2]
  equal(change.type, "update")
  assert(#change.section_deletions == 1 and change.section_deletions[1] == 1)
  assert(#change.section_insertions == 1 and change.section_insertions[1] == 1)
  equal(#change.sections, 1)
  local pugs = change.sections[1]
  assert(pugs.key == "pug" and pugs.section_before == 3 and pugs.section == 3)
  assert(pugs.deletions[1] == 1 and pugs.modifications[1] == 2 and pugs.modifications_new[1] == 1)
  assert(not pcall(function() sections:freeze():observe(print) end))
end)

scenario("an observer of sections with key paths receives a row that changes its section", {
  Dog = { { "name", "string" }, { "breed", "string" }, { "age", "int?" }, { "friends", "Dog[]" } },
}, function()
  local dogs = store:objects "Dog"
  store:write(function() for n, name in ipairs { "a", "b", "c" } do store:create("Dog", { name, n < 3 and "x" or "y" }) end end)
  local calls = {}
  local token <close> = dogs:group_by("breed"):observe(function(change)
    local text = #change.section_deletions .. #change.section_insertions
    for _, rows in ipairs(change.sections) do
      text = text .. (" %s:%s/%s/%s"):format(rows.section, table.concat(rows.deletions, ","), table.concat(rows.insertions, ","),
        table.concat(rows.modifications, ","))
    end
    calls[#calls + 1] = text
  end, { keypaths = "name" })
  turn()
  for _, change in ipairs { { breed = "y" }, { age = 5 }, { name = "z" } } do
    store:write(function() dogs[2]:update(change) end)
    turn()
  end
  equal(calls, { "00", "00 1:2// 2:/1/", "00 2://1" })
end)

scenario("deleting the owner of a list causes the last call of its sections", {
  Dog = { { "breed", "string" }, { "friends", "Dog[]" } },
}, function()
  local rex = store:write(function() return store:create("Dog", { "x", { { "y" } } }) end)
  local calls, last = 0, nil
  local token = rex.friends:group_by("breed"):observe(function(change) calls, last = calls + 1, change end)
  turn()
  store:write(function() store:delete(rex) end)
  turn()
  equal(last.section_deletions, { 1 })
  assert(calls == 2 and not last.collection:is_valid() and not token.is_valid)
end)

scenario("indexes over several properties are declared and used", function()
  store:define { Cat = { name = "string", age = "int", indexes = { {"name", "age"} } } }
  store:define { Cow = { { "name", "string" }, { "age", "int" }, indexes = { {"age", "name"} } } }
  equal(store:schema "Cat".indexes[1][2], "age")
  equal(store:schema "Cow".indexes[1][1], "age")
  store:define { Ape = store:schema "Cat", Hen = { indexes = "int" }, Pig = { indexes = { type = "int" }, a = "int" } }
  assert(store:schema "Ape".indexes[1][1] == "name" and store:schema "Hen".indexes == "int")
  equal(store:schema "Pig".indexes, "int")
  local function refused(part, indexes, more)
    local class = { name = "string", photo = "data", marks = "int[]", indexes = indexes }
    if more then class = { { "name", "string" }, { "indexes", "int" }, indexes = indexes } end
    fails("invalid_schema: " .. part, store.define, store, { Bad = class })
  end
  for _, wrong in ipairs { { "name" }, { { 1 } } } do refused("", wrong) end
  refused('for one property, use "indexed"', { { "name" } })
  refused("an array of arrays of property names", { {} })
  refused("twice", { { "name", "name" } })
  refused("not a property", { { "name", "x" } })
  refused("'photo' is data", { { "name", "photo" } })
  refused("'marks' is int[]", { { "name", "marks" } })
  refused("called 'indexes'", { { "name", "indexes" } }, true)
  fails("invalid_schema: declares an index twice", store.define, store,
    { Bad = { name = "string", age = "int", indexes = { { "name", "age" }, { "name", "age" } } } })
  store:define { Fox = {
    id = "int primary", name = "string?", age = "int?", good = "bool", score = "double",
    indexes = { { "name", "age" }, { "good", "score", "name" } },
  } }
  for predicate, part in pairs {
    ["name == 'a' and age == 3"] = "'name', 'age' together in an index", ["name == 'a' and age > 3"] = "'name', 'age' together",
    ["age > 3 and name == nil"] = "'name', 'age' together", ["good == true and score < 2"] = "'good', 'score' together",
    ["name == 'a' and score > 3"] = false, ["name == 'a' or age == 3"] = false,
    ["id == 5 and name == 'a' and age == 3"] = "looks up 1 value in the unique index for: id == 5",
  } do
    local plan = store:objects "Fox":where(predicate):explain()
    assert(plan:find(part or "together", 1, true) and part or not part and not plan:find("together", 1, true), predicate .. plan)
  end
end)

-- The keys of sections and groups are keys of tables, and find their section.

scenario("objects as keys are one userdata in each version", { A = { id = 'int primary', key = 'mixed' } }, function()
  local a = store:write(function()
    local a = store:create("A", { id = 1 })
    a.key = a
    store:create("A", { id = 2, key = a })
    return a
  end)
  local live = store:objects("A"):group_by "key"
  local frozen = live:freeze()
  assert(#live == 1 and rawequal(live[1].key, live:keys()[1]) and not live[1].key:is_frozen())
  assert(rawequal(frozen[1].key, frozen:keys()[1]) and frozen[1].key:is_frozen())
  assert(live:index_of(a) == 1 and live:index_of(live[1].key) == 1)
end)

for type, values in pairs {
  ["double?"] = { 0 / 0, 0 / 0, 1.5, 2, moonpool.null }, ["float?"] = { 0 / 0, 0 / 0, 1.5, 2, moonpool.null },
  ["decimal?"] = { moonpool.decimal "NaN", moonpool.decimal "1.0", moonpool.decimal "1.00" },
  ["date?"] = { moonpool.date "2024-01-01", moonpool.date "2024-01-02", moonpool.null },
  ["uuid?"] = { moonpool.uuid(), moonpool.uuid(), moonpool.null },
  ["object_id?"] = { moonpool.object_id(), moonpool.object_id(), moonpool.null },
  ["string?"] = { "a", "", moonpool.null }, ["bool?"] = { true, false, moonpool.null }, ["int?"] = { 1, 2, moonpool.null },
  mixed = { 0/0, 1, 1.0, moonpool.decimal '1', moonpool.decimal '0.1', moonpool.uuid(),
    moonpool.date '2024-01-01', 'a', moonpool.data 'a', moonpool.data '\xff', true, { 1 }, { 1, 0/0 }, { k = 1 }, moonpool.null },
} do
  scenario("a key is one value, also for NaN, data and equal userdata: " .. type,
    { A = { id = "int primary", key = type, v = "int" } }, function()
      local N = moonpool.null
      store:write(function()
        for i, key in ipairs(values) do
          store:create("A", { id = 2 * i, key = key, v = 1 })
          store:create("A", { id = 2 * i + 1, key = key, v = 2 })
        end
      end)
      local all = store:objects "A"
      local sections, other = all:group_by "key", all:where("v > 0"):group_by("key", "desc")
      local groups, sizes, calls = {}, {}, 0
      local token <close> = sections:observe_aggregate("sum", "v", function(changes)
        calls = calls + 1
        for key, group in pairs(changes) do groups[key] = group.new end
      end)
      local changed
      local observer <close> = sections:observe(function(change)
        for _, section in ipairs(change.sections) do changed = section.key == nil and N or section.key end
      end)
      store:refresh()
      for i, section in ipairs(sections) do
        local key = section.key == nil and N or section.key
        assert(rawequal(key, sections:keys()[i]) and sizes[key] == nil)
        sizes[key] = #section.objects
        assert(rawequal(key, other:keys()[#other + 1 - i]))
        assert(groups[key] == section.objects:sum "v", tostring(key))
        assert(sections:index_of(key) == i and #sections:objects(key) == #section.objects, tostring(key))
        store:write(function() section.objects[1].v = 5 end)
        store:refresh()
        assert(groups[key] == section.objects:sum "v" and rawequal(changed, key), tostring(key))
      end
      local count = 0
      for _ in pairs(groups) do count = count + 1 end
      assert(count == #sections and calls == count + 1)
    end)
end

scenario("values of every type are stored and read", function()
  local when = moonpool.date "2026-11-20T10:00:00.25Z"
  local tag = moonpool.uuid "01234567-89ab-cdef-0123-456789abcdef"
  local code = moonpool.object_id "0123456789abcdef01234567"
  local rex = dog { age = 3, score = 1.5, born = when, tag = tag, raw = "\xff\0", weight = 0.5, code = code }
  assert(rex.id == 1 and rex.name == "Rex" and rex.age == 3 and rex.score == 1.5 and rex.good == true)
  assert(math.type(rex.age) == "integer" and math.type(rex.score) == "float")
  assert(rex.born == when and rex.born.year == 2026 and tostring(rex.born) == "2026-11-20T10:00:00.25Z")
  assert(rex.tag == tag and rex.code == code and rex.raw == "\xff\0" and rex.weight == 0.5)
  equal(rex.breed, "mutt")
  assert(rex.owner == nil and #rex.toys == 0 and #rex.marks == 0)
  store:write(function()
    rex.age = nil rex.name = "Max" rex.score = 7 rex.good = false rex.born = nil
    rex.raw = moonpool.data "abc" rex.tag = moonpool.null
  end)
  assert(rex.age == nil and rex.name == "Max" and rex.score == 7.0 and rex.good == false)
  assert(rex.born == nil and rex.raw == "abc" and rex.tag == nil)
end)

scenario("links, lists and backlinks contain the same objects", function()
  local rex = dog { owner = { name = "Ann" }, toys = { { label = "ball", price = 2 }, { "bone", 1.5 } }, marks = { 3, 1, 2 } }
  local ann = rex.owner
  assert(ann.name == "Ann" and ann == store:object("Person", "Ann"))
  assert(#ann.owned == 1 and ann.owned[1] == rex)
  assert(#rex.toys == 2 and rex.toys[1].label == "ball" and rex.toys[2].price == 1.5 and rex.toys[3] == nil)
  equal(rex.marks:to_table(), { 3, 1, 2 })
  store:write(function()
    rex.marks:append(9, 8)
    rex.marks:insert(1, 0)
    rex.marks[2] = 33
    rex.marks:remove(3)
    rex.marks:move(1, 2)
    rex.marks:swap(1, 2)
    ann.dogs = { rex }
    ann.dogs:append(rex)
    rex.notes = { "a" }
  end)
  equal(rex.marks:to_table(), { 0, 33, 2, 9, 8 })
  assert(rex.marks:index_of(9) == 4 and rex.marks:index_of(9.0) == 4 and rex.marks:index_of(5) == nil)
  assert(rex.marks:contains(8) and not rex.marks:contains("x"))
  assert(#ann.dogs == 2 and ann.dogs[2] == rex and ann.dogs:count() == 2)
  equal(ann.dogs:where("name == 'Rex'"):count(), 2)
  local sum = 0
  for i, mark in ipairs(rex.marks) do sum = sum + i * mark end
  equal(sum, 0 + 66 + 6 + 36 + 40)
  store:write(function() rex.marks:clear() store:delete(ann) end)
  assert(#rex.marks == 0 and rex.owner == nil)
end)

scenario("creation accepts names, schema order, modes and unmanaged objects", function()
  local toy = store:write(function() return store:create("Toy", { "ball", 2 }) end)
  assert(toy.label == "ball" and toy.price == 2.0)
  local rex = dog()
  fails("duplicate_key", dog)
  store:write(function()
    local again = store:create("Dog", { id = 1, name = "Max", score = 1, good = true }, "modified")
    assert(again == rex and rex.name == "Max")
  end)
  local person = moonpool.new("Person", { name = "Bob" })
  person.dogs = { rex }
  assert(person.name == "Bob" and tostring(person):find("unmanaged"))
  local bob = store:write(function() return store:add(person) end)
  assert(bob.dogs[1] == rex and moonpool.class_of(bob) == "Person" and moonpool.class_of(person) == "Person")
  fails("invalid_argument", function() store:write(function() store:create("Dog", { id = 2 }, "wild") end) end)
  fails("invalid_argument", moonpool.observe, moonpool.new("Person"), print)
end)

scenario("an error of a creation contains the line of the call", function()
  for code, wanted in pairs {
    ["store:create('Dgo', {})"] = "no class 'Dgo'",
    ["store:create('Dog', { nmae = 1 })"] = "no property 'nmae'",
    ["store:create('Dog', { id = {} })"] = "expects int",
  } do
    local ok, err = pcall(store.write, store, load(code, "@here.lua"))
    assert(not ok and tostring(err):find("here.lua:1: ", 1, true) == 1, tostring(err))
    assert(tostring(err):find(wanted, 1, true), tostring(err))
  end
  assert(not pcall(store.create, store, "Dgo", {}))
end)

scenario("objects print, compare, copy and iterate in schema order", function()
  local toy = store:write(function() return store:create("Toy", { label = "ball", price = 2 }) end)
  equal(tostring(toy), 'Toy { label = "ball", price = 2.0 }')
  local names = {}
  for name, value in pairs(toy) do names[#names + 1] = name end
  equal(names, { "label", "price" })
  local rex = dog { owner = { name = "Ann" }, toys = { toy } }
  assert(rex == store:object("Dog", 1) and rex ~= toy and rex ~= 1)
  local copy = rex:to_table(2)
  assert(copy.owner.name == "Ann" and copy.toys[1].label == "ball" and copy.breed == "mutt")
  equal(rex:to_table().owner, rex.owner)
  assert(rex.class == "Dog" and rex.store == store)
  fails("not_in_write", function() store:object('Dog', 1):update { name = 'x' } end)
  local rex = store:object("Dog", 1)
  store:write(function() equal(rex:update { name = "Tim", age = 4 }, rex) store:delete(rex) end)
  assert(not rex:is_valid() and tostring(rex) == "Dog (deleted)")
  fails("invalid_object", function() return rex.name end)
  fails("invalid_object", function() return rex.toys end)
  fails("invalid_object", function() store:write(function() rex.name = "x" end) end)
  fails("invalid_object", function() for k in pairs(rex) do end end)
end)

scenario("a property hides a method, which is still usable as a function", {
  Dog = { id = 'int primary', update = 'string', class = 'string', observe = 'int' },
}, function()
  local rex = store:write(function() return store:create("Dog", { id = 1, update = "now", class = "a", observe = 5 }) end)
  assert(rex.update == "now" and rex.class == "a" and rex.observe == 5)
  store:write(function() moonpool.update(rex, { update = "later" }) end)
  assert(rex.update == "later" and moonpool.class_of(rex) == "Dog" and moonpool.is_valid(rex))
  assert(moonpool.observe(rex, print).is_valid)
end)

scenario("a mix of named and unnamed values creates no object", function()
  store:write(function()
    for _, values in ipairs { { "ball", price = 2 }, { "ball", 2, price = 3 }, { "ball", 2, nonsense = 1 } } do
      fails("invalid_argument", store.create, store, "Toy", values)
      fails("invalid_argument", store.create, store, "Dog", { id = 1, toys = { values } })
    end
    equal(message(store.create, store, "Toy", { "ball", price = 2 }), "the values of a 'Toy' are either all named or all in the order of its properties")
  end)
  assert(#store:objects "Toy" == 0 and #store:objects "Dog" == 0)
  -- A nil between others is a value that is not there.
  local wrong = message(store.write, store, function() store:create("Toy", { nil, 2 }) end)
  assert(not wrong:find("either all named", 1, true), wrong)
end)

scenario("listed values are stored and refused as named ones", function()
  store:define { Mix = { { "id", "int primary" }, { "name", "string?" }, { "score", "double" },
    { "on", "bool" }, { "tags", "string[]" }, { "counts", "int{}" }, { "next", "Mix" }, { "any", "mixed" },
    { "at", "date?" }, { "toys", "Toy[]" } } }
  local null = moonpool.null
  local names = { "id", "name", "score", "on", "tags", "counts", "next", "any", "at", "toys" }
  local values = { {}, { "Rex", null }, { 1, 2.5 }, { true }, { { "a", "b" } }, { { x = 1 } },
    { null }, { 7, "text", { 1 } }, { moonpool.date "2020-01-02" }, { { { "ball", 2 } } } }
  local wrong = { "x", 1, "x", 1, { 1 }, { x = "y" }, 5, print, "x", { { 1, 2 } } }
  local id = 0
  local function both(listed)
    local results = {}
    for form = 1, 2 do
      id = id + 1
      listed[1] = listed[1] and id
      local given = {}
      for i, value in pairs(listed) do given[form == 1 and i or names[i]] = value end
      local ok, object = pcall(store.write, store, function() return store:create("Mix", given) end)
      local texts = { ok and "" or object.code }
      for i = 2, ok and #names or 0 do
        local value = object[names[i]]
        local parts = { tostring(value) }
        if names[i] == "tags" then for j = 1, #value do parts[j + 1] = value[j] end end
        if names[i] == "toys" then parts = { #value, #value > 0 and value[1].label or "" } end
        if names[i] == "counts" or names[i] == "tags" then parts[1] = "" .. #value end
        if names[i] == "any" and type(value) == "userdata" then parts = { "" .. #value } end
        texts[i] = table.concat(parts, ",")
      end
      results[form] = table.concat(texts, ";")
    end
    equal(results[1], results[2])
    return results[1]
  end
  for count = 1, #names do
    for choice = 1, 3 do
      local listed = { 0 }
      for i = 2, count do listed[i] = values[i][choice] or values[i][1] end
      local result = both(listed)
      assert(result:sub(1, 1) == ";" or count < 4, result)
      if count > 1 then
        listed[count] = wrong[count]
        both(listed)
      end
    end
  end
  local many = { 1000, "x", 1, true, {}, {}, null, 1, null, {}, 1 }
  equal(message(store.write, store, function() store:create("Mix", many) end), "'Mix' has 10 properties, got 11 values")
end)

scenario("a caught error leaves no linked object of the failed creation", function()
  local toys = { { "ball", 1 }, { label = "bone", price = "dear" } }
  local observed = 0
  local token = store:objects("Toy"):observe(function(change)
    if change.type == "update" then observed = observed + 1 end
  end)
  local rex = dog()
  store:write(function()
    fails("type_mismatch", store.create, store, "Dog", { id = 2, name = "Max", score = 1, good = true, toys = toys })
    fails("type_mismatch", function() rex.toys = toys end)
    fails("type_mismatch", function() rex.toys:append(toys[1], toys[2]) end)
    assert(code(function() rex.owner = { name = "Ann", dogs = { { id = 1 } } } end) ~= "no error")
    assert(#store:objects "Toy" == 0 and #store:objects "Person" == 0 and #rex.toys == 0)
  end)
  turn()
  assert(observed == 0 and #store:objects "Dog" == 1)
  token:invalidate()
end)

scenario("classes are defined on a live store, and objects have the new properties", function()
  local rex = dog()
  store:define { Dog = { id = "int primary", name = "string", age = "int?", score = "double", good = "bool",
    born = "date?", tag = "uuid?", raw = "data?", weight = "float?", code = "object_id?", owner = "Person",
    toys = "Toy[]", marks = "int[]", notes = "string?[]", breed = { type = "string", indexed = true, default = "mutt" },
    nick = "string?" }, Cat = { name = "string" } }
  equal(rex.nick, nil)
  store:write(function() rex.nick = "R" store:create("Cat", { name = "Tom" }) end)
  assert(rex.nick == "R" and store:objects("Cat"):first().name == "Tom")
  local schema = store:schema()
  assert(schema.Dog.id == "int primary" and schema.Dog.breed.default == "mutt" and schema.Dog.toys == "Toy[]")
  assert(schema.Person.owned == "backlinks Dog.owner" and store:schema("Cat").name == "string")
end)

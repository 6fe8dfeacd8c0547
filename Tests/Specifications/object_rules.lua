-- How objects are created, updated and deleted: values, defaults, primary keys, links and lists.

schema {
  Person = {
    { "id", "int primary" }, { "name", "string" }, { "age", "int?" }, { "height", { type = "double", default = 1.5 } },
    { "dogs", "Dog[]" }, { "numbers", "int?[]" },
  },
  Dog = { { "name", "string" }, { "owner", "Person" }, { "owners", "backlinks Person.dogs" } },
}

local function person(id, more)
  local values = { id = id, name = "P" .. id }
  for key, value in pairs(more or {}) do values[key] = value end
  return store:create("Person", values)
end

scenario("nested values create the linked objects", function()
  local owner = store:write(function()
    return person(1, { dogs = { { name = "Rex" }, { "Max" } }, numbers = { 1, moonpool.null, 3 } })
  end)
  assert(#owner.dogs == 2 and owner.dogs[1].name == "Rex" and owner.dogs[2].name == "Max")
  equal(owner.dogs[1].owners, { owner })
  assert(#owner.numbers == 3 and owner.numbers[1] == 1 and owner.numbers[2] == nil and owner.numbers[3] == 3)
end)

scenario("defaults replace missing values, and a required property cannot be nil", function()
  store:write(function()
    local made = person(1)
    assert(made.height == 1.5 and made.age == nil)
    fails("missing_value: 'Person.name'", store.create, store, "Person", { id = 2 })
    fails("missing_value", person, 3, { name = moonpool.null })
  end)
  equal(#store:objects "Person", 1)
end)

local types = { "bool", "int", "float", "double", "string", "data", "date", "uuid", "object_id" }

local function all_types(suffix)
  local class = {}
  for n, type in ipairs(types) do class[n] = { "p" .. n, type .. suffix } end
  return class
end

scenario("every type keeps its values", { Everything = all_types "", Maybe = all_types "?" }, function()
  local bytes = {}
  for n, data in ipairs { "\0\xff\1", "", ("\7"):rep(5000) } do bytes[n] = moonpool.data(data) end
  local rows = {
    { true, math.maxinteger, 1.5, -0.25, "grün 🐕", bytes[1], moonpool.date(-0.000005), moonpool.uuid(),
      moonpool.object_id() },
    { false, math.mininteger, -math.huge, 1.7976931348623157e308, "", bytes[2], moonpool.date "9999-12-31",
      moonpool.uuid "00000000-0000-0000-0000-000000000000", moonpool.object_id "000000000000000000000000" },
    { true, 0, 0.0, 0.0, ("long "):rep(2000), bytes[3], moonpool.date(0), moonpool.uuid(), moonpool.object_id() },
  }
  for _, class in ipairs { "Everything", "Maybe" } do
    for _, row in ipairs(rows) do
      local object = store:write(function() return store:create(class, row) end)
      for n, value in ipairs(row) do
        local found = object["p" .. n]
        assert(found == value or type(found) == "string" and found == tostring(value), class .. " " .. types[n])
      end
    end
  end
  local empty = store:write(function() return store:create "Maybe" end)
  for n in ipairs(types) do equal(empty["p" .. n], nil) end
end)

scenario("a wrong type names property, class and both types", function()
  store:begin_write()
  fails("type_mismatch: property 'age' of 'Person' expects int?, got string", person, 1, { age = "old" })
  fails("type_mismatch", person, 1, { age = 1.5 })
  fails("unknown_property", person, 1, { agee = 1 })
  fails("unknown_class", store.create, store, "Persn", { id = 1 })
  local made = person(1, { age = 3.0, height = 2 })
  assert(math.type(made.age) == "integer" and made.age == 3 and math.type(made.height) == "float" and made.height == 2)
  fails("invalid_argument", function() made.id = 2 end)
  store:cancel_write()
end)

scenario("update all sets the given values, even equal ones, without defaults", function()
  store:write(function()
    local first = person(1, { height = 2, age = 9 })
    equal(store:create("Person", { id = 1, age = 10 }, "all"), first)
    assert(first.height == 2 and first.name == "P1" and first.age == 10)
    fails("invalid_argument: no primary key", store.create, store, "Dog", { name = "Rex" }, "all")
  end)
end)

scenario("the same new key twice in one list is one object with the last values", {
  Toy = { { "id", "int primary" }, { "name", "string" } }, Box = { { "id", "int primary" }, { "toys", "Toy[]" } },
}, function()
  store:write(function()
    local toys = store:create("Box", { 1, { { 5, "a" }, { 5, "b" } } }, "all").toys
    assert(#toys == 2 and toys[1] == toys[2] and store:object("Toy", 5).name == "b")
  end)
end)

scenario("deleting a target clears links and lists, but not the reverse", function()
  local owner, rex = store:write(function()
    local owner = person(1)
    local rex, max = store:create("Dog", { name = "Rex", owner = owner }), store:create("Dog", { name = "Max" })
    owner.dogs:append(rex, max, rex)
    return owner, rex
  end)
  equal(rex.owners, { owner, owner })
  store:write(function() store:delete(rex) end)
  local list = owner.dogs
  equal(#list, 1)
  store:write(function() store:delete(owner) end)
  assert(not list:is_valid() and #store:objects "Dog" == 1)
  fails("invalid_object", function() return #list end)
end)

scenario("reading and writing a deleted object are errors", function()
  local rex = store:write(function() return store:create("Dog", { name = "Rex" }) end)
  store:write(function() store:delete(rex) end)
  assert(not rex:is_valid())
  fails("invalid_object: was deleted", function() return rex.name end)
  store:write(function()
    fails("invalid_object", function() rex.name = "x" end)
    fails("invalid_object", store.delete, store, rex)
    fails("invalid_object", person, 1, { dogs = { rex } })
  end)
end)

scenario("list edits out of range are errors", function()
  store:write(function()
    local list = person(1).numbers
    list:append(1, 2)
    fails("out_of_range: index 4 is outside the list", list.insert, list, 4, 9)
    fails("out_of_range", function() list[3] = 9 end)
    fails("out_of_range", list.remove, list, 0)
    fails("type_mismatch", list.append, list, "x")
    list:insert(1, 0)
    list:insert(4, moonpool.null)
    list:move(1, 4)
    equal(list:to_table(), { 1, 2, moonpool.null, 0 })
    list:swap(1, 4)
    equal(list:to_table(), { 0, 2, moonpool.null, 1 })
    list:remove(2)
    list[2] = 7
    equal(list, { 0, 7, 1 })
    equal(list:index_of(7), 2)
    list:clear()
    equal(#list, 0)
  end)
end)

scenario("values can nest 100 objects, and infinite nesting is an error", {
  Root = { node = "Node", part = "Part" }, Node = { next = "Node" }, Part = { embedded = true, next = "Part" },
}, function()
  local function chain(length)
    local values = {}
    for _ = 2, length do values = { next = values } end
    return values
  end
  store:write(function()
    fails("invalid_argument: nested", store.create, store, "Node", chain(501))
    for _, name in ipairs { "node", "part" } do
      store:create("Root", { [name] = chain(99) })
      fails("invalid_argument: 100", store.create, store, "Root", { [name] = chain(102) })
    end
    assert(#store:objects "Root" == 2 and #store:objects "Node" == 99)
  end)
end)

schema {
  Dog = {
    { "id", "int primary" }, { "age", { type = "int?", default = 7 } }, { "name", { type = "string", default = "Rex" } },
    { "marks", "int[]" }, { "friends", "Dog[]" }, { "best", "Dog" },
  },
}

local function a_dog(id, more, mode)
  local values = { id = id }
  for key, value in pairs(more or {}) do values[key] = value end
  return store:create("Dog", values, mode)
end

scenario("an explicit nil overrides the default, and is an error for a required property", function()
  store:write(function()
    equal(a_dog(1).age, 7)
    equal(a_dog(2, { age = moonpool.null }).age, nil)
    fails("missing_value: 'name' of 'Dog'", a_dog, 3, { name = moonpool.null })
    equal(#store:objects "Dog", 2)
  end)
end)

scenario("a default replaces a missing key, not an explicit nil", { A = { id = { type = "int? primary", default = 7 } } }, function()
  store:write(function()
    equal(store:create("A", {}).id, 7)
    equal(store:create("A", { id = moonpool.null }).id, nil)
    fails("duplicate_key", store.create, store, "A", {})
  end)
end)

for type, zero in pairs {
  int = 0, string = "", uuid = moonpool.uuid(("0"):rep(8) .. ("-0000"):rep(3) .. "-" .. ("0"):rep(12)),
  object_id = moonpool.object_id(("0"):rep(24)),
} do
  scenario("only one object can have a nil key: " .. type, { A = { id = type .. "? primary" } }, function()
    local null = moonpool.null
    store:write(function()
      local empty, first = store:create("A", { id = null }), store:create("A", { id = zero })
      assert(empty ~= first and store:object("A", null) == empty and store:object("A", zero) == first)
      fails("duplicate_key", store.create, store, "A", { id = null })
      fails("duplicate_key", store.create, store, "A", { id = zero })
      equal(store:create("A", { id = null }, "all"), empty)
      store:delete(empty)
      assert(store:object("A", null) == nil and store:object("A", zero) == first)
    end)
  end)
end

scenario("a missing or nil list is an empty one", function()
  store:write(function()
    for id, values in ipairs { {}, { marks = moonpool.null, friends = moonpool.null } } do
      local made = a_dog(id, values)
      assert(#made.marks == 0 and #made.friends == 0)
    end
    local rex = a_dog(3, { marks = { 1 } })
    a_dog(3, { marks = moonpool.null }, "all")
    equal(#rex.marks, 0)
  end)
end)

scenario("int, string, uuid and object_id can be primary keys, also optional; other types cannot", function()
  for n, type in ipairs { "int", "string", "uuid", "object_id", "int?", "string?", "uuid?", "object_id?" } do
    store:define { ["Right" .. n] = { key = type .. " primary" } }
    assert(store:schema("Right" .. n).key:find "primary")
  end
  for _, type in ipairs { "bool", "float", "double", "date", "data" } do
    fails("invalid_schema: 'Wrong.key' is a primary key of type", store.define, store,
      { Wrong = { key = type .. " primary" } })
  end
end)

scenario("an update replaces a list and does not merge it", function()
  store:write(function()
    local rex = a_dog(1, { marks = { 1, 2, 3 } })
    for _, mode in ipairs { "all", "modified" } do
      a_dog(1, { marks = { 9 } }, mode)
      equal(rex.marks, { 9 })
      a_dog(1, { marks = { 1, 2 } }, mode)
      equal(rex.marks, { 1, 2 })
    end
  end)
end)

scenario("setting a property of all results affects the initial results", function()
  store:write(function()
    for id = 1, 4 do a_dog(id, { age = id % 2 }) end
    local even = store:objects("Dog"):where "age == 0"
    even:update { age = 42 }
    assert(#even == 0 and #store:objects("Dog"):where "age == 42" == 2)
    local rex = store:objects("Dog"):first()
    fails("unknown_property", rex.update, rex, { agee = 1 })
    fails("invalid_argument", rex.update, rex, { id = 100 })
  end)
end)

scenario("objects of results stay with their variables, deleted ones as invalid", function()
  store:write(function()
    for id = 1, 3 do a_dog(id) end
    local all = store:objects "Dog"
    local objects = { all[1], all[2], all[3] }
    store:delete(objects[2])
    assert(objects[1]:is_valid() and not objects[2]:is_valid() and objects[3]:is_valid() and #all == 2)
    fails("unknown_class: did you mean 'Dog'", store.create, store, "Dgo", {})
  end)
end)

scenario("a list assigned to itself keeps its contents", function()
  store:write(function()
    local max = a_dog(2)
    local rex = a_dog(1, { marks = { 3, 1 }, friends = { max, max } })
    rex.marks, rex.friends = rex.marks, rex.friends
    equal(rex.marks, { 3, 1 })
    equal(rex.friends, { max, max })
    assert(max:is_valid())
  end)
end)

scenario("removing from a list keeps the object, deleting a list deletes the objects", function()
  store:write(function()
    local others = { a_dog(2), a_dog(3), a_dog(4) }
    local rex = a_dog(1, { friends = others })
    rex.friends:remove(1)
    assert(others[1]:is_valid())
    store:delete(rex.friends)
    assert(others[1]:is_valid() and not others[2]:is_valid() and not others[3]:is_valid())
    assert(#rex.friends == 0 and rex:is_valid())
  end)
end)

scenario("a deleted object leaves every list and link that contains it", function()
  store:write(function()
    local max = a_dog(2)
    local rex = a_dog(1, { friends = { max, max }, best = max })
    local cleo = a_dog(3, { friends = { rex, max } })
    store:delete(max)
    assert(#rex.friends == 0 and rex.best == nil)
    equal(cleo.friends, { rex })
  end)
end)

scenario("a list refuses nil and objects of another class", function()
  store:define { Cat = { id = "int" } }
  local rex = store:write(function()
    local rex, tom = a_dog(1), store:create("Cat", { id = 1 })
    fails("type_mismatch", rex.friends.append, rex.friends, tom)
    fails("missing_value", rex.friends.append, rex.friends, moonpool.null)
    fails("missing_value", rex.marks.append, rex.marks, moonpool.null)
    equal(#rex.friends, 0)
    return rex
  end)
  fails("not_in_write", rex.marks.append, rex.marks, 1)
end)

-- Upserts: five dogs, each with a toy.

schema {
  Toy = { { "id", "int primary" }, { "name", "string?" } },
  Dog = { { "id", "int primary" }, { "name", "string?" }, { "favorite", "Toy" }, { "toys", "Toy[]" } },
}

local first, dogs, toys

local function values(id, name, toy)
  local nested = { id = id, name = toy or "ball" }
  return { id = id, name = name or "Rex", favorite = nested, toys = { nested } }
end

local function upsert(mode)
  return function()
    for id = 0, 4 do store:create("Toy", { id, "ball" }, mode) end
    for id = 0, 4 do store:create("Dog", values(id), mode or "all") end
  end
end

before(function()
  store:write(upsert())
  first, dogs, toys = changes(store:object("Dog", 0)), changes(store:objects "Dog"), changes(store:objects "Toy")
end)

local function update(mode, given)
  store:write(function() store:create("Dog", given, mode) end)
  return { first(), dogs(), toys() }
end

scenario("update all reports every updated object, update modified with equal values none", function()
  store:write(upsert "modified")
  equal({ first(), dogs(), toys() }, { "", "", "" })
  store:write(upsert "all")
  equal({ dogs(), toys() }, { "mod[1, 2, 3, 4, 5]", "mod[1, 2, 3, 4, 5]" })
end)

scenario("update modified reports exactly the changed property", function()
  equal(update("modified", values(0, "Max")), { "name Rex>Max", "mod[1]", "" })
end)

scenario("a changed nested object is reported, and modifies the rows that link to it", function()
  equal(update("modified", values(0, "Rex", "bone")), { "", "mod[1]", "mod[1]" })
end)

scenario("update modified replaces a different list", function()
  local longer, list = { id = 0, toys = { { 0 }, { 1 } } }, store:object("Dog", 0).toys
  equal(update("modified", longer), { "toys nil>#2", "mod[1]", "" })
  equal(update("modified", longer), { "", "", "" })
  equal(#list, 2)
  assert(update("all", { id = 0, toys = { { 4 } } })[1] == "toys nil>#1")
  equal(#list, 1)
end)

scenario("an upsert of a new key needs its required values", { A = { { "id", "int primary" }, { "n", "string" } } },
  function()
    store:write(function()
      fails("missing_value", store.create, store, "A", { id = 1 }, "all")
      store:create("A", { 1, "x" })
      store:create("A", { id = 1 }, "all")
      fails("missing_value", store.create, store, "A", { id = 1, n = moonpool.null }, "all")
    end)
  end)

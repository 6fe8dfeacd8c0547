schema { Toy = { id = "int primary" } }

scenario("an ordered schema keeps the declared order, and defines the same classes", function()
  local declared = { { "name", { type = "string", default = "x" } }, { "id", "int primary" }, { "age", "int?" } }
  store:define { Cat = declared, Part = { embedded = true, { "size", "int" } } }
  local function check(cat)
    assert(#cat == 3 and cat[1][1] == "name" and cat[1][2].default == "x" and cat[3][2] == "int?")
    assert(cat[2][1] == "id" and cat[2][2] == "int primary" and cat.name == nil)
  end
  check(store:schema("Cat", { ordered = true }))
  check(store:freeze():schema("Cat", { ordered = true }))
  local all = store:schema(nil, { ordered = true })
  assert(all.Part.embedded and all.Part[1][1] == "size")
  check(moonpool.open { in_memory = unique "copy", schema = all }:schema("Cat", { ordered = true }))
  assert(not pcall(store.schema, store, "Cat", { order = true }))
end)

scenario("the number of an object never changes", function()
  local first, second = store:write(function() return store:create("Toy", { id = 2 }), store:create("Toy", { id = 1 }) end)
  local id = moonpool.id_of(first)
  assert(math.type(id) == "integer" and id < moonpool.id_of(second))
  assert(moonpool.id_of(store:object("Toy", 2)) == id and moonpool.id_of(first:freeze()) == id)
  store:write(function() store:delete(second) end)
  equal(moonpool.id_of(first), id)
  for _, wrong in ipairs { 1, "x", {}, moonpool.date(), moonpool.new("Toy", { id = 9 }) } do
    local ok, err = pcall(moonpool.id_of, wrong)
    assert(not ok and tostring(err):find("object of a store expected", 1, true), tostring(err))
  end
end)

scenario("a function gives each object its own default", function()
  local calls = 0
  local function next_id() calls = calls + 1 return calls end
  store:define { Dog = {
    id = { type = "int primary", default = next_id },
    name = { type = "string", default = function() return "dog " .. calls end },
    tags = { type = "string[]", default = function() return { "new" } end },
    extra = { type = "mixed", default = function() return { made = { calls } } end },
    plain = { type = "int", default = 7 },
  } }
  store:write(function() for i = 1, 3 do store:create("Dog", {}) end end)
  local dogs = store:objects "Dog"
  assert(calls == 3 and #dogs == 3)
  for i, dog in ipairs(dogs) do
    assert(dog.id == i and dog.name == "dog " .. i and dog.tags[1] == "new" and dog.extra.made[1] == i and dog.plain == 7)
  end
  store:write(function()
    local given = store:create("Dog", { id = 50, name = "Rex", tags = {}, extra = moonpool.null })
    assert(calls == 3 and given.name == "Rex" and #given.tags == 0 and given.extra == nil)
    store:create("Dog", { id = 50 }, "all")
    equal(given.name, "Rex")
  end)
end)

scenario("a default function is part of the schema and can be replaced or removed", function()
  local function name() return "x" end
  store:define { Dog = { { "id", "int primary" }, { "name", { type = "string?", default = name } } } }
  local shown = store:schema "Dog"
  assert(shown.name.type == "string?" and shown.name.default == name)
  store:define { Dog = shown }
  store:define { Toy = { id = "int primary" } }
  local function made(id) return store:write(function() return store:create("Dog", { id = id }) end) end
  equal(made(1).name, "x")
  store:define { Dog = { id = "int primary", name = "string?" } }
  assert(made(2).name == nil and store:schema("Dog").name == "string?")
end)

scenario("a table is the default of a mixed property, and other tables are errors of their option", function()
  local content = { kind = "pug", marks = { 1, "two", { deep = true } } }
  store:define { Bag = { id = "int primary", content = { type = "mixed", default = content } } }
  store:write(function() store:create("Bag", { id = 1 }) end)
  local stored = store:object("Bag", 1).content
  assert(stored.kind == "pug" and #stored.marks == 3 and stored.marks[2] == "two" and stored.marks[3].deep == true)
  local shown = store:schema().Bag.content.default
  assert(shown.kind == "pug" and shown.marks[3].deep == true)
  store:define { Bag = { id = "int primary", content = { type = "mixed", default = shown } } }
  local function nested(count) return count == 1 and { 1 } or { nested(count - 1) } end
  store:define { Bag = { id = "int primary", content = { type = "mixed", default = nested(100) } } }
  for _, case in ipairs {
    { { type = "int", default = { 1 } }, "'default' cannot be a table" },
    { { type = "int[]", default = { 1, print } }, "an element of 'default' cannot be a function" },
    { { type = "int[]", default = { 1, nil, 3, x = 1 } }, "'default' must be an array of values without gaps" },
    { { type = "int{}", default = { 1 } }, "'default' must be a table with strings as keys" },
    { { type = "mixed", default = { 1, x = 2 } }, "'default' must be an array without gaps, or a table with strings" },
    { { type = "mixed", default = nested(101) }, "an element of 'default' cannot be a table" },
    { { type = "string", enum = { "a", x = "b" } }, "'enum' must be an array of values" },
    { { type = "string", enum = { "a", { "b" } } }, "an element of 'enum' cannot be a table" },
    { { type = "string", enum = { "a", print } }, "an element of 'enum' cannot be a function" },
    { { type = "int", min = { 1 } }, "'min' cannot be a table" },
    { { type = "int", min = print }, "'min' cannot be a function" },
  } do
    fails("invalid_schema: 'Cat.x': " .. case[2], store.define, store, { Cat = { id = "int primary", x = case[1] } })
  end
end)

scenario("an invalid result of a default function is an error, and nothing is stored", function()
  store:define { Dog = {
    id = "int primary", bad = { type = "int?", default = function() return "text" end },
  } }
  fails("type_mismatch", function() store:write(function() store:create("Dog", { id = 1 }) end) end)
  store:define { Dog = {
    id = "int primary", bad = { type = "int?", default = function() error("no number today") end },
  } }
  local text = message(function() store:write(function() store:create("Dog", { id = 1 }) end) end)
  assert(tostring(text):find("no number today", 1, true))
  store:define { Dog = { id = "int primary", bad = { type = "int?", default = function() end } } }
  store:write(function() equal(store:create("Dog", { id = 1 }).bad, nil) end)
  store:define { Cat = { id = "int primary", name = { type = "string", default = function() end } } }
  fails("missing_value", function() store:write(function() store:create("Cat", { id = 1 }) end) end)
  assert(#store:objects "Dog" == 1 and #store:objects "Cat" == 0)
end)

scenario("a default function can return a new object but not create one in the store", function()
  local n = 0
  store:define { Dog = {
    id = "int primary",
    toy = { type = "Toy", default = function() n = n + 1 return moonpool.new("Toy", { id = n }) end },
  }, Toy = { id = "int primary" } }
  store:write(function() store:create("Dog", { id = 1 }) store:create("Dog", { id = 2 }) end)
  assert(store:object("Dog", 2).toy.id == 2 and #store:objects "Toy" == 2)
  store:define { Cat = {
    id = "int primary",
    toy = { type = "Toy", default = function() return store:create("Toy", { id = 9 }) end },
  } }
  fails("already_in_write", function() store:write(function() store:create("Cat", { id = 1 }) end) end)
  assert(#store:objects "Cat" == 0 and #store:objects "Toy" == 2)
end)

scenario("map_to gives a property another name in the file, and schema shows it", function()
  store:define { Dog = { id = "int primary", fullName = { type = "string", map_to = "full_name" } } }
  local rex = store:write(function() return store:create("Dog", { id = 1, fullName = "Rex" }) end)
  assert(rex.fullName == "Rex" and #store:objects("Dog"):where("fullName == 'Rex'") == 1)
  local shown = store:schema("Dog").fullName
  assert(shown.type == "string" and shown.map_to == "full_name")
  store:define { Dog = store:schema "Dog" }
  -- Another program may call it otherwise: the values stay.
  store:define { Dog = { id = "int primary", title = { type = "string", map_to = "full_name" } } }
  assert(rex.title == "Rex" and code(function() return rex.fullName end) == "unknown_property")
  store:define { Dog = { id = "int primary", full_name = "string" } }
  assert(rex.full_name == "Rex" and store:schema("Dog").full_name == "string")
end)

scenario("equal names in the file are refused", function()
  local function refused(properties, text)
    local ok, err = pcall(store.define, store, { Dog = properties })
    assert(not ok and err.code == "invalid_schema", tostring(err))
    assert(err.message:find(text, 1, true), err.message)
  end
  refused({ a = { type = "int", map_to = "b" }, b = "int" }, "both stored as 'b'")
  refused({ a = { type = "int", map_to = "c" }, b = { type = "int", map_to = "c" } }, "both stored as 'c'")
  refused({ a = { type = "int", map_to = "" } }, "stored property name ''")
  refused({ a = { type = "int", map_to = 5 } }, "'Dog.a': 'map_to' must be the name")
  refused({ a = { type = "backlinks Toy.dog", map_to = "x" } }, "computed")
end)

scenario("an array of properties defines their order, also with embedded", function()
  store:define {
    Cat = { { "lives", "int", default = 9, indexed = true } },
    Dog = { { "name", "string" }, { "id", "int primary" }, { "age", { type = "int?", indexed = true } }, { name = "home", type = "Place" } },
    Place = { embedded = true, { "street", "string" }, { "city", "string?" } },
  }
  local rex = store:write(function() return store:create("Dog", { "Rex", 1, 5, { street = "Elm" } }) end)
  local names = {}
  for name in pairs(rex) do names[#names + 1] = name end
  assert(same(names, { "name", "id", "age", "home" }) and rex.home.street == "Elm")
  equal(store:schema("Place").embedded, true)
  local lives = store:schema("Cat").lives
  assert(lives.type == "int indexed" and lives.default == 9)
end)

scenario("three dots in a class mean its other properties", function()
  store:define {
    Cat = { { "name", "string" }, { "id", "int primary" }, { "mood", "string" }, indexes = { { "name", "id" } } },
    Place = { embedded = true, street = "string" },
    Dog = { id = "int primary", born = { type = "date", default = function() return moonpool.date(0) end } },
  }
  store:write(function() store:create("Cat", { id = 1, name = "Tom", mood = "calm" }) end)
  store:define { Cat = { "...", age = "int?", lives = { type = "int", default = 9 } }, Place = { "...", zip = "string?" } }
  local names = {}
  for name in pairs(store:object("Cat", 1)) do names[#names + 1] = name end
  equal(names, { "name", "id", "mood", "age", "lives" })
  local tom = store:object("Cat", 1)
  assert(tom.lives == 9 and tom.mood == "calm" and tom.name == "Tom")
  assert(#store:schema("Cat").indexes == 1 and store:schema("Place").embedded and store:schema("Place").street)
  -- A changed property, with a migration function, and an index only.
  store:define({ Cat = { "...", mood = "int" } }, function(m)
    m:each("Cat", function(old, new) new.mood = #old.mood end)
  end)
  assert(store:object("Cat", 1).mood == 4 and store:object("Cat", 1).lives == 9)
  store:define { Cat = { "...", indexes = {} } }
  equal(store:schema("Cat").indexes, nil)
  -- Default functions of the other properties stay.
  store:define { Dog = { "...", name = "string?" } }
  equal(store:write(function() return store:create("Dog", { id = 1 }) end).born, moonpool.date(0))
  local function refused(code, text, f, ...)
    local ok, err = pcall(f, ...)
    assert(not ok and err.code == code and err.message:find(text, 1, true), tostring(err))
  end
  refused("unknown_class", "Cta", store.define, store, { Cta = { "...", x = "int" } })
  refused("migration_needed", "'Cat.name' would change", store.define, store, { Cat = { "...", name = "int" } })
  refused("invalid_schema", "use it in store:define", moonpool.open, { in_memory = unique "dots", schema = { A = { "...", x = "int" } } })
  refused("invalid_schema", "expected property names", store.define, store, { Cat = { "...", "int" } })
end)

scenario("a schema error contains the class, the property, the cause and the solution", function()
  local function refused(properties, ...)
    local ok, err = pcall(store.define, store, { Dog = properties })
    assert(not ok and err.code == "invalid_schema", tostring(err))
    for _, text in ipairs { "Dog", ... } do assert(err.message:find(text, 1, true), err.message) end
    assert(not pcall(store.objects, store, "Dog"))
  end
  refused({ a = "mixed?" }, "'Dog.a'", "may always be nil", '"mixed"')
  refused({ a = "mixed?[]" }, "'Dog.a'", '"mixed[]"')
  refused({ a = "decimal primary" }, "'Dog.a'", "a primary key is int")
  for _, type in ipairs { "mixed", "decimal" } do refused({ a = type .. " indexed" }, "'Dog.a'", "cannot be indexed") end
  refused({ a = "mixed primary" }, "'Dog.a'", "a primary key is int")
  refused({ a = "decimol" }, "'Dog.a'", "did you mean 'decimal'")
  refused({ a = { type = "decimal", default = "abc" } }, "'Dog.a'", "is not a valid decimal")
  refused({ a = { type = "int", default = true } }, "'Dog.a'", "is not a valid int")
  refused({ a = { type = "int", mapto = "b" } }, "'Dog.a'", "did you mean 'map_to'")
  refused({ { "a" } }, "'Dog.a'")
  refused({ { "a", "int" }, { "a", "int" } }, "'Dog.a'", "declared 2 times")
  refused({ { "a", "int" }, b = "int" }, "mixes an array")
  refused({ { "a", "int", "primary" } }, "'Dog.a'", '"int primary"')
  refused({ { "a", "int", defualt = 1 } }, "'Dog.a'", "did you mean 'default'")
  refused({ a = { type = "int", primary = "no" } }, "'Dog.a'", "'primary' must be true or false")
  refused({ a = { type = "int primary", primary = false } }, "'Dog.a'", "remove one of them")
  refused({ a = "person" }, "'Dog.a': 'person' is not a type or a declared class")
  refused({ a = "dgo" }, "'dgo' is not a type; did you mean 'Dog'?")
  refused({ a = "itn primary" }, "'Dog.a': 'itn' is not a type; did you mean 'int'?")
  refused({ a = "object" }, "'Dog.a'", "the name of the linked class")
  refused({ a = { type = "backlinks[]" } }, "'Dog.a'", "backlinks Class.property")
  for _, type in ipairs { "int[][]", "int[]?", "int?[]?", "string<>{}" } do
    refused({ a = type }, "'Dog.a'", "'" .. type .. "' is not a type", '"int?[]"')
  end
end)

scenario("classes with lowercase names can be link targets", function()
  store:define {
    person = { id = "int primary", items = "item[]", best = "item", pets = "backlinks dog.owner" },
    item = { id = "int primary", notes = "note[]" },
    note = { embedded = true, text = "string" },
    dog = { id = "int primary", owner = { type = "person" } },
  }
  store:define(store:schema())
  store:write(function()
    local ann = store:create("person", { id = 1, items = { { id = 7, notes = { { text = "new" } } } } })
    ann.best = ann.items[1]
    store:create("dog", { id = 1, owner = ann })
  end)
  local ann = store:object("person", 1)
  assert(ann.best.id == 7 and ann.best.notes[1].text == "new" and #ann.pets == 1)
  equal(#store:objects "dog":where "any owner.items.id == 7", 1)
end)

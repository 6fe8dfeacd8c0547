-- Files that are opened with another schema, the syntax of declarations, and unique indexes.

local function open(schema, version, drops)
  return moonpool.open {
    path = folder .. "/zoo", durability = "memory", schema = schema, schema_version = schema and (version or 0), drops = drops,
  }
end

schema { Toy = { id = "int primary" } }

local dog = { Dog = { { "id", "int primary" }, { "name", "string" } } }

scenario("the first opening creates the schema and its version", function()
  open(dog, 5):close()
  local s <close> = open()
  equal(s.schema_version, 5)
  equal(s:schema(), { Dog = { id = "int primary", name = "string" } })
  s:close()
  for _, part in ipairs { "5", "3" } do fails("version_too_low: " .. part, open, dog, 3) end
end)

scenario("a class without an order keeps the order of the file, a class with an order does not", function()
  local function names(class, version)
    local s <close> = open({ Dog = class }, version, { "Dog.old" })
    local found = {}
    for n, property in ipairs(s:schema("Dog", { ordered = true })) do found[n] = property[1] end
    return table.concat(found, " ")
  end
  equal(names({ { "id", "int primary" }, { "old", "int" }, { "name", "string" } }, 0), "id old name")
  equal(names({ id = "int primary", name = "string", old = "int" }, 0), "id old name")
  -- A new version has its new properties at the end.
  equal(names({ age = "int", id = "int primary", name = "string" }, 1), "id name age")
  equal(names({ { "age", "int" }, { "id", "int primary" }, { "name", "string" } }, 1), "age id name")
end)

scenario("all differences that need a new version are reported together", function()
  open(dog):close()
  for _, part in ipairs {
    "'Dog.id' would change from int to string", "'Dog.name' would become optional", "'Dog.legs' would be added", "schema_version",
  } do
    fails("migration_needed: " .. part, open, { Dog = { id = "string primary", name = "string?", legs = "int" } })
  end
  open(dog):close()
end)

scenario("new classes and indexes need no new version", function()
  open(dog):close()
  local s <close> = open { Dog = { id = "int primary", name = "string indexed" }, Toy = { name = "string" } }
  assert(s:schema("Dog").name == "string indexed" and s:schema("Toy").name == "string")
end)

scenario("a new version changes the columns and keeps the objects", function()
  local s = open { Dog = { id = "int primary", name = "string", age = "int?", old = "string" } }
  s:write(function() for id = 0, 2 do s:create("Dog", { id = id, name = "n", age = 7, old = "x" }) end end)
  s:close()
  s = open({ Dog = {
    id = "int primary", name = "string?", age = "int", tail = "double", tag = "string?", state = { type = "string", default = "new" },
  } }, 1, { "Dog.old" })
  local rex = s:object("Dog", 1)
  assert(#s:objects "Dog" == 3 and rex.name == "n" and rex.age == 7 and rex.state == "new" and rex.tail == 0.0 and rex.tag == nil)
  fails("unknown_property", function() return rex.old end)
  s:write(function() rex.name = nil end)
  equal(rex.name, nil)
  s:close()
end)

scenario("define adds to a live store, and refuses data loss", function()
  store:define(dog)
  local rex = store:write(function() return store:create("Dog", { 1, "Rex" }) end)
  store:define {
    Dog = { "...", age = "int", owner = "Person", owners = "backlinks Person.dogs" }, Person = { name = "string", dogs = "Dog[]" },
  }
  assert(rex.age == 0 and rex.owner == nil)
  local ann = store:write(function()
    rex.age = 3
    return store:create("Person", { name = "Ann", dogs = { rex } })
  end)
  assert(rex.age == 3 and rex.owners[1] == ann)
  fails("migration_needed: 'Dog.age' would be removed", store.define, store, dog)
  fails("invalid_schema", store.define, store, { Cat = { owner = "Missing" } })
  equal(store:schema().Cat, nil)
end)

scenario("one error reports all errors of a schema", function()
  for _, part in ipairs {
    "2 primary keys", "'Dog.a' is a primary key of type double", "'Dog.c' of type data cannot be indexed", "class 'Dgo'",
    "did you mean 'Dog'", 'the default "x" is not a valid int', "'Dog.g', which does not exist", "'9x' cannot be used",
  } do
    fails("invalid_schema: " .. part, store.define, store, { Dog = {
      a = "double primary", b = "int primary", c = "data indexed", d = "Dgo", e = { type = "int", default = "x" },
      f = "backlinks Dog.g", ["9x"] = "int",
    } })
  end
end)

-- Declarations.

schema { Dog = { id = "int" }, Address = { embedded = true, city = "string" } }

local function declare(type) store:define { Owner = { p = type } } end

for _, type in ipairs {
  "int primary", "string", "int?", "string? indexed", "Dog", "Dog[]", "int[]", "string?[]", "backlinks Owner.q",
  "object_id primary", "uuid indexed", "date?", "data", "int<>", "string?<>", "Dog<>", "double{}", "date?{}", "Dog{}", "uuid<>",
  "object_id{}", "data{}", "bool?<>", "float{}",
} do
  scenario("a declaration is written as it is read: " .. type, function()
    store:define { Owner = { p = type, q = "Owner" } }
    equal(store:schema("Owner").p, type)
  end)
end

scenario("links are optional, but not those in lists and sets", function()
  for type, written in pairs { ["Dog?"] = "Dog", ["Dog?{}"] = "Dog{}" } do
    declare(type)
    equal(store:schema("Owner").p, written)
    store:define({ Owner = {} }, { force = true })
  end
  fails("invalid_schema: cannot hold nil links; write Dog<>", declare, "Dog?<>")
end)

scenario("a declaration that is not valid is refused with the reason", function()
  for type, part in pairs {
    [""] = "has no type", ["int[[]"] = "not a type", ["int primry"] = "not a modifier",
    ["backlinks Person"] = "backlinks Class.property", object = "name of the linked class",
    ["backlinks?"] = "backlinks Class.property", ["[]"] = "not a type",
    ["backlink Person.dogs"] = "did you mean 'backlinks Person.dogs'?", ["mixed?"] = "may always be nil",
    ["mixed?<>"] = 'write "mixed<>"', ["int<> primary"] = "is a primary key of type int<>", ["int{} indexed"] = "cannot be indexed",
    ["Cat<>"] = "class 'Cat', which is not declared", ["Dgo{}"] = "did you mean 'Dog'", ["Address<>"] = "write Address[] or Address{}",
  } do
    fails("invalid_schema: " .. part, declare, type)
    fails("invalid_schema: 'Owner.p'", declare, type)
  end
end)

scenario("a backlinks property can follow sets and maps of links to its class", function()
  for _, type in ipairs { "Dog<>", "Dog{}" } do
    local s <close> = moonpool.open { in_memory = unique(type), schema = { Owner = { p = type }, Dog = { b = "backlinks Owner.p" } } }
    local owner = s:write(function() return s:create("Owner", { p = type == "Dog<>" and { {} } or { k = {} } }) end)
    equal(s:objects("Dog")[1].b, { owner })
  end
  fails("invalid_schema: which is int<>; it must link to Dog", store.define, store,
    { Owner = { p = "int<>" }, Dog = { "...", b = "backlinks Owner.p" } })
end)

scenario("defaults of collections are the same after the file is reopened", function()
  local classes = { Owner = {
    m = { type = "int?{}", default = { a = 1, b = moonpool.null } }, e = { type = "int{}", default = {} },
    s = { type = "string<>", default = { "y", "x" } },
  } }
  local s = open(classes)
  local version = s.version
  s:close()
  s = open(classes)
  equal(s.version, version)
  s:close()
  s = open()
  local owner = s:write(function() return s:create("Owner", {}) end)
  assert(#owner.m == 2 and owner.m.a == 1 and owner.m.b == nil and #owner.e == 0)
  equal(owner.s, { "x", "y" })
  s:close()
end)

scenario("changing the kind of a collection requires a new schema version", function()
  local function reopen(type, version) return open({ Owner = { p = type } }, version, { "Owner.p" }) end
  local s = reopen("int[]", 0)
  s:write(function() s:create("Owner", { p = { 2, 2 } }) end)
  s:close()
  fails("migration_needed: would change from int[] to int<>", reopen, "int<>", 0)
  s = reopen("int<>", 1)
  local owner = s:objects("Owner"):first()
  equal(#owner.p, 0)
  s:write(function() owner.p:add(4) end)
  s:close()
  fails("migration_needed", reopen, "int{}", 1)
  s = reopen("int{}", 2)
  owner = s:objects("Owner"):first()
  equal(#owner.p, 0)
  s:write(function() owner.p.a = 1 end)
  equal(owner.p:keys(), { "a" })
  s:close()
end)

-- Unique indexes over several properties.

local function seats(is_unique)
  return { Seat = {
    { "id", "int primary" }, { "row", "int?" }, { "place", "string" }, indexes = { { "row", "place", unique = is_unique } },
  } }
end

schema(seats(true))

local function add(id, row, place)
  return store:write(function() return store:create("Seat", { id, row or moonpool.null, place }) end)
end

scenario("duplicate values of a unique index are an error at the end of the write", function()
  add(1, 1, "a")
  add(2, 1, "b")
  fails('duplicate_key: row = 1, place = "a" (id = 1 and id = 3)', add, 3, 1, "a")
  assert(#store:objects "Seat" == 2 and not store.is_in_write)
  -- Objects without a value are exempt.
  add(4, nil, "a")
  add(5, nil, "a")
  local one, two = store:object("Seat", 1), store:object("Seat", 2)
  fails("duplicate_key", store.write, store, function() one.place = "b" end)
  store:write(function() one.place, two.place = "b", "a" end)
  equal(one.place, "b")
end)

scenario("a large write is checked by a unique index too", function()
  local function fill(first, last, row)
    store:write(function()
      for id = first, last do store:create("Seat", { id, row(id), tostring(id % 10) }) end
    end)
  end
  fill(0, 2999, function(id) return id // 10 end)
  fails("duplicate_key", fill, 3000, 5999, function(id) return id // 10 % 400 end)
  equal(#store:objects "Seat", 3000)
end)

scenario("a unique index survives reopening, and needs different values", function()
  local function create(s, id) s:write(function() s:create("Seat", { id, 1, "a" }) end) end
  local s = open(seats(true))
  create(s, 1)
  s:close()
  s = open()
  assert(s:schema("Seat").indexes[1].unique)
  fails("duplicate_key", create, s, 2)
  s:close()
  s = open(seats(), 1)
  create(s, 2)
  s:close()
  fails("duplicate_key", open, seats(true), 2)
  s = open()
  equal(s:schema("Seat").indexes[1].unique, nil)
  s:close()
end)

-- Names.

schema { A = { id = "int primary" } }

scenario("names have up to 200 bytes, and a class cannot have the name of a type", function()
  local longest = ("ä"):rep(100)
  store:define { [longest] = { [longest] = "int" } }
  store:write(function() store:create(longest, { [longest] = 1 }) end)
  equal(#store:objects(longest):where(longest .. " == 1"), 1)
  fails("invalid_schema: 200", store.define, store, { [longest .. "a"] = { x = "int" } })
  fails("invalid_schema: 200", store.define, store, { B = { [longest .. "a"] = "int" } })
  for _, type in ipairs {
    "bool", "int", "float", "double", "string", "data", "date", "uuid", "object_id", "decimal", "mixed", "object", "backlinks",
  } do
    fails("invalid_schema: '" .. type .. "' is the name of a type", store.define, store, { [type] = { x = "int" } })
  end
end)

scenario("a define that fails at its end leaves schema and objects unchanged", function()
  store:define { Dog = { id = "int primary", name = "string", marks = "int[]" } }
  local before = store:schema()
  store:write(function() for id = 1, 2 do store:create("Dog", { id = id, name = "d" .. id, marks = { id } }) end end)
  fails("duplicate_key", store.define, store, { Dog = { name = "string primary", id = "int" } }, function(m)
    m:each("Dog", function(_, new) new.name = "same" end)
  end)
  equal(store:schema(), before)
  local two = store:object("Dog", 2)
  assert(two.name == "d2" and two.marks[1] == 2)
end)

except(sweep)

-- The number of objects before the property is added; clusters have 496 rows.
for _, count in ipairs { 0, 3, 496, 1200 } do
  for _, stored in ipairs { false, true } do
    scenario(("a property that becomes optional keeps its values: %d, %s"):format(count, stored and "stored" or "added"), function()
      local zeros = {
        int = 0, double = 0.0, float = 0.0, bool = false, string = "", data = "", decimal = moonpool.decimal(0), date = moonpool.date(0),
        uuid = moonpool.uuid "00000000-0000-0000-0000-000000000000", object_id = moonpool.object_id(("0"):rep(24)),
      }
      local function declare(suffix)
        local class = { id = "int primary" }
        for type in pairs(zeros) do class["p_" .. type] = type .. suffix .. (type == "int" and " indexed" or "") end
        store:define({ A = class }, { force = true })
      end
      local function create(first, last, values)
        store:write(function()
          for id = first, last do
            local object = { id = id }
            for type, zero in pairs(values) do object["p_" .. type] = type == "data" and moonpool.data "" or zero end
            store:create("A", object)
          end
        end)
      end
      if stored then declare "" end
      create(1, count, stored and zeros or {})
      if not stored then declare "" end
      declare "?"
      create(count + 1, count + 600, {})
      for type, zero in pairs(zeros) do
        local name = "p_" .. type
        equal({ type, #store:objects("A"):where(name .. " == nil") }, { type, 600 })
        for id = 1, count, math.max(1, count // 3) do equal({ type, store:object("A", id)[name] }, { type, zero }) end
        equal(store:object("A", count + 600)[name], nil)
      end
    end)
  end
end

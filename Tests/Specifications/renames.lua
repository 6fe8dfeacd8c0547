-- Renamed properties and classes.

local N = moonpool.null

local function open(schema, version, migration, drops)
  return moonpool.open {
    path = folder .. "/file", durability = "memory", schema = schema, schema_version = version, migration = migration,
    drops = drops,
  }
end

local function fill(schema, class, ...)
  local s <close> = open(schema, 0)
  local rows = { ... }
  s:write(function() for _, row in ipairs(rows) do s:create(class, row) end end)
end

local function values(s, class, name) return s:objects(class):map(function(object) return object[name] end) end

-- A function that renames properties of a class: `rename("P", "a", "b", "b", "c")`.
local function rename(class, ...)
  local names = { ... }
  return function(m) for n = 1, #names, 2 do m:rename_property(class, names[n], names[n + 1]) end end
end

local people = { Person = { id = "int primary", first = "string", last = "string" } }

local function fill_people()
  fill(people, "Person", { id = 1, first = "Ann", last = "Lee" }, { id = 2, first = "Bob", last = "Ray" },
    { id = 3, first = "Cid", last = "Poe" })
end

scenario("a renamed property keeps its values, also after several renames", function()
  fill_people()
  local s <close> = open({ Person = { id = "int primary", name = "string indexed" } }, 1, function(m)
    rename("Person", "first", "given", "given", "name")(m)
    equal(m:objects("Person"):first().name, "Ann")
  end, { "Person.last" })
  equal(values(s, "Person", "name"), { "Ann", "Bob", "Cid" })
  equal(#s:objects("Person"):where "name == 'Bob'", 1)
end)

scenario("a renamed property can become a key or an optional property, and the reverse", function()
  fill({ Person = { id = "int primary", tag = "string", age = "int" } }, "Person", { id = 1, tag = "a", age = 30 },
    { id = 2, tag = "b", age = 40 })
  local s <close> = open({ Person = { code = "string primary", number = "int", years = "int?" } }, 1,
    rename("Person", "tag", "code", "id", "number", "age", "years"))
  local b = s:object("Person", "b")
  assert(b.number == 2 and b.years == 40)
  s:write(function() b.years = nil end)
  equal(b.years, nil)
end)

scenario("an optional property becomes required if no value is nil at the end", function()
  fill({ Person = { id = "int primary", age = "int?" } }, "Person", { id = 1, age = 30 }, { id = 2 })
  local after, renamed = { Person = { id = "int primary", years = "int" } }, rename("Person", "age", "years")
  fails("missing_value: 'Person.years' is required now, and 1 object", open, after, 1, renamed)
  fails("missing_value: id = 2", open, after, 1, renamed)
  local s <close> = open(after, 1, function(m)
    renamed(m)
    m:each("Person", function(old, new) if old.age == nil then new.years = -1 end end)
  end)
  equal(values(s, "Person", "years"), { 30, -1 })
end)

for form, case in pairs {
  ["[]"] = { { 3, 1, 3 }, { 1, N } }, ["<>"] = { { 1, 3 }, { N, 1 } }, ["{}"] = { { a = 1 }, { a = 1, b = N } },
} do
  scenario("a renamed collection of optional elements becomes one of required elements: " .. form, function()
    local before, after = { Person = { id = "int primary", marks = "int?" .. form } },
      { Person = { id = "int primary", grades = "int" .. form } }
    local whole, holed = table.unpack(case)
    local renamed = rename("Person", "marks", "grades")
    fill(before, "Person", { id = 1, marks = whole }, { id = 2 }, { id = 3, marks = holed })
    for _, part in ipairs { "'Person.grades' would change from int?", "1 value does not convert exactly, such as ", "id = 3" } do
      fails("type_mismatch: " .. part, open, after, 1, renamed)
    end
    do
      local s <close> = open(before, 0)
      s:write(function() s:delete(s:object("Person", 2)) end)
    end
    local s <close> = open(after, 1, function(m)
      renamed(m)
      m:each("Person", function(old, new) if old.id == 3 then new.grades = whole end end)
    end)
    local grades = values(s, "Person", "grades")
    equal({ grades[1]:to_table(), grades[2]:to_table() }, { whole, whole })
    s:write(function() fails("missing_value", function() s:object("Person", 1).grades = holed end) end)
  end)
end

scenario("an impossible rename is refused with the reason", function()
  fill_people()
  local after = { Person = { id = "int primary", last = "string", age = "int" } }
  for _, case in ipairs {
    { "frist", "age", "did you mean 'first'?" }, { "first", "age", "from string to int" },
    { "first", "last", "has a property 'last'" }, { "last", "surname", "still declares 'last'" },
    { "first", "lats", "which the schema does not declare" },
  } do
    fails("invalid_schema: " .. case[3], open, after, 1, rename("Person", case[1], case[2]), { "Person.first" })
  end
  fails("invalid_schema", open, after, 1, rename("Missing", "first", "x"), { "Person.first" })
  local s <close> = open(people, 0)
  equal(s.schema_version, 0)
end)

scenario("values that a migration has set survive a later rename", function()
  fill_people()
  local s <close> = open({ Person = { id = "int primary", given = "string", initial = "string" } }, 1, function(m)
    m:each("Person", function(old, new) new.initial, new.given = old.first:sub(1, 1), "is overwritten" end)
    m:rename_property("Person", "first", "given")
  end, { "Person.last" })
  equal(values(s, "Person", "initial"), { "A", "B", "C" })
  equal(values(s, "Person", "given"), { "Ann", "Bob", "Cid" })
end)

-- Classes.

local dogs = {
  Dog = { id = "int primary", name = "string" }, Owner = { name = "string", dogs = "Dog[]", best = "Dog" },
}
local animals = {
  Animal = { id = "int primary", title = "string", owners = "backlinks Owner.animals" },
  Owner = { name = "string", animals = "Animal[]", best = "Animal" },
}

local function fill_dogs()
  local s <close> = open(dogs, 0)
  s:write(function()
    local rex, max = s:create("Dog", { id = 1, name = "Rex" }), s:create("Dog", { id = 2, name = "Max" })
    s:create("Owner", { name = "Ann", dogs = { rex, max }, best = max })
  end)
end

scenario("a renamed class keeps its objects, and links follow it", function()
  fill_dogs()
  local s <close> = open(animals, 1, function(m)
    m:rename_class("Dog", "Pet")
    m:rename_class("Pet", "Animal")
    m:rename_property("Animal", "name", "title")
    m:rename_property("Owner", "dogs", "animals")
    local names = {}
    m:each("Animal", function(old, new)
      names[#names + 1] = old.name
      equal(new.title, old.name)
    end)
    equal(names, { "Rex", "Max" })
  end)
  assert(not s:schema().Dog and s:schema().Animal)
  local max, ann = s:object("Animal", 2), s:objects("Owner"):first()
  assert(max.title == "Max" and ann.best == max and #ann.animals == 2)
  equal(max.owners, { ann })
  s:write(function() s:delete(max) end)
  assert(ann.best == nil and #ann.animals == 1)
end)

scenario("classes outside of the schema follow a renamed class too", function()
  fill_dogs()
  local s <close> = open({ Animal = dogs.Dog }, 1, function(m) m:rename_class("Dog", "Animal") end)
  local ann = s:objects("Owner"):first()
  assert(s:schema("Owner").best == "Animal" and #ann.dogs == 2 and ann.best.name == "Max")
end)

scenario("deleting a class requires deleting the links to it", function()
  fill_dogs()
  fails("invalid_schema: still declares 'Owner'", open, animals, 1, function(m) m:rename_class("Owner", "Missing") end)
  fails("invalid_schema: links to class 'Dog'", open, { Box = { n = "int" } }, 1, function(m) m:delete_class "Dog" end)
  local s <close> = open({ Owner = { name = "string" } }, 1, function(m) m:delete_class "Dog" end, { "Owner.dogs", "Owner.best" })
  assert(not s:schema().Dog)
  equal(values(s, "Owner", "name"), { "Ann" })
end)

scenario("a name that stays in use is refused at the end", function()
  fill_dogs()
  -- The new schema declares a class with the old name, so that the classes cannot be matched.
  local both = { Animal = animals.Animal, Owner = animals.Owner, Dog = { breed = "string" } }
  fails("invalid_schema: still declares 'Dog'", open, both, 1, function(m) m:rename_class("Dog", "Animal") end, { "Dog.id", "Dog.name" })
  store:define { A = { a = "int", b = "int" }, B = { a = "int" } }
  for part, case in pairs {
    ["'A.a' cannot be renamed to 'b': the file has a property 'b' whose values"] = { { A = { b = "int" } }, rename("A", "a", "b") },
    ["'A.b' cannot be renamed to 'x': 'a' was renamed to it"] = { { A = { x = "int" } }, rename("A", "a", "x", "b", "x") },
    ["the file already has a class 'B'; rename that one too"] = {
      { B = { a = "int", b = "int" } }, function(m) m:rename_class("A", "B") end,
    },
  } do
    fails("invalid_schema: " .. part, store.define, store, table.unpack(case))
  end
  assert(store:schema().A and store:schema("B").a)
end)

-- The rules for properties are the same whether or not their class is renamed, before or after.
for _, order in ipairs { "never", "first", "last" } do
  scenario("conversions and defaults apply to renamed classes: " .. order, function()
    store:define { A = { id = "int primary", text = "int", number = "string", maybe = "int?", list = "int[]", old = "int" } }
    store:write(function()
      for id = 1, 3 do
        store:create("A", { id = id, text = id, number = tostring(id), maybe = id ~= 2 and id or N, list = { id }, old = -id })
      end
    end)
    local name = order == "never" and "A" or "B"
    store:define({ [name] = {
      id = "int primary", text = "string", number = "int", maybe = { type = "int", default = 7 }, list = "string[]", new = "int",
      added = { type = "string", default = "x" },
    } }, function(m)
      if order == "first" then m:rename_class("A", "B") end
      m:rename_property("A", "old", "new")
      if order == "last" then m:rename_class("A", "B") end
    end)
    for id = 1, 3 do
      local object = store:object(name, id)
      equal({ object.text, object.number, object.maybe, object.list:to_table(), object.new, object.added },
        { tostring(id), id, id == 2 and 7 or id, { tostring(id) }, -id, "x" })
    end
  end)
end

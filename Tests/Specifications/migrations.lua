local old = {
  Dog = { id = "int primary", name = "string", age = "int?", owner = "Person" },
  Person = { name = "string primary", dogs = "backlinks Dog.owner" },
}
local path

local function fill()
  path = folder .. "/dogs.moonpool"
  local s <close> = moonpool.open { path = path, schema = old, durability = "memory" }
  s:write(function()
    local ann = s:create("Person", { name = "Ann" })
    for i = 1, 3 do s:create("Dog", { id = i, name = "d" .. i, age = i > 1 and i or nil, owner = ann }) end
  end)
end

local function reopen(options)
  options.path, options.durability = path, "memory"
  return moonpool.open(options)
end

scenario("each visits old and new objects, including links", function()
  fill()
  local versions
  local s <close> = reopen {
      schema_version = 3, drops = { "Dog.age" },
      schema = { Dog = { id = "int primary", label = "string", owner = "Person", years = "int" },
                 Person = old.Person },
      migration = function(m)
          versions = { m.old_version, m.new_version, m.old.schema_version, tostring(m) }
          m:rename_property("Dog", "name", "label")
          assert(m.old.is_frozen and m.new.is_in_write and not m.new.is_frozen)
          assert(#m.old:objects("Dog") == 3 and m.old:object("Dog", 2).name == "d2")
          assert(m.old:schema().Dog.age == "int?" and m.old:schema("Dog").name == "string")
          equal(m.old:object("Person", "Ann").dogs[3].id, 3)
          assert(#m:objects("Dog") == 3 and #m.new:objects("Dog"):where("label == 'd3'") == 1)
          m:each("Dog", function(old, new)
              assert(old.owner.name == "Ann" and new.owner.name == "Ann" and old ~= new)
              assert(old:is_frozen() and not new:is_frozen())
              fails("frozen", function() old.name = "x" end)
              fails("unknown_property", function() return new.name end)
              new.years = old.age or -1
              new:update { label = old.name .. "!" }
          end)
      end }
  assert(versions[1] == 0 and versions[2] == 3 and versions[3] == 0, versions[4])
  local d = s:object("Dog", 1)
  assert(d.label == "d1!" and d.years == -1 and s:object("Dog", 3).years == 3)
  assert(s.schema_version == 3 and s:schema("Dog").years == "int")
end)

scenario("only a migration can rename", function()
  fill()
  local kept
  local store = reopen {
    schema = { Dog = { id = "int primary", label = "string", age = "int?", owner = "Person" }, Person = old.Person },
    schema_version = 1,
    migration = function(m) kept = m m:rename_property("Dog", "name", "label") end,
  }
  equal(store:object("Dog", 1).label, "d1")
  assert(not pcall(function() return store.rename_property end))
  fails("invalid_argument", function() kept:rename_property("Dog", "label", "name") end)
  store:close()
end)

scenario("a migration creates, deletes and removes classes, and keeps handles alive", function()
  fill()
  local kept
  local s <close> = reopen {
    schema_version = 1,
    schema = { Cat = { id = "int primary", name = "string" }, Person = { name = "string primary" } },
    migration = function(m)
      m:each("Dog", function(old, new) kept = m:create("Cat", { id = old.id, name = old.name }) end)
      m:create("Cat", { id = 1, name = "again" }, "all")
      m:delete(m.new:object("Cat", 2))
      assert(m:delete_class("Dog") and not m:delete_class("Dog") and not m:delete_class("Dgo"))
      fails("unknown_class", m.create, m, "Dog", { id = 9 })
      assert(#m.old:objects("Dog") == 3 and m.old:objects("Dog")[1].name == "d1")
      m:delete(m:objects("Person"))
    end }
  assert(kept.name == "d3" and kept == s:object("Cat", 3) and kept.store == s)
  assert(s:object("Cat", 1).name == "again" and not s:object("Cat", 2) and #s:objects("Person") == 0)
  fails("unknown_class", s.objects, s, "Dog")
end)

scenario("an error in the function is raised again, and nothing has changed", function()
  fill()
  local leaked, last, new
  local ok, err = pcall(reopen, {
    schema_version = 1, schema = { Dog = { id = "int primary" } },
    migration = function(m)
      leaked, new = m, m.new
      m:each("Dog", function(o) last = o if o.id == 2 then error({ mine = true }) end end)
    end })
  assert(not ok and err.mine)
  fails("invalid_argument", leaked.each, leaked, "Dog", print)
  fails("invalid_argument", function() return leaked.new end)
  assert(new.is_closed and code(new.objects, new, "Dog") == "closed" and tostring(leaked) ~= "")
  equal(last.id, 2)
  local s <close> = reopen { schema = old }
  assert(#s:objects("Dog") == 3 and s.schema_version == 0)
end)

scenario("a migration cannot commit, cancel, begin, define or observe", function()
  fill()
  local s <close> = reopen {
    schema_version = 1, schema = old,
    migration = function(m)
      local n = m.new
      for _, name in ipairs { "commit_write", "cancel_write", "begin_write" } do
        fails("already_in_write", n[name], n)
      end
      fails("already_in_write", n.write, n, print)
      fails("already_in_write", n.define, n, old)
      fails("already_in_write", n.observe, n, print)
      local dogs = n:objects("Dog")
      fails("already_in_write", dogs.observe, dogs, print)
      fails("invalid_argument", m.each, m, "Dog")
      fails("invalid_argument", m.each, m, 1, print)
      fails("unknown_class", m.each, m, "Dgo", print)
    end }
  assert(s.schema_version == 1 and #s:objects("Dog") == 3)
end)

scenario("a store that its own migration closes is not opened", function()
  fill()
  fails("closed", reopen, { schema_version = 1, schema = old, migration = function(m) m.new:close() end })
  local s <close> = reopen { schema = old }
  equal(#s:objects("Dog"), 3)
end)

scenario("define loses data only if it is forced or migrated", function()
  local less = { Dog = { id = "int primary", name = "string" } }
  fails("migration_needed: force", store.define, store, less)
  fails("invalid_argument", store.define, store, less, 1)
  fails("invalid_argument", store.define, store, less, { forced = true })
  local rex
  store:write(function() rex = store:create("Dog", { id = 1, name = "Rex", score = 1, good = true, age = 4 }) end)
  local seen = 0
  local token = store:objects("Dog"):observe(function(c) if c.type == "update" then seen = seen + #c.modifications end end)
  turn()
  store:define({ Dog = { id = "int primary", label = "string", age = "string" } }, function(m)
    assert(m.old_version == 0 and m.new_version == 0)
    m:rename_property("Dog", "name", "label")
    m:each("Dog", function(old, new) new.age = "about " .. old.age end)
  end)
  assert(rex.label == "Rex" and rex.age == "about 4")
  fails("unknown_property", function() return rex.name end)
  fails("unknown_property", function() rex.name = "x" end)
  turn()
  assert(seen == 1 and token.is_valid)
  store:define({ Dog = { id = "int primary" } }, { force = true })
  assert(code(function() return rex.label end) == "unknown_property" and rex.id == 1)
  fails(": no", store.define, store, { Dog = { id = "int primary", x = "int" } }, function() error("no", 0) end)
  fails("unknown_property", function() return rex.x end)
  fails("invalid_schema", store.define, store, {}, function(m) m:rename_class("Toy", "Plaything") end)
end)

scenario("renaming or removing a class affects the values of a script", function()
  local toy, dog
  store:write(function()
    toy = store:create("Toy", { label = "ball", price = 2 })
    dog = store:create("Dog", { id = 1, name = "Rex", score = 1, good = true, toys = { toy } })
  end)
  local schema = store:schema()
  schema.Thing, schema.Toy, schema.Dog.toys = schema.Toy, nil, "Thing[]"
  store:define(schema, function(m) m:rename_class("Toy", "Thing") end)
  assert(toy.label == "ball" and toy.class == "Thing" and dog.toys[1] == toy)
  fails("unknown_class", store.create, store, "Toy", { label = "x", price = 1 })
  store:write(function() store:create("Thing", { label = "x", price = 1 }) end)
  equal(#store:objects("Thing"), 2)
  store:define { Toy = { other = "int" } }
  store:write(function() equal(store:create("Toy", { other = 1 }).class, "Toy") end)
  assert(toy.class == "Thing" and #store:objects("Toy") == 1)
  schema = store:schema()
  schema.Thing, schema.Dog.toys = nil, nil
  store:define(schema, function(m) m:delete_class("Thing") end)
  assert(not toy:is_valid() and code(function() return toy.label end) == "invalid_object")
  equal(dog.name, "Rex")
  equal(store:schema().Thing, nil)
  store:define({}, function(m)
    for name in pairs(m.old:schema()) do m:delete_class(name) end
    equal(m.old:objects("Dog")[1].name, "Rex")
  end)
  assert(next(store:schema()) == nil and not dog:is_valid())
end)

scenario("an object of a class whose removal was rolled back can change", function()
  local toy
  store:write(function() toy = store:create("Toy", { label = "ball", price = 2 }) end)
  local schema = store:schema()
  schema.Toy, schema.Dog.toys = nil, nil
  local function remove(m)
    m:delete_class("Toy")
    error("no", 0)
  end
  fails(": no", store.define, store, schema, remove)
  assert(toy:is_valid() and toy.label == "ball")
  store:write(function() toy.label = "rope" end)
  assert(toy.label == "rope" and store:objects("Toy")[1].label == "rope")
end)

scenario("an open file refuses another schema version", function()
  fill()
  local s <close> = reopen { schema = old, schema_version = 2 }
  equal(reopen { schema = old, schema_version = 2 }, s)
  fails("invalid_argument", reopen, { schema = old, schema_version = 3 })
  fails("version_too_low", reopen, { schema = old, schema_version = 1 })
  local other = { Dog = { id = "int primary", name = "int" } }
  fails("migration_needed", reopen, { schema = other, schema_version = 2 })
  local said = message(reopen, { schema = other, schema_version = 2 })
  assert(said:find(path .. "' is open with another schema; close it first", 1, true) and said:find("'Dog.name'", 1, true), said)
  s:close()
  for code_wanted, options in pairs {
      version_too_low = { schema = old, schema_version = 1 }, migration_needed = { schema = other, schema_version = 2 },
      duplicate_key = { schema = { Dog = { name = "string primary" }, Person = { name = "string primary" } },
                        schema_version = 3, drops = { "Dog.id", "Dog.age", "Dog.owner", "Person.dogs" },
                        migration = function(m) m:each("Dog", function(_, new) new.name = "same" end) end },
  } do
      assert(code(reopen, options) == code_wanted, code_wanted .. " " .. message(reopen, options))
      assert(message(reopen, options):find("'" .. path .. "'", 1, true), message(reopen, options))
  end
  fails("invalid_argument", moonpool.open, { path = path, schema = old, migration = 5 })
end)

scenario("an option empties a file instead of migrating it, unless only classes or indexes change", function()
  fill()
  local dog = old.Dog
  local indexed = { Dog = { id = "int primary", name = "string indexed", age = "int?", owner = "Person" }, Person = old.Person,
                    Toy = { label = "string" } }
  local less = { Dog = { id = "int primary", title = "string" } }
  for _, case in ipairs {
    { indexed, 0, 3 }, { old, 0, 3 }, { old, 1, 0 }, { less, 1, 0 }, { less, 3, 0 }, { less, 2, 0 },
  } do
    local s <close> = reopen { schema = case[1], schema_version = case[2], delete_if_migration_needed = true,
                               migration = case[2] > 0 and function() error "not called" end or nil }
    equal({ #s:objects "Dog", s.schema_version }, { case[3], case[2] })
    if case[1] == less then
      s:write(function() s:create("Dog", { id = 1, title = "x" }) end)
    elseif case[2] == 1 then
      s:write(function() s:create("Dog", { id = 1, name = "x" }) end)
    end
  end
  assert(dog == old.Dog)
end)

scenario("the function runs for a higher version only, even if the schema is the same", function()
  path = folder .. "/dogs.moonpool"
  local calls = {}
  for _, version in ipairs { 2, 2, 4 } do
    local s <close> = reopen { schema = old, schema_version = version,
                               migration = function(m) calls[#calls + 1] = m.old_version .. " " .. m.new_version end }
    equal(s.schema_version, version)
  end
  equal(calls, { "2 4" })
end)

scenario("each skips deleted and created objects, and its function can delete and create others", function()
  fill()
  local s <close> = reopen { schema = old, schema_version = 1, migration = function(m)
    m:delete(m.new:object("Dog", 2))
    m:create("Dog", { id = 9, name = "new" })
    local seen = {}
    m:each("Dog", function(o) seen[#seen + 1] = o.id end)
    equal(seen, { 1, 3 })
    m:each("Dog", function(o, new)
      if o.id == 3 then m:delete(new) else m:create("Dog", { id = o.id + 10, name = "twin" }) end
    end)
  end }
  equal(s:objects("Dog"):map(function(dog) return dog.id end), { 1, 9, 11 })
end)

scenario("deleting a class empties it, or removes it if the schema does not contain it", function()
  path = folder .. "/toys.moonpool"
  local toy, box = { label = "string indexed" }, { n = "int" }
  local s = reopen { schema = { Toy = toy, Box = box } }
  s:write(function() s:create("Toy", { label = "ball" }) s:create("Box", { n = 1 }) end)
  s:close()
  s = reopen { schema = { Box = box }, schema_version = 1, migration = function(m)
    assert(m:delete_class "Toy" and not m:delete_class "Toy" and m:delete_class "Box")
    m:create("Box", { n = 7 })
  end }
  assert(not s:schema().Toy and #s:objects "Box" == 1 and s:objects("Box")[1].n == 7)
  s:close()
  -- The name is free again, and no data of the old class remains.
  s = reopen { schema = { Toy = toy, Box = box }, schema_version = 1 }
  assert(#s:objects "Toy" == 0 and #s:objects("Toy"):where "label == 'ball'" == 0)
  s:close()
end)

scenario("a class outside the schema keeps its objects until a schema contains it", function()
  fill()
  local person = { name = "string primary" }
  reopen({ schema = { Person = person }, schema_version = 1 }):close()
  local s <close> = reopen { schema = { Person = person, Dog = old.Dog }, schema_version = 2 }
  assert(#s:objects "Dog" == 3 and s:object("Dog", 2).owner.name == "Ann")
end)

-- Keys.

local item = { Item = { id = "int primary", tag = "string" } }

local function fill_items(...)
  path = folder .. "/items.moonpool"
  local s <close> = reopen { schema = item }
  local tags = { ... }
  s:write(function() for n, tag in ipairs(tags) do s:create("Item", { id = n - 1, tag = tag }) end end)
end

local function migrate(schema, version, migration, drops)
  return reopen { schema = schema, schema_version = version, migration = migration, drops = drops }
end

scenario("duplicate keys of a migration are reported, and can be removed", function()
  fill_items("a", "b", "c")
  local function same(m) m:each("Item", function(_, new) new.id = 7 end) end
  fails("duplicate_key: 'Item.id'", migrate, item, 1, same)
  fails("duplicate_key: 7", migrate, item, 1, same)
  local s <close> = migrate(item, 1, function(m)
    same(m)
    m:each("Item", function(o, new) if o.id ~= 1 then m:delete(new) end end)
  end)
  assert(s:object("Item", 7).tag == "b" and s:object("Item", 1) == nil)
end)

scenario("objects are found by the new key while the migration runs", function()
  fill_items("a", "b")
  local s <close> = migrate({ Item = { code = "string primary", n = "int" } }, 1, function(m)
    m:rename_property("Item", "tag", "code")
    m:create("Item", { code = "c", n = 3 })
    m:create("Item", { code = "a", n = 1 }, "all")
    fails("duplicate_key", m.create, m, "Item", { code = "b", n = 1 })
  end, { "Item.id" })
  assert(#s:objects "Item" == 3 and s:object("Item", "a").n == 1)
end)

scenario("the key moves to another property, and changes its type", function()
  fill_items("a", "b", "b")
  local moved, retyped = { Item = { tag = "string primary", id = "int" } }, { Item = { id = "string primary", tag = "string" } }
  fails('duplicate_key: "b"', migrate, moved, 1)
  local s = migrate(item, 0)
  s:write(function() s:delete(s:object("Item", 2)) end)
  s:close()
  s = migrate(moved, 1)
  equal(s:object("Item", "b").id, 1)
  s:write(function() fails("duplicate_key", s.create, s, "Item", { tag = "a", id = 5 }) end)
  s:close()
  s = migrate(retyped, 2)
  equal(s:object("Item", "1").tag, "b")
  s:close()
  s = migrate(retyped, 3, function(m) m:each("Item", function(o, new) new.id = "#" .. o.id end) end)
  equal(s:object("Item", "#1").tag, "b")
  s:write(function()
    fails("invalid_argument", function() s:object("Item", "#1").id = "x" end)
    s:delete_all()
  end)
  s:close()
  s = migrate({ Item = { id = "uuid primary", tag = "string" } }, 4)
  equal(s:schema("Item").id, "uuid primary")
  s:close()
end)

scenario("after a migration, only one object can have a nil key", function()
  fill_items("a", "b")
  local optional = { Item = { key = "string? primary", tag = "string" } }
  fails("duplicate_key: nil", migrate, optional, 1, nil, { "Item.id" })
  local s <close> = migrate(optional, 1, function(m)
    m:each("Item", function(o, new) if o.id == 0 then new.key = "zero" end end)
  end, { "Item.id" })
  equal(s:object("Item", moonpool.null).tag, "b")
end)

scenario("writes return results, roll back on errors and cannot nest", function()
  local a, b = store:write(function() return 1, "x" end)
  assert(a == 1 and b == "x")
  local ok, err = pcall(store.write, store, function() store:create("Toy", { "a", 1 }) error({ mine = true }) end)
  assert(not ok and err.mine and #store:objects("Toy") == 0 and not store.is_in_write)
  fails("not_in_write", function() store:create("Toy", { "a", 1 }) end)
  fails(": store:write", function() store:create("Toy", { label = "a", price = 1 }) end)
  store:begin_write()
  local toy = store:create("Toy", { "a", 1 })
  fails("already_in_write: commit or cancel it first", store.begin_write, store)
  fails("already_in_write", store.write, store, error)
  fails("already_in_write", store.define, store, { X = { a = "int" } })
  assert(store.is_in_write and store:refresh() == false)
  store:commit_write()
  fails("not_in_write", store.delete, store, toy)
  assert(toy.label == "a" and #store:objects "Toy" == 1)
  assert(code(store.cancel_write, store) == "not_in_write" and code(store.commit_write, store) == "not_in_write")
  for _, finish in ipairs { store.cancel_write, store.commit_write } do
    store:write(function()
      store:create("Toy", { "b", 1 })
      finish(store)
      assert(not store.is_in_write)
    end)
  end
  assert(#store:objects "Toy" == 2 and not store.is_in_write)
end)

scenario("a rollback reverts creations, deletions, values and links", function()
  local ann, rex = store:write(function()
    return store:create("Person", { name = "Ann" }), store:create("Dog", { id = 1, name = "Rex", score = 1, good = true })
  end)
  store:write(function() rex.owner = ann end)
  store:begin_write()
  local new = store:create("Dog", { id = 2, name = "Max", score = 1, good = true })
  rex.name = "changed"
  store:delete(ann)
  assert(not ann:is_valid() and rex.owner == nil)
  store:cancel_write()
  assert(ann:is_valid() and not new:is_valid() and rex.name == "Rex" and rex.owner == ann and #store:objects "Dog" == 1)
end)

scenario("a write starts from the newest version", { Dog = { id = "int primary" } }, function()
  elsewhere("Dog", 1, {})
  store:begin_write()
  equal(#store:objects "Dog", 1)
  fails("duplicate_key", store.create, store, "Dog", { id = 1 })
  store:cancel_write()
end)

scenario("the live values of a closed store report it, and frozen ones stay", function()
  local other = moonpool.open { in_memory = unique "released", schema = { Dog = { name = "string" } } }
  local rex = other:write(function() return other:create("Dog", { name = "Rex" }) end)
  local tim = rex:freeze()
  local dogs = other:objects "Dog"
  assert(#dogs == 1 and dogs[1] == rex)
  other:close()
  assert(code(function() return rex.name end) == "closed" and tim.name == "Rex")
  fails("closed", function() return dogs[1] end)
  fails("closed", function() for dog in dogs:each() do end end)
  assert(code(other.objects, other, "Dog") == "closed" and not rex:is_valid() and not other.is_in_write)
  for _, name in ipairs { "begin_write", "refresh" } do fails("closed", other[name], other) end
end)

scenario("a savepoint rolls back a part of a write", function()
  fails("not_in_write: store:write", store.savepoint, store, function() end)
  local inner
  store:write(function()
    local a, b = store:savepoint(function() return store:create("Toy", { label = "a", price = 1 }), 2 end)
    assert(a.label == "a" and b == 2)
    local reason = {}
    local ok, err = pcall(store.savepoint, store, function()
      inner = store:create("Toy", { label = "b", price = 1 })
      a.price = 9
      store:savepoint(function() store:delete(a) end)
      assert(not a:is_valid() and #store:objects "Toy" == 1)
      for _, name in ipairs { "begin_write", "commit_write", "cancel_write", "undo", "redo" } do
        fails("already_in_write", store[name], store)
      end
      fails("already_in_write", store.write, store, function() end)
      fails("already_in_write", store.define, store, { Cat = { name = "string" } })
      error(reason)
    end)
    assert(not ok and err == reason and store.is_in_write)
    assert(a:is_valid() and a.price == 1 and not inner:is_valid() and #store:objects "Toy" == 1)
    local wrong = pcall(store.savepoint, store, function() store:objects "Toi" end)
    assert(not wrong)
    fails("invalid_argument", store.savepoint, store)
  end)
  equal(#store:objects "Toy", 1)
  store:write(function() store:create("Toy", { label = "c", price = 1 }) end)
  assert(not inner:is_valid())
  -- Closing the store inside a savepoint rolls back everything.
  fails(": no", store.write, store, function()
    store:savepoint(function()
      store:close()
      error "no"
    end)
  end)
end)

scenario("objects whose changes a savepoint rolled back stay readable", {
  Dog = { age = "int" }, Toy = { price = "int" },
}, function()
  local toy, dog = store:write(function()
    local toy, dog = store:create("Toy", { price = 0 }), store:create("Dog", { age = 4 })
    store:savepoint(function() end)
    return toy, dog
  end)
  store:write(function()
    pcall(store.savepoint, store, function()
      dog.age = 7
      store:savepoint(function() end)
      error "lost"
    end)
    equal(dog.age, 4)
  end)
  -- Later writes use the pages again that this write has freed.
  for price = 1, 4 do
    store:write(function()
      toy.price = price
      store:savepoint(function() end)
      equal({ dog.age, #store:objects "Dog" }, { 4, 1 })
    end)
  end
end)

local manyClasses = {}
for k = 1, 8 do manyClasses["Class" .. k] = { n = "int" } end

scenario("random nested savepoints keep and lose exactly their changes", manyClasses, function()
  local random = math.random
  local objects, values = {}, {}
  store:write(function()
    for k = 1, 8 do objects[k], values[k] = store:create("Class" .. k, { n = k }), k end
    store:savepoint(function() end)
  end)
  local function check()
    for k, object in ipairs(objects) do equal({ object.n, #store:objects("Class" .. k) }, { values[k], 1 }) end
  end
  local function change(depth)
    for _ = 1, random(3) do
      local k = random(8)
      if depth < 3 and random(2) == 1 then
        local before = table.move(values, 1, 8, 1, {})
        local isKept = random(2) == 1
        pcall(store.savepoint, store, function()
          change(depth + 1)
          if not isKept then error "lost" end
        end)
        if not isKept then values = before end
      else
        values[k] = random(100)
        objects[k].n = values[k]
      end
    end
  end
  for seed = 1, 4 do
    math.randomseed(seed)
    for _ = 1, 30 do
      store:write(function() change(0) check() end)
      check()
    end
  end
end)

scenario("handles and observers see what savepoints keep", { Dog = { id = "int primary", age = { type = "int", default = 0 } } }, function()
  local function new(id) return store:create("Dog", { id = id }) end
  local function lose(body) pcall(store.savepoint, store, function() body() error "lost" end) end
  local first = store:write(function() return new(1) end)
  local news, lost = changes(store:objects "Dog"), {}
  store:write(function()
    lose(function()
      lost[1] = new(2)
      store:delete(first)
    end)
    assert(first:is_valid() and not lost[1]:is_valid())
    store:savepoint(function()
      new(2)
      lose(function()
        lost[2] = new(3)
        first.age = 9
      end)
    end)
    equal(first.age, 0)
  end)
  equal(news(), "ins[2]")
  store:write(function() new(3) new(4) end)
  assert(not lost[1]:is_valid() and not lost[2]:is_valid())
end)

scenario("an unmanaged graph that cannot be stored changes nothing", function()
  local s <close> = moonpool.open {
    in_memory = unique "graph",
    schema = { Person = { name = "string primary", age = "int?", friend = "Person", friends = "Person[]" } },
  }
  s:write(function() s:create("Person", { name = "Bob", age = 1 }) end)
  for _, mode in ipairs { "error", "all", "modified" } do
    s:write(function()
      local ann = moonpool.new("Person", { name = "Ann" })
      local bob = moonpool.new("Person", { name = mode == "error" and "Ben" or "Bob", age = 50, friend = ann })
      ann.friends = { bob, moonpool.new("Person", { name = "Cid", friend = moonpool.new("Person", {}) }) }
      fails("missing_value", s.add, s, ann, mode)
      assert(#s:objects "Person" == 1 and s:object("Person", "Bob").age == 1)
      equal(s:object("Person", "Bob").friend, nil)
    end)
  end
end)

scenario("the same path opens the same store, and closing is final", function()
  local a = moonpool.open { in_memory = unique "twice", schema = { Toy = { label = "string" } } }
  local b = moonpool.open { in_memory = unique "twice" }
  equal(a, b)
  fails("invalid_argument", moonpool.open, { in_memory = unique "twice", durability = "async" })
  a:write(function() a:create("Toy", { label = "x" }) end)
  local toy = a:objects("Toy")[1]
  a:close()
  a:close()
  assert(a.is_closed and tostring(a):find("closed"))
  fails("closed", function() return toy.label end)
  fails("closed", function() return a:objects("Toy") end)
  equal(tostring(toy), "Toy (of a closed store)")
  local scoped
  do local c <close> = moonpool.open { in_memory = unique "scoped" } scoped = c end
  assert(scoped.is_closed)
end)

scenario("options are checked by name and type", function()
  fails("invalid_argument", moonpool.open)
  fails(": path", moonpool.open, { pth = "x" })
  fails("invalid_argument", moonpool.open, { path = "a", in_memory = "b" })
  fails("invalid_argument", moonpool.open, { in_memory = unique "a", durability = "never" })
  fails("invalid_argument", moonpool.open, { in_memory = unique "a", schema = {}, schema_version = -1 })
  -- Without a schema, the file must have the version.
  fails("migration_needed", moonpool.open, { in_memory = unique "a", schema_version = 1 })
  -- A migration would do nothing, silently.
  fails("invalid_argument", moonpool.open, { in_memory = unique "a", migration = print })
  fails("invalid_argument", moonpool.open, { in_memory = unique "a", read_only = 1 })
  assert(code(moonpool.open, "") == "invalid_argument" and code(moonpool.open, { in_memory = "" }) == "invalid_argument")
  fails(": from 1 to 2^50", moonpool.open, { in_memory = unique "a", max_live_versions = 0 })
  fails(": from 1 to 2^50", moonpool.open, { in_memory = unique "a", threads = 0 })
  fails("invalid_schema", moonpool.open, { in_memory = unique "a", schema = { Dog = { name = "strin" } } })
  fails("invalid_schema", moonpool.open, { in_memory = unique "a", schema = { Dog = { name = {} } } })
  fails("invalid_schema", moonpool.open, { in_memory = unique "a", schema = { Dog = 1 } })
  fails(": indexed", moonpool.open, { in_memory = unique "a", schema = { Dog = { name = { type = "int", indx = true } } } })
end)

scenario("errors have codes and similar names", function()
  local rex = dog()
  fails("unknown_class: 'Dog'", store.objects, store, "Dgo")
  fails("unknown_property: 'name'", function() return rex.nmae end)
  fails(": 'update'", function() rex:updat {} end)
  fails("unknown_property", function() return rex[1] end)
  store:begin_write()
  for number, shown in pairs { [2 ^ 63] = "9.2", [1 / 0] = "inf", [1.5] = "1.5" } do
    local said = message(function() rex.age = number end)
    assert(said:find(shown, 1, true) and said:find("not a whole number of 64 bits", 1, true), said)
  end
  for name, make in pairs { born = "date", tag = "uuid", code = "object_id" } do
    local said = message(function() rex[name] = "x" end)
    assert(said:find("create it with moonpool." .. make, 1, true), said)
  end
  fails(": an element of 'marks' of 'Dog' expects int, got a table", function() rex.marks:append { 1, 2 } end)
  fails(": use moonpool.null for nil", moonpool.json.encode, { 1, nil, 3 })
  fails("type_mismatch", function() rex.name = 1 end)
  fails("type_mismatch", function() rex.name = "\xff" end)
  fails("type_mismatch", function() rex.age = 1.5 end)
  fails("type_mismatch", function() rex.age = {} end)
  fails("type_mismatch", function() rex.age = print end)
  fails("invalid_argument", function() rex.class = "Cat" end)
  fails("type_mismatch", function() rex.marks = { 1, nil, 3, x = 1 } end)
  fails("out_of_range", function() rex.marks:insert(0, 1) end)
  fails("out_of_range", function() rex.marks:remove(math.mininteger) end)
  assert(message(function() rex.marks[math.maxinteger] = 1 end):find(math.maxinteger, 1, true))
  local loop = {} loop.owner = loop loop.dogs = { loop }
  assert(code(function() store:create("Person", { name = "x", dogs = { { id = 7, name = "y", score = 1, good = true, owner = loop } } }) end) ~= "no error")
  assert(code(function() store:create("Toy", { 1, 2, 3 }) end) ~= "no error")
  fails("invalid_argument", function() store:delete(5) end)
  store:cancel_write()
  fails("invalid_argument: no primary key", store.object, store, "Toy", 1)
  fails("type_mismatch: property 'id' of 'Dog' expects int, got string", store.object, store, "Dog", "x")
  fails("unknown_class", store.object, store, "Dgo", 1)
  fails("unknown_property", function() return store.nope end)
  fails("invalid_argument", store.create)
  local other = moonpool.open { in_memory = unique "other", schema = { Person = { name = "string primary" } } }
  local ann = other:write(function() return other:create("Person", { name = "Ann" }) end)
  fails("invalid_object", function() store:write(function() rex.owner = ann end) end)
  fails("invalid_object", function() store:write(function() store:delete(ann) end) end)
end)

scenario("errors print with file and line", function()
  local ok, err = pcall(function()
    store:create("Toy", {})
  end)
  assert(not ok and err.code == "not_in_write" and tostring(err):find "^stores.lua:%d+: 'Toy' can only be changed")
  assert(err.where:find "^stores.lua:%d+$")
end)

scenario("dates, identifiers and data are created, compared and printed", function()
  local d = moonpool.date { year = 2026, month = 2, day = 28, hour = 23 }
  assert(tostring(d) == "2026-02-28T23:00:00Z" and d.month == 2 and d.seconds == 1772319600.0)
  assert(d + 3600 > d and (d + 90) - d == 90.0 and d - 60 < d and d <= d and d == moonpool.date(d.seconds))
  assert(moonpool.date(0) == moonpool.date "1970-01-01" and moonpool.date() > d - 1e10)
  assert(code(moonpool.date, "yesterday") == "invalid_argument" and code(moonpool.date, {}) == "invalid_argument")
  fails(": did you mean 'hour'", moonpool.date, { year = 2026, hours = 4 })
  equal(moonpool.date(os.date("!*t", 86400)), moonpool.date(86400))
  assert(code(moonpool.date, 1e300) == "invalid_argument" and code(function() return d + 1e300 end) == "invalid_argument")
  assert(code(function() d.year = 1 end) == "invalid_argument" and code(function() return d.yaer end) == "unknown_property")
  local u = moonpool.uuid()
  assert(#tostring(u) == 36 and moonpool.uuid(tostring(u)) == u and u ~= moonpool.uuid())
  fails("invalid_argument", moonpool.uuid, "x")
  local o = moonpool.object_id()
  assert(#tostring(o) == 24 and moonpool.object_id(tostring(o)) == o and o < moonpool.object_id())
  assert(tostring(moonpool.data "a\0b") == "a\0b" and #moonpool.data "abc" == 3 and moonpool.data "a" == moonpool.data "a")
  assert(tostring(moonpool.null) == "null" and d:to_table().year == 2026)
end)

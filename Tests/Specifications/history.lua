-- Earlier versions, undo and redo in scripts.

scenario("a store shows its content at an earlier version", function()
  local rex = dog { id = 1, age = 3, marks = { 1, 2 }, owner = { name = "Ann" } }
  local v = store.version
  store:write(function() rex.age = 4 rex.marks:append(3) rex.owner = nil end)
  dog { id = 2 }
  local past = store:at(v)
  assert(past.version == v and past.is_frozen and past.is_read_only and past.path == store.path)
  local old = past:object("Dog", 1)
  assert(old.age == 3 and #old.marks == 2 and old.owner.name == "Ann" and old.owner.owned[1] == old)
  assert(#past:objects "Dog" == 1 and past:objects("Dog"):where("age == 3")[1] == old)
  assert(old:is_frozen() and old:thaw() == rex and old.store == past and store:at(v) == past)
  assert(tostring(past):find("version " .. v, 1, true))
  equal(store:at(store.version), store:freeze())
  assert(code(function() old.age = 1 end) == "frozen" and code(past.undo, past) == "frozen")
  fails("out_of_range", store.at, store, store.version + 1)
  fails(": oldest version is", store.at, store, 0)
  fails(": 0 or more", store.at, store, -1)
  assert(not pcall(store.at, store, "x") and not pcall(store.at, store) and not pcall(store.at, store, 1.5))
  past:close()
  fails("closed", past.objects, past, "Dog")
  assert(store:at(v) ~= past and store:at(v):object("Dog", 1).age == 3)
end)

scenario("versions can be read after the file is reopened", function()
  local function open() return moonpool.open { path = folder .. "/file", durability = "memory", schema = kennel } end
  local file = open()
  local empty = file.version
  file:write(function() file:create("Toy", { "ball", 1 }) end)
  file:write(function() file:objects("Toy")[1].label = "later" end)
  file:close()
  file = open()
  assert(#file:at(empty):objects "Toy" == 0 and file:at(empty + 1):objects("Toy")[1].label == "ball")
  file:undo()
  equal(file:objects("Toy")[1].label, "ball")
  file:close()
end)

scenario("restored objects are the same objects, with their links, also beside new ones", function()
  local rex, ann = dog { id = 1, owner = { name = "Ann" }, toys = { { "ball", 1 } } }, nil
  ann = rex.owner
  store:write(function() ann.dogs:append(rex, rex) end)
  store:write(function() store:delete_all() end)
  assert(not rex:is_valid() and not ann:is_valid())
  local function check()
    assert(rex:is_valid() and rex.owner == ann and rex.toys[1].label == "ball" and store:object("Dog", 1) == rex)
    equal({ ann.dogs, ann.owned }, { { rex, rex }, { rex } })
    equal(store:objects "Dog", { rex })
  end
  equal(store:undo(), store.version - 1)
  check()
  store:write(function() store:delete(rex) end)
  dog { id = 1, name = "New" }
  store:undo()
  store:undo()
  check()
end)

scenario("undo and redo change the data, and observers receive the changes", function()
  local rex = dog { id = 1, age = 3 }
  turn()
  local observed = {}
  local token = store:objects("Dog"):observe(function(c)
    observed[#observed + 1] = #c.deletions .. #c.insertions .. #c.modifications
  end)
  turn()
  store:write(function() rex.age = 4 end)
  turn()
  store:write(function() store:delete(rex) end)
  turn()
  equal(store:undo(), store.version - 1)
  assert(rex:is_valid() and rex.age == 4)
  turn()
  assert(store:undo() < store.version - 1 and rex.age == 3)
  turn()
  equal(table.concat(observed, " "), "000 001 100 010 001")
  store:redo()
  equal(rex.age, 4)
  store:redo()
  assert(not rex:is_valid())
  fails(": nothing to redo", store.redo, store)
  store:undo()
  store:write(function() rex.age = 5 end)
  fails("invalid_argument", store.redo, store)
  store:begin_write()
  fails("already_in_write", store.undo, store)
  store:cancel_write()
  token:invalidate()
end)

scenario("undo with a version deletes and restores objects on its way", function()
  local rex = dog { id = 1, age = 1, marks = { 1 } }
  local first = store.version
  store:write(function() rex.age = 10 rex.marks:append(2) end)
  local wanted = store.version
  store:write(function() store:delete(rex) end)
  dog { id = 2, age = 2 }
  store:undo(first)
  local function check()
    equal(store:undo(wanted), wanted)
    assert(rex:is_valid() and rex.age == 10 and #rex.marks == 2 and store:object("Dog", 1) == rex)
    assert(#store:objects("Dog"):where "age == 1" == 0 and #store:objects("Dog"):where "age == 10" == 1)
    assert(#store:objects "Dog" == 1)
  end
  dog { id = 3, age = 3 }   -- the way deletes the object, and restores it
  check()
  store:undo(first)
  store:write(function() store:delete(rex) end)   -- the way restores it, deletes it, and restores it
  check()
  store:redo()
  assert(not rex:is_valid())
end)

scenario("undo with a version restores its state in one commit, and redo reverses that", function()
  local rex = dog { id = 1, age = 3 }
  local v = store.version
  store:write(function() rex.age = 4 end)
  dog { id = 2 }
  store:write(function() rex.age = 5 end)
  local last = store.version
  assert(store:undo(v) == v and store.version == last + 1)
  assert(rex.age == 3 and #store:objects "Dog" == 1)
  local versions = store:versions()
  local newest = versions[#versions]
  assert(newest.version == last + 1 and newest.restored == v)
  store:redo()
  assert(rex.age == 5 and #store:objects "Dog" == 2)
  fails("invalid_argument", store.undo, store, store.version)
  fails("out_of_range", store.undo, store, store.version + 1)
  fails(": 0 or more", store.undo, store, -1)
end)

scenario("undo restores an object that the reversed commits delete and restore, with its indexes", {
  Note = {
    id = "int primary", i = "int indexed", s = "string indexed", f = "string fulltext", x = "mixed", p = "Note",
    l = "Note[]", m = "Note{}", ints = "int[]", many = "int[]", u = { type = "string", unique = true },
    long = "string", parts = "Part[]", owners = "backlinks Note.p", indexes = { { "i", "s" } },
  },
  Part = { embedded = true, a = "int", note = "Note" },
}, function()
  local many = {}
  for i = 1, 3000 do many[i] = i end
  local a, b = store:write(function()
    local a = store:create("Note", { id = 1, i = 1, s = "a", f = "red", u = "a", long = "" })
    return a, store:create("Note", {
      id = 2, i = 2, s = "b", f = "green dog", x = { a }, p = a, l = { a, a }, m = { k = a }, ints = { 1, 2, 3 },
      many = many, u = "b", long = ("long "):rep(200), parts = { { a = 1, note = a } },
    })
  end)
  local function text(value)
    if type(value) ~= "table" then return tostring(value) end
    local parts = {}
    for key, element in pairs(value) do parts[#parts + 1] = key .. "=" .. text(element) end
    table.sort(parts)
    return "{" .. table.concat(parts, " ") .. "}"
  end
  local function state()
    local found = { #a.owners }
    for _, query in ipairs {
      "i == 2", "i == 9", "s == 'b'", "s == 'bb'", "f text 'green'", "f text 'blue'", "u == 'b'", "i == 2 and s == 'b'",
      "p.id == 1", "@links.Note.p.id == 2", "@links.Note.l.id == 2", "any @links.Note.m.id == 2", "x[1].id == 1",
      "any parts.note.id == 1", "@links.@count > 0",
    } do found[#found + 1] = store:objects("Note"):where(query):count() end
    return table.concat(found, " ") .. (b:is_valid() and text(b:to_table()) or "")
  end
  local states = { [store.version] = state() }
  local first = store.version
  for _, change in ipairs {
    function() b.ints:append(4) end,
    function() b.ints[1] = 7 b.i = 9 b.s = "bb" b.f = "blue dog" b.p = nil end,
    function() b.many:remove(1) b.i = 2 b.s = "b" b.f = "green" b.p = a end,
  } do
    store:write(change)
    states[store.version] = state()
  end
  local last = store.version
  local function restore(version)
    store:undo(version)
    equal(state(), states[version])
  end
  -- The shortest way back is to reverse the undo and the deletion.
  store:write(function() store:delete(b) end)
  restore(first)
  restore(last)
  restore(first)
  store:write(function() store:delete(b) end)
  local gone = store.version
  states[gone] = state()
  restore(last)
  restore(gone)
  restore(first)
  restore(last)
end)

scenario("all changes after the last schema change can be undone", function()
  for i = 1, 5 do dog { id = i } end
  for i = 5, 1, -1 do
    store:undo()
    equal(#store:objects "Dog", i - 1)
  end
  fails(": changed the schema", store.undo, store)
  for i = 1, 5 do store:redo() end
  equal(#store:objects "Dog", 5)
  fails("invalid_argument: nothing to redo", store.redo, store)
  store:define { Cat = { name = "string" } }
  fails("invalid_argument: version " .. store.version .. " changed the schema", store.undo, store)
end)

scenario("diff returns added, removed and changed objects with values", function()
  local rex, max = dog { id = 1, age = 3 }, dog { id = 2 }
  local v = store.version
  store:write(function() rex.age = 4 rex.marks:append(7) rex.owner = { name = "Ann" } end)
  store:write(function() store:delete(max) end)
  dog { id = 3, name = "New" }
  local diff = store:diff(v, store.version)
  assert(#diff.Dog.inserted == 1 and diff.Dog.inserted[1].name == "New")
  assert(#diff.Dog.deleted == 1 and diff.Dog.deleted[1].id == 2)
  local changed = diff.Dog.modified
  assert(#changed == 1 and changed[1].object:thaw() == rex)
  local byName = {}
  for _, p in ipairs(changed[1].properties) do byName[p.name] = p end
  assert(byName.age.old == 3 and byName.age.new == 4)
  assert(#byName.marks.old == 0 and byName.marks.new[1] == 7)
  assert(byName.owner.old == nil and byName.owner.new.name == "Ann")
  assert(#diff.Person.inserted == 1 and diff.Toy == nil)
  equal(store:diff(store.version, v).Dog.deleted[1].name, "New")
  equal(next(store:diff(v, v)), nil)
  fails("out_of_range", store.diff, store, v, store.version + 9)
  -- A value that was set back is not a difference, and neither is an undone deletion.
  local before = store.version
  store:write(function() rex.age = 5 end)
  store:write(function() rex.age = 4 store:delete(store:object("Dog", 3)) end)
  store:undo()
  store:undo()
  equal(next(store:diff(before, store.version)), nil)
end)

scenario("versions lists the changes of each", function()
  local rex = dog { id = 1 }
  store:write(function() rex.age = 1 end)
  store:undo()
  local versions = store:versions()
  local last = versions[#versions]
  assert(last.version == store.version and last.restored == store.version - 2 and last.is_kept)
  assert(last.classes.Dog.modified == 1 and last.classes.Dog.inserted == 0)
  equal(versions[#versions - 2].classes.Dog.inserted, 1)
  local schema = 0
  for _, version in ipairs(versions) do if version.changes_schema then schema = schema + 1 end end
  assert(schema >= 1)
end)

scenario("history = 0 keeps no versions, and another number is an error while the store is open", function()
  local s = moonpool.open { in_memory = unique "h0", history = 0, schema = { A = { x = "int" } } }
  s:write(function() s:create("A", { x = 1 }) end)
  fails(": history = 0", s.undo, s)
  fails("invalid_argument", moonpool.open, { in_memory = unique "h0", history = 5 })
  fails(": history", moonpool.open, { in_memory = unique "h1", history = -1 })
end)

-- Recording and replaying changes in scripts.

scenario("replaying a recording notifies the observers of another store", function()
  local path = folder .. "/recording"
  local recording = store:record(path)
  assert(recording.path == path and recording.is_active and recording.steps == 0)
  local rex = dog { id = 1, age = 3, owner = { name = "Ann" }, toys = { { label = "ball", price = 1 } } }
  store:write(function() rex.age = 4 end)
  store:undo()
  store:write(function() store:delete(rex) end)
  equal(recording.steps, 4)
  recording:stop()
  recording:stop()
  dog { id = 2 }
  assert(not recording.is_active and recording.steps == 4 and tostring(recording):find("stopped"))

  local copy = moonpool.open { in_memory = unique "copy" }
  copy:define { Dog = store:schema "Dog", Person = store:schema "Person", Toy = store:schema "Toy" }
  local observed = {}
  local token = copy:objects("Dog"):observe(function(change)
    if change.type == "initial" then return end
    observed[#observed + 1] = "-" .. #change.deletions .. "+" .. #change.insertions .. "~" .. #change.modifications
  end)
  turn()
  local steps, changes = moonpool.replay(path, copy)
  turn()
  assert(steps == 4 and changes == 6, changes)
  equal(table.concat(observed, " "), "-0+1~0 -0+0~1 -0+0~1 -1+0~0")
  assert(#copy:objects "Dog" == 0 and copy:object("Person", "Ann") and #copy:objects "Toy" == 1)
  token:invalidate()
end)

except { confined = "io is not available" }

scenario("a replay repeats renames and removals of classes and properties", function()
  local path = folder .. "/recording"
  local toys = { type = "Toy[]", owns = true }
  local zoo = moonpool.open {
    in_memory = unique "zoo",
    schema = {
      Dog = { id = "int primary", first = "string", last = "string", owner = "Person", toys = toys },
      Person = { name = "string", dogs = "backlinks Dog.owner" }, Toy = { label = "string" }, Note = { about = "Dog" },
    },
  }
  local recording = zoo:record(path, { snapshot = true })
  zoo:write(function()
    local rex = zoo:create("Dog", { id = 1, first = "Rex", last = "Lee", owner = { name = "Ann" } })
    rex.toys:append { label = "ball" }
    zoo:create("Note", { about = rex })
  end)
  zoo:define({
    Dog = { key = "int primary", first = "string", last = "string", owner = "Human", toys = toys },
    Human = { name = "string", dogs = "backlinks Dog.owner" },
  }, function(m)
    m:rename_property("Dog", "id", "key")
    m:rename_property("Dog", "first", "last")
    m:rename_property("Dog", "last", "first")
    m:rename_class("Person", "Human")
    m:delete_class "Note"
  end)
  zoo:write(function() zoo:objects("Dog")[1].first = "Li" end)
  zoo:define({ Human = { name = "string" } }, function(m) m:delete_class "Dog" end)
  zoo:write(function() zoo:objects("Human")[1].name = "Bo" end)
  recording:stop()

  local copy = moonpool.open { in_memory = unique "copy" }
  local checked
  local token = copy:observe(function()
    local dog = copy:schema().Dog and copy:schema("Dog").key and copy:objects("Dog")[1]
    checked = checked or dog and dog.first == "Li" and
      dog.key == 1 and dog.last == "Rex" and dog.owner.name == "Ann" and dog.owner.dogs[1] == dog
  end)
  moonpool.replay(path, copy)
  token:invalidate()
  assert(checked)
  equal(moonpool.schema_text(copy), moonpool.schema_text(zoo))
  equal(#copy:objects "Toy", #zoo:objects "Toy")
  equal(copy:objects("Human")[1].name, "Bo")
end)

except { confined = "io is not available" }

scenario("a replay restores links to the object whose primary key is nil", function()
  local path = folder .. "/recording"
  local zoo = moonpool.open {
    in_memory = unique "zoo", schema = { Dog = { id = "int? primary", age = "int", next = "Dog", any = "mixed" } },
  }
  local recording = zoo:record(path)
  zoo:write(function()
    local dog = zoo:create("Dog", { age = 1 })
    zoo:create("Dog", { id = 1, age = 2, next = dog, any = { dog } })
  end)
  zoo:write(function() zoo:objects("Dog"):where("id == nil")[1].age = 3 end)
  recording:stop()
  local copy = moonpool.open { in_memory = unique "copy" }
  moonpool.replay(path, copy)
  local dog = copy:object("Dog", 1)
  assert(dog.next.age == 3 and dog.any[1] == dog.next)
end)

except { confined = "io is not available" }

scenario("a replay refuses to change a primary key", function()
  local path = folder .. "/recording"
  local zoo = moonpool.open { in_memory = unique "zoo", schema = { Dog = { id = "int primary", name = "string" } } }
  local recording = zoo:record(path, { snapshot = true })
  zoo:write(function()
    zoo:create("Dog", { id = 1, name = "Rex" })
    zoo:create("Dog", { id = 2, name = "Max" })
  end)
  zoo:define({ Dog = zoo:schema "Dog" }, function(m)
    m:each("Dog", function(old, new) new.id, new.name = 3 - old.id, old.name .. "!" end)
  end)
  recording:stop()
  local copy = moonpool.open { in_memory = unique "copy" }
  assert(message(moonpool.replay, path, copy):find("line 6: the primary key of 'Dog' 1 changes"))
  equal(copy:object("Dog", 1).name, "Rex")
end)

except { confined = "io is not available" }

scenario("a replay repeats new primary keys, and the end of embedding", function()
  local path = folder .. "/recording"
  local zoo = moonpool.open {
    in_memory = unique "zoo",
    schema = {
      Dog = { name = "string", mate = "Dog", house = "House", toys = "Toy[]" },
      House = { embedded = true, toy = "Toy", size = "int" }, Toy = { embedded = true, label = "string" },
    },
  }
  local function dog(name, mate)
    return zoo:create("Dog", {
      name = name, mate = mate, house = { size = 1, toy = { label = name .. "1" } },
      toys = { { label = name .. "2" }, { label = name .. "3" } },
    })
  end
  zoo:write(function()
    zoo:delete(dog "zero")
    dog("b", dog "a").toys:remove(1)
  end)
  local recording = zoo:record(path, { snapshot = true })
  zoo:write(function() dog("c", zoo:objects("Dog")[1]) end)
  local schema = zoo:schema()
  schema.Dog.id, schema.Toy.embedded = "int primary", nil
  zoo:define(schema, function(m)
    m.new:delete(m:objects("Dog"):where("name == 'c'")[1])
    m:each("Dog", function(old, new) new.id = #old.name * 100 + old.name:byte() end)
  end)
  zoo:write(function()
    zoo:objects("Toy")[1].label = "new"
    zoo:object("Dog", 198).name = "other"
  end)
  schema.Dog.id, schema.Dog.code, schema.Toy.code = nil, "string primary", "int primary"
  zoo:define(schema, function(m)
    m:each("Dog", function(old, new) new.code = "d" .. old.id end)
    local count = 0
    m:each("Toy", function(_, new)
      count = count + 1
      new.code = count
    end)
  end)
  zoo:write(function() zoo:object("Dog", "d197").house.toy.label = "last" end)
  recording:stop()
  local copy = moonpool.open { in_memory = unique "copy" }
  moonpool.replay(path, copy)
  equal(moonpool.schema_text(copy), moonpool.schema_text(zoo))
  equal(#copy:objects "Toy", #zoo:objects "Toy")
  for d in zoo:objects("Dog"):each() do
    local other = copy:object("Dog", d.code)
    local mate = other.mate and other.mate.code
    assert(other.name == d.name and mate == (d.mate and d.mate.code) and #other.toys == #d.toys)
    assert(other.house.toy.label == d.house.toy.label and other.house.toy.code == d.house.toy.code)
    for i, toy in ipairs(d.toys) do assert(other.toys[i].label == toy.label and other.toys[i].code == toy.code) end
  end
end)

except { confined = "io is not available" }

scenario("the rows of a class named schema are read with dofile", function()
  local zoo = moonpool.open { in_memory = unique "zoo", schema = { schema = { name = "string" } } }
  zoo:write(function() zoo:create("schema", { name = "x" }) end)
  local path = folder .. "/zoo.lua"
  zoo:export(path)
  local data = dofile(path)
  assert(data.schema.schema.name == "string" and data["class schema"][1].name == "x")
  zoo:objects("schema"):export(path)
  equal(dofile(path)["class schema"][1].name, "x")
  local copy = moonpool.open { in_memory = unique "copy", schema = { schema = { name = "string" } } }
  copy:import(path)
  equal(copy:objects("schema")[1].name, "x")
end)

except { confined = "io is not available" }

scenario("a fault in a recording is reported with its line", function()
  local path = folder .. "/recording"
  local function replay(text)
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    return message(moonpool.replay, path, store)
  end
  assert(replay('{"id":1}\n'):find("line 1"))
  assert(replay('{"$changes":1}\n{"change":"deleted","class":"Dog","key":5}\n'):find("line 2: the store has no 'Dog' with the key 5"))
  assert(not store.is_in_write)
  fails(": /nowhere/at/all", moonpool.replay, "/nowhere/at/all", store)
  fails(": /nowhere/at/all", store.record, store, "/nowhere/at/all")
  assert(not pcall(moonpool.replay, path) and not pcall(store.record, store))
  store:begin_write()
  fails("already_in_write", moonpool.replay, path, store)
  fails("already_in_write", store.record, store, path)
  store:cancel_write()
end)

scenario("closing the store ends its recordings", function()
  local path = folder .. "/recording"
  local other = moonpool.open { in_memory = unique "other", schema = { A = { x = "int" } } }
  local recording = other:record(path)
  other:write(function() other:create("A", { x = 1 }) end)
  other:close()
  assert(not recording.is_active and recording.steps == 1)
  local lines = 0
  for _ in io.lines(path) do lines = lines + 1 end
  equal(lines, 3)
  do local scoped <close> = store:record(path) end
end)

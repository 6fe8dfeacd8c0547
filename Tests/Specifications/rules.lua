-- Rules and ownership in the schemas of scripts.

schema {
  Dog = {
    id = "int primary", age = { type = "int", min = 0, max = 40, default = 1 },
    chip = { type = "string?", unique = true }, kind = { type = "string", enum = { "pug", "mutt" }, default = "mutt" },
    code = { type = "string", pattern = "^%u%d*$", default = "A" }, weight = { type = "double?", min = 0.5 },
    price = { type = "decimal?", max = moonpool.decimal "9.5" }, born = { type = "date?", min = moonpool.date(0) },
    marks = { type = "int[]", max = 6 }, toys = { type = "Toy[]", owns = true }, best = { type = "Toy", owns = true },
  },
  Toy = { name = "string" },
}

scenario("a write that breaks a rule raises an error and changes nothing", function()
  local rex = store:write(function() return store:create("Dog", { id = 1, chip = "x" }) end)
  local function refused(code, values)
    local ok, err = pcall(store.write, store, function() rex:update(values) end)
    assert(not ok and err.code == code, tostring(err))
    return err.message
  end
  equal(refused("invalid_value", { age = 41 }), "'Dog.age' is 41 (id = 1); the maximum is 40")
  assert(refused("invalid_value", { kind = "cat" }):find('the allowed values are "pug", "mutt"', 1, true))
  assert(refused("invalid_value", { code = "a1" }):find('the pattern is "^%u%d*$"', 1, true))
  for _, values in ipairs { { weight = 0.4 }, { weight = 0/0 }, { price = moonpool.decimal "9.51" },
    { born = moonpool.date(-1) }, { marks = { 6, 7 } } } do refused("invalid_value", values) end
  assert(rex.age == 1 and rex.code == "A" and #rex.marks == 0 and not store.is_in_write)
  local ok, err = pcall(store.write, store, function()
    store:savepoint(function() store:create("Dog", { id = 2, chip = "x" }) end)
  end)
  assert(err.code == "duplicate_key" and err.message:find("(id = 1 and id = 2), and 'Dog.chip' is unique", 1, true))
  store:write(function()
    rex.age = -5
    store:create("Dog", { id = 2, chip = "x" })
    rex.age, rex.chip = 5, nil
  end)
  store:begin_write() rex.age = 50
  assert(code(store.commit_write, store) == "invalid_value" and rex.age == 5 and not store.is_in_write)
end)

scenario("schema returns the rules in the form that define takes", function()
  local dog = store:schema("Dog")
  assert(dog.age.min == 0 and dog.age.max == 40 and dog.chip.unique and dog.kind.enum[2] == "mutt")
  assert(dog.code.pattern == "^%u%d*$" and dog.toys.owns and dog.toys.type == "Toy[]" and dog.weight.min == 0.5)
  local version = store.version
  store:define { Dog = dog }
  equal(store.version, version)
  store:define { Dog = { "...", age = "int" } }
  assert(store:schema("Dog").age == "int" and store:schema("Dog").kind.enum)
  store:define { Dog = { "...", age = { type = "int", min = 0 } } }
  fails("invalid_schema", store.define, store, { Dog = { "...", age = { type = "int", min = 9, max = 8 } } })
  for _, wrong in ipairs { { enum = 5 }, { enum = {} }, { pattern = 5 }, { unique = 1 }, { owns = true }, { min = "a" } } do
    wrong.type = "int"
    fails("invalid_schema", store.define, store, { Dog = { "...", age = wrong } })
  end
end)

scenario("a new rule needs valid objects, and a migration can correct them", function()
  store:write(function() for i = 1, 3 do store:create("Toy", { name = "toy" .. i }) end end)
  local ok, err = pcall(store.define, store, { Toy = { name = { type = "string", pattern = "^%a+$" } } })
  assert(err.code == "invalid_value" and err.message:find("'Toy.name' breaks its rules in 3 objects", 1, true), err.message)
  local findings = moonpool.migrate and moonpool.migrate.lint(store, { Toy = { name = { type = "string", pattern = "^%a+$" } } })
  store:define({ Toy = { name = { type = "string", pattern = "^%a+$" } } }, function(m)
    m:each("Toy", function(_, toy) toy.name = toy.name:gsub("%d", "") end)
  end)
  equal(store:objects("Toy")[1].name, "toy")
end)

scenario("a recording keeps the rules, and deletes exactly what was deleted", function()
  local path = folder .. "/recording"
  local rex, max = store:write(function()
    return store:create("Dog", { id = 1, toys = { { name = "a" }, { name = "b" } } }), store:create("Dog", { id = 2 })
  end)
  local recording = store:record(path, { snapshot = true })
  -- The deletion comes first in the record of the commit, but the object has another owner by then.
  store:write(function()
    max.toys:append(rex.toys[1])
    store:delete(rex)
  end)
  recording:stop()
  local copy = moonpool.open { in_memory = unique "copy" }
  moonpool.replay(path, copy)
  assert(#copy:objects "Toy" == 1 and copy:object("Dog", 2).toys[1].name == "a")
  assert(copy:schema("Dog").age.max == 40 and copy:schema("Dog").price.max == moonpool.decimal "9.5")
  assert(copy:schema("Dog").kind.enum[1] == "pug" and copy:schema("Dog").toys.owns)
end)

scenario("deleting an owner deletes what only it links to, and undo restores it", function()
  local rex, max = store:write(function()
    local shared = { name = "shared" }
    local rex = store:create("Dog", { id = 1, toys = { { name = "a" }, { name = "b" } }, best = { name = "c" } })
    return rex, store:create("Dog", { id = 2, toys = { rex.toys[1] } })
  end)
  local kept = rex.toys[1]
  store:write(function() store:delete(rex) end)
  assert(#store:objects "Toy" == 1 and kept:is_valid())
  store:undo()
  assert(#store:objects "Toy" == 3 and #store:object("Dog", 1).toys == 2)
  store:write(function() store:delete(store:objects "Dog") end)
  equal(#store:objects "Toy", 0)
end)

-- Links of every kind that own their objects, and others.

schema {
  Node = {
    id = "int primary", next = { type = "Node", owns = true }, list = { type = "Node[]", owns = true },
    set = { type = "Node<>", owns = true }, map = { type = "Node{}", owns = true }, plain = "Node", note = "mixed", part = "Part",
  },
  Part = { embedded = true, inner = { type = "Node", owns = true } },
  User = { uses = "Node[]" },
}

-- Creates nodes with the ids from 0, and returns them by id.
local function make(count)
  local made = {}
  store:write(function() for id = 0, count - 1 do made[id] = store:create("Node", { id = id }) end end)
  return made
end

local function ids() return table.concat(store:objects("Node"):map(function(node) return node.id end), " ") end
local function delete(...) for _, object in ipairs { ... } do store:write(function() store:delete(object) end) end end

scenario("owned objects of links, lists, sets and maps are deleted at any depth", function()
  local node = make(9)
  store:write(function()
    node[0].next, node[1].list, node[2].set, node[3].map = node[1], { node[2], node[2] }, { node[3] }, { a = node[4] }
    node[4].part, node[5].plain, node[5].note = { inner = node[5] }, node[6], node[7]
  end)
  delete(node[0])
  equal(ids(), "6 7 8")
  equal(#store:objects "Part", 0)
end)

scenario("an object that a remaining object links to is kept, with all that it links to", function()
  local node = make(9)
  local user = store:write(function()
    node[0].list = { node[1], node[2], node[3], node[4], node[5], node[6] }
    node[2].next = node[3]   -- 2 is used, so 3 stays
    node[3].plain, node[4].note, node[8].note = node[4], { node[5] }, node[6]
    return store:create("User", { uses = { node[2] } })
  end)
  delete(node[0])
  equal(ids(), "2 3 4 5 6 7 8")
  store:write(function() user.uses:clear() end)
  delete(node[2])
  equal(ids(), "4 5 6 7 8")
end)

scenario("rings, self links and shared objects of deleted owners are deleted", function()
  local node = make(7)
  store:write(function()
    node[0].next, node[1].next, node[2].next, node[2].plain, node[2].set = node[1], node[2], node[1], node[0], { node[2] }
    node[3].next, node[4].next = node[5], node[5]
  end)
  delete(node[0])
  equal(ids(), "3 4 5 6")
  delete(store:objects("Node"):where "id in {3, 4}")
  equal(ids(), "6")
  store:write(function() store:delete_all "Node" end)
  equal(ids(), "")
end)

scenario("removing and replacing owning links keeps the objects", function()
  local node = make(3)
  store:write(function()
    node[0].next = node[1]
    node[0].next = node[2]
    node[0].next = nil
  end)
  equal(ids(), "0 1 2")
end)

scenario("observers receive each object that is deleted with its owner", function()
  local node = make(4)
  store:write(function() node[0].list = { node[2], node[3] } end)
  local all, last = changes(store:objects "Node"), changes(node[3])
  equal(all(function() store:delete(node[0]) end), "del[1, 3, 4]")
  equal(last(), "deleted")
end)

except(sweep)

scenario("a long chain of owned objects is deleted, and undo restores it", function()
  local count = 20000
  local node = make(count)
  store:write(function()
    for id = 0, count - 2 do node[id].next = node[id + 1] end
    node[count - 1].next = node[1]
  end)
  delete(node[0])
  equal(#store:objects "Node", 0)
  store:undo()
  assert(#store:objects "Node" == count and node[count - 1].next == node[1])
end)

-- What only a script keeps: objects that are not in a store, ignored properties, and the default store.

schema {
  Dog = {
    { "id", "int primary" }, { "name", "string" },
    { "age", type = "int", default = 1 },
    { "born", type = "string", default = function() return "today" end },
    { "toys", "string[]" }, { "notes", "int{}" }, { "owner", "Person" }, { "extra", "mixed" },
    { "draft", type = "string", default = "", ignored = true },
    { "cache", type = "mixed", ignored = true },
  },
  Person = { name = "string primary", dogs = "Dog[]", owned = "backlinks Dog.owner" },
}

scenario("a new object has its defaults and is not in the store", function()
  local rex = store:new("Dog", { id = 1, name = "Rex" })
  assert(not tostring(rex):find "0x", tostring(rex))
  assert(rex.age == 1 and rex.born == "today" and #rex.toys == 0 and next(rex.notes) == nil)
  assert(rex.owner == nil and rex.store == nil and rex.class == "Dog" and rex.draft == "")
  assert(#store:objects "Dog" == 0 and rex:is_valid())
  rex.toys[1] = "rope"
  rex.notes.food = 3
  rex.owner = store:new("Person", { name = "Ann" })
  rex.draft = "kept"
  store:write(function() assert(rawequal(store:add(rex), rex)) end)
  assert(rex.store == store and rex.toys[1] == "rope" and rex.notes.food == 3 and rex.age == 1)
  assert(rex.owner == store:object("Person", "Ann") and rex.draft == "kept")
  local max = store:new("Dog", { 2, "Max", 7 })
  assert(max.name == "Max" and max.age == 7)
  store:write(function() store:add(max) end)
  equal(store:object("Dog", 2).age, 7)
end)

scenario("a new object knows the names of its class", function()
  fails("unknown_class", store.new, store, "Cat")
  fails("unknown_property", store.new, store, "Dog", { aeg = 1 })
  fails("invalid_argument", store.new, store, "Dog", { 1, "a", 1, "b", {}, {}, nil, 1, 1, 1 })
  local rex = store:new "Dog"
  local function read() return rex.nam end
  assert(code(read) == "unknown_property" and message(read):find("did you mean 'name'", 1, true))
  fails("unknown_property", function() rex.nam = 1 end)
  fails("unknown_property", rex.update, rex, { nam = 1 })
  fails("missing_value", store.write, store, function() store:add(rex) end)
  equal(moonpool.new("Dog").age, nil)
end)

scenario("an ignored property stays with its handle and is never stored", function()
  local rex = store:write(function()
    return store:create("Dog", { id = 1, name = "Rex", draft = "a", cache = print })
  end)
  assert(rex.draft == "a" and rex.cache == print)
  rex.draft = "b"                       -- outside of a transaction
  rex.cache = { rex }
  local same = store:object("Dog", 1)
  assert(same == rex and same.draft == "" and same.cache == nil and rex.draft == "b")
  rex.draft = nil
  equal(rex.draft, "")
  local token = rex:observe(function() error "not reached" end)
  rex.draft = moonpool.null
  turn()
  token:invalidate()
  fails("type_mismatch", function() rex.draft = 5 end)
  fails("unknown_property", function() return store:objects("Dog"):where("draft == 'a'") end)
  assert(rex:to_table().draft == nil and not tostring(rex):find("draft"))
  for name in pairs(rex) do assert(name ~= "draft") end
  store:write(function() rex:update { draft = "c", age = 5 } end)
  assert(rex.draft == "c" and rex.age == 5)
  store:write(function() store:delete(rex) end)
  equal(rex.draft, "c")
end)

scenario("ignored properties are declared by each script, also with three dots", function()
  local declared = store:schema("Dog").draft
  assert(declared.ignored and declared.type == "string" and declared.default == "")
  local ordered = store:schema("Dog", { ordered = true })
  assert(ordered[#ordered][1] == "draft" and ordered[#ordered][2].ignored)
  store:define { Dog = { "...", seen = { type = "int", ignored = true } } }
  local rex = store:write(function() return store:create("Dog", { id = 1, name = "Rex" }) end)
  rex.seen, rex.draft = 3, "x"
  assert(rex.seen == 3 and rex.draft == "x")
  store:define { Dog = store:schema "Dog" }
  equal(rex.seen, 3)
  -- A stored property that is ignored from now on loses its values, which must be allowed.
  fails("migration_needed", store.define, store, { Dog = { "...", age = { type = "int", ignored = true } } })
  store:define({ Dog = { "...", age = { type = "int", ignored = true } } }, { force = true })
  equal(rex.age, nil)
  rex.age = 4
  equal(rex.age, 4)
  store:define { Dog = { "...", age = "int?" } }
  equal(rex.age, nil)
end)

scenario("the default store is opened as configured, until the configuration changes", function()
  moonpool.default_configuration = { in_memory = unique "a", schema = { Cat = { name = "string" } } }
  local first = moonpool.default()
  assert(first == moonpool.default() and #first:objects "Cat" == 0)
  first:close()
  local again = moonpool.default()
  assert(again ~= first and not again.is_closed)
  moonpool.default_configuration = { in_memory = unique "b" }
  local other = moonpool.default()
  assert(other ~= again and not again.is_closed)
  again:close() other:close()
  moonpool.default_configuration = 5
  fails(": path or table of options", moonpool.default)
end)

for number, declaration in ipairs {
  { type = "Person", ignored = true }, { type = "int[]", ignored = true }, { type = "int", ignored = true, indexed = true },
  { type = "int primary", ignored = true }, { type = "int", ignored = 1 }, { type = "int", ignored = true, map_to = "x" },
} do
  scenario("an ignored property has no options of stored ones: " .. number, function()
    fails("invalid_schema", store.define, store, { Cat = { name = "string", extra = declaration } })
  end)
end

scenario("every form of a declaration keeps the parts that only the script has", function()
  local function born() return "today" end
  local forms = {
    { note = { type = "string", default = born }, scratch = { type = "int", ignored = true, default = 4 } },
    { { "note", "string", default = born }, { "scratch", "int", ignored = true, default = 4 } },
    { { "note", type = "string", default = born }, { "scratch", type = "int", ignored = true, default = 4 } },
    { { name = "note", type = "string", default = born }, { name = "scratch", type = "int", ignored = true, default = 4 } },
    { { "note", { type = "string", default = born } }, { "scratch", { type = "int", ignored = true, default = 4 } } },
    { "...", note = { type = "string", default = born }, scratch = { type = "int", ignored = true, default = 4 } },
  }
  for index, form in ipairs(forms) do
    local copy = moonpool.open { in_memory = unique("forms" .. index), schema = { Form = { other = "int?" } } }
    copy:define({ Form = form }, { force = true })
    local object = copy:write(function() return copy:create("Form", {}) end)
    assert(object.note == "today" and object.scratch == 4, index)
    assert(copy:new("Form").note == "today" and copy:schema("Form").note.default == born, index)
    if index ~= 6 then
      assert(moonpool.open { in_memory = unique("open" .. index), schema = { Form = form } }:new("Form").scratch == 4, index)
    end
  end
end)

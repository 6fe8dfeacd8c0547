-- Objects that belong to one parent.

schema {
  Person = { { "name", "string primary" }, { "home", "Address" }, { "places", "Address[]" }, { "friend", "Person" } },
  Address = {
    embedded = true, { "street", "string" }, { "number", "int?" }, { "inner", "Address" }, { "owner", "Person" },
    { "resident", "backlinks Person.home" },
  },
}

local function street(name, inner) return { street = name, inner = inner } end
local function ann(home, places) return store:create("Person", { name = "Ann", home = home, places = places }) end
local function addresses() return #store:objects "Address" end
local function streets(person) return person.places:map(function(place) return place.street end) end

scenario("an embedded object cannot be created alone", function()
  store:write(function()
    fails("invalid_argument: embedded", store.create, store, "Address", street "Main")
    fails("invalid_argument", store.create, store, "Address", { "Main" })
  end)
  equal(addresses(), 0)
end)

scenario("an embedded class has no primary key", function()
  fails("invalid_schema: 'Part' is embedded", store.define, store, { Part = { embedded = true, id = "int primary" } })
end)

scenario("an embedded object with a parent cannot get another parent", function()
  store:write(function()
    local one, bob = ann(street "Main", { street "Side" }), store:create("Person", { name = "Bob" })
    local home = one.home
    for _, assign in ipairs {
      function() bob.home = home end, function() bob.places:append(home) end, function() one.places:append(home) end,
      function() one.places[1] = home end, function() bob.places = { home } end,
      function() store:create("Person", { name = "Cy", home = home }) end,
    } do
      fails("invalid_argument", assign)
    end
    assert(addresses() == 2 and bob.home == nil)
  end)
end)

scenario("a failed creation leaves no embedded object without a parent", function()
  store:write(function()
    fails("type_mismatch", ann, street "Main", { street "A", { street = 1 } })
    equal(addresses(), 0)
    local one = ann()
    fails("missing_value", function() one.home = street("Main", {}) end)
    fails("missing_value", function() one.places:append(street "A", {}) end)
    equal(addresses(), 0)
  end)
end)

scenario("assigning values creates a new object and deletes the old one", function()
  local one = store:write(function() return ann(street("Main", street "Back")) end)
  local first = one.home
  equal(addresses(), 2)
  store:write(function() one.home = street "Side" end)
  assert(not first:is_valid() and addresses() == 1 and one.home.street == "Side")
  store:write(function() one.home = nil end)
  equal(addresses(), 0)
end)

scenario("assigning the current object keeps it", function()
  store:write(function()
    local one = ann(street "Main", { street "A", street "B", street "C" })
    local home = one.home
    one.home = home
    assert(home:is_valid() and one.home == home)
    one.places = one.places
    equal(streets(one), { "A", "B", "C" })
    -- Some of the elements in another order, and a new one.
    local places = one.places:map(function(place) return place end)
    one.places = { places[3], street "D", places[1] }
    equal(streets(one), { "C", "D", "A" })
    equal(addresses(), 4)
    fails("invalid_argument", function() one.places = { places[1], places[1] } end)
  end)
end)

scenario("deleting an owner deletes embedded objects at any depth", function()
  local one = store:write(function()
    local one = ann(street("Main", street("Back", street "Cellar")), { street("A", street "A1"), street "B" })
    one.home.owner = one
    return one
  end)
  equal(addresses(), 6)
  store:write(function() store:delete(one) end)
  equal(addresses(), 0)
end)

scenario("embedded objects have up to 100 levels, which exports, copies and deletions include", function()
  local one = store:write(function()
    local one = ann(street "1")
    local last = one.home
    for number = 2, 100 do
      last.inner = street(tostring(number))
      last = last.inner
    end
    fails(": more than 100 objects", function() last.inner = street "101" end)
    fails(": more than 100 objects", last.update, last, { inner = street "101" })
    return one
  end)
  equal(addresses(), 100)
  assert(moonpool.json.encode(one):find('"99"', 1, true))
  local lines = folder .. "/lines"
  store:export(lines, { format = "jsonl" })
  local copy <close> = moonpool.open { in_memory = unique "copy", schema = store:schema() }
  assert(copy:import(lines, { format = "jsonl" }).created == 1 and #copy:objects "Address" == 100)
  store:write(function()
    one.home = nil
    equal(addresses(), 0)
    one.places:append(street "A")
    local nested = street "x"
    for _ = 1, 98 do nested = street("x", nested) end
    one.places[1].inner = nested
    one.places[1].inner = nil
    fails("invalid_argument", function() one.places[1].inner = street("x", nested) end)
    equal(addresses(), 1)
  end)
end)

scenario("deleting by query, by class and all objects deletes embedded objects too", function()
  for _, delete in ipairs {
    function() store:delete(store:objects "Person") end, function() store:delete_all "Person" end,
    function() store:delete_all() end,
  } do
    store:write(function()
      ann(street "Main", { street "A" })
      delete()
    end)
    equal(addresses(), 0)
  end
end)

scenario("deleting an embedded object clears its parent's property", function()
  store:write(function()
    local one = ann(street("Main", street "Back"), { street "A" })
    store:delete(one.home)
    equal(one.home, nil)
    store:delete_all "Address"
    assert(#one.places == 0 and addresses() == 0)
  end)
end)

scenario("deleting an owner does not delete linked top-level objects", function()
  store:write(function()
    local bob = store:create("Person", { name = "Bob" })
    local one = ann { street = "Main", owner = bob }
    one.friend = bob
    store:delete(one)
    assert(bob:is_valid())
  end)
end)

scenario("lists of embedded objects delete removed objects", function()
  store:write(function()
    local one = ann(nil, { street "A", street("B", street "B1"), street "C" })
    local list = one.places
    list:remove(2)
    equal(addresses(), 2)
    list[1] = street "D"
    list:insert(2, street "E")
    list:move(1, 3)
    list:swap(1, 2)
    equal(streets(one), { "C", "E", "D" })
    equal(addresses(), 3)
    list:clear()
    equal(addresses(), 0)
    list:append(street "F", street "G")
    one.places = {}
    equal(addresses(), 0)
  end)
end)

scenario("rolling back a write restores replaced objects", function()
  local one = store:write(function() return ann(street "Main", { street "A" }) end)
  local first = one.home
  store:begin_write()
  one.home = street "Side"
  one.places:clear()
  assert(not first:is_valid())
  store:cancel_write()
  assert(first:is_valid() and addresses() == 2)
  equal(streets(one), { "A" })
end)

scenario("update modified changes an embedded object in place, update all replaces it", function()
  store:write(function()
    local one = ann(street "Main", { street "A", street "B" })
    local first = one.home
    store:create("Person", { name = "Ann", home = { number = 5 }, places = { { number = 6 } } }, "modified")
    assert(first:is_valid() and first.street == "Main" and first.number == 5)
    equal(streets(one), { "A" })
    store:create("Person", { name = "Ann", home = street "Side" }, "all")
    assert(not first:is_valid() and addresses() == 2)
  end)
end)

scenario("equal values change nothing; others change the child, not the parent", function()
  local one = store:write(function() return ann(street "Main") end)
  local parent, child, path = changes(one), changes(one.home), changes(one, { keypaths = "home.street" })
  equal(parent(function() store:create("Person", { name = "Ann", home = street "Main" }, "modified") end), "")
  equal({ child(), path() }, { "", "" })
  equal(parent(function() store:create("Person", { name = "Ann", home = street "Side" }, "modified") end), "")
  equal(child(), "street Main>Side")
  assert(path():find "^home ")
end)

scenario("embedded objects are found by queries, through paths and backlinks", function()
  local one = store:write(function() return ann(street "Main", { street "Side", street "Main" }) end)
  local main, people = store:objects("Address"):where "street == 'Main'", store:objects "Person"
  assert(#main == 2 and #people:where "home.street == 'Main'" == 1 and #people:where "any places.street == 'Side'" == 1)
  local living = main:where "resident.@count == 1"
  equal(#living, 1)
  equal(living:first().resident, { one })
end)

scenario("the observer of an embedded object receives the deletion of its parent", function()
  local one = store:write(function() return ann(street "Main") end)
  local news = changes(one.home)
  equal(news(function() store:delete(one) end), "deleted")
end)

scenario("a list of embedded objects is observed like a list of objects", function()
  local one = store:write(function() return ann(nil, { street "A", street "B" }) end)
  local news = changes(one.places)
  equal(news(function() one.places[2].street = "C" end), "mod[2]")
  equal(news(function() one.places:remove(1) end), "del[1]")
  equal(news(function() one.places:append(street "D") end), "ins[2]")
  equal(news(function() store:delete(one) end), "del[1, 2] gone")
end)

scenario("the schema marks embedded classes", function()
  assert(store:schema("Address").embedded == true and store:schema("Person").embedded == nil)
  local copy <close> = moonpool.open { in_memory = unique "copy", schema = store:schema() }
  equal(copy:schema("Address").embedded, true)
  copy:define { Odd = { { "embedded", "bool" }, embedded = true } }
  fails("invalid_schema", copy.define, copy, { Bad = { id = "int", embedded = 1 } })
  fails("migration_needed", copy.define, copy, { Address = { street = "string" } })
  copy:define { Plain = { embedded = "bool" } }
  equal(copy:schema("Plain").embedded, "bool")
end)

-- Classes that become embedded, or no more.

local function open(embedded, version, options)
  options = options or {}
  options.path, options.durability, options.schema_version = folder .. "/a.moonpool", "memory", version
  options.schema = options.schema or {
    Person = { name = "string", home = "Address" }, Address = { embedded = embedded, street = "string" },
  }
  return moonpool.open(options)
end

-- Ann and Bob live at "a" and "b", or both at "a"; "c" has no resident.
local function fill(shared, lonely)
  local s <close> = open(false, 0)
  s:write(function()
    local a, b = s:create("Address", { street = "a" }), s:create("Address", { street = "b" })
    s:create("Person", { name = "Ann", home = a })
    s:create("Person", { name = "Bob", home = shared and a or b })
    if lonely then s:create("Address", { street = "c" }) end
  end)
end

-- The number of addresses before and after the deletion of a person.
local function delete_one(s)
  local before = #s:objects "Address"
  s:write(function() s:delete(s:objects("Person"):first()) end)
  return before .. " " .. #s:objects "Address"
end

scenario("a class becomes embedded, or no more, only with a new schema version", function()
  fill()
  fails("migration_needed: 'Address' would become embedded", open, true, 0)
  local s = open(true, 1)
  assert(s:schema("Address").embedded and delete_one(s) == "2 1")
  s:close()
  fails("migration_needed", open, false, 1)
  s = open(false, 2)
  assert(not s:schema("Address").embedded and delete_one(s) == "1 1")
  s:close()
end)

scenario("zero or several parents are an error, unless the migration corrects this", function()
  fill(false, true)
  fails("invalid_object: object 2 has 0", open, true, 1)
  local s <close> = open(true, 1, { migration = function(m) m:delete(m:objects("Address"):where "street == 'c'") end })
  equal(#s:objects "Address", 2)
end)

scenario("an object with two parents cannot become embedded", function()
  fill(true)
  fails("invalid_object: has 2", open, true, 1, { migration = function(m) m:delete(m:objects("Address"):where "street == 'b'") end })
end)

scenario("embedded objects are deleted with their property", function()
  fill()
  open(true, 1):close()
  local s <close> = open(true, 2, {
    schema = { Person = { name = "string" }, Address = { embedded = true, street = "string" } }, drops = { "Person.home" },
  })
  equal(#s:objects "Address", 0)
end)

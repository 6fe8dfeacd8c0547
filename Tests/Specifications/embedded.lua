-- Embedded objects in scripts.

schema {
  Person = { name = "string primary", home = "Home", places = "Home[]" },
  Home = {
    embedded = true, street = "string", inner = "Home", resident = "backlinks Person.home",
  },
}

-- Exporting, copying and posting an object include all nested levels.
scenario("the depth of embedded objects has the limit of exports and copies", function()
  local ann = store:write(function() return store:create("Person", { name = "Ann", home = { street = "0" } }) end)
  store:write(function()
    local home = ann.home
    for level = 2, 100 do
      home.inner = { street = tostring(level) }
      home = home.inner
    end
    fails(": more than 100 objects", function() home.inner = { street = "101" } end)
    fails(": more than 100 objects", function() home:update { inner = {} } end)
  end)
  equal(#store:objects "Home", 100)
  assert(moonpool.json.encode(ann):find('"99"', 1, true))
  local lines = folder .. "/lines"
  store:export(lines, { format = "jsonl" })
  local copy = moonpool.open { in_memory = unique "copy", schema = store:schema() }
  assert(copy:import(lines, { format = "jsonl" }).created == 1 and #copy:objects "Home" == 100)
  copy:close()
  store:write(function()
    ann.places:append { street = "A" }
    local nested = { street = "x" }
    for _ = 1, 98 do nested = { street = "x", inner = nested } end
    ann.places[1].inner = nested
    ann.places[1].inner = nil
    fails("invalid_argument", function() ann.places[1].inner = { street = "x", inner = nested } end)
  end)
  equal(#store:objects "Home", 101)
end)

scenario("assigning values creates embedded objects", function()
  local ann = store:write(function()
    fails("invalid_argument", store.create, store, "Home", { street = "x" })
    local ann = store:create("Person", { name = "Ann", home = { street = "Main" }, places = { { street = "A" } } })
    ann.places:append({ street = "B" }, { street = "C", inner = { street = "D" } })
    return ann
  end)
  assert(ann.home.street == "Main" and ann.home.resident[1] == ann and #ann.places == 3)
  equal(#store:objects "Home", 5)
  local home = ann.home
  store:write(function()
    fails(": one parent", function() ann.places[1] = home end)
    home.street = "Other"
    ann.places:remove(3)
    ann.places[1] = { street = "E" }
  end)
  assert(ann.home.street == "Other" and #store:objects "Home" == 3)
  store:write(function() ann.home = nil end)
  assert(not home:is_valid() and code(function() return home.street end) == "invalid_object")
  store:write(function() store:delete(ann) end)
  equal(#store:objects "Home", 0)
end)

scenario("the schema marks embedded classes", function()
  assert(store:schema("Home").embedded == true and store:schema("Person").embedded == nil)
  local copy = moonpool.open { in_memory = unique "copy", schema = store:schema() }
  equal(copy:schema("Home").embedded, true)
  copy:define { Odd = { { "embedded", "bool" }, embedded = true } }
  fails("invalid_schema", copy.define, copy, { Bad = { id = "int primary", embedded = true } })
  fails("invalid_schema", copy.define, copy, { Bad = { id = "int", embedded = 1 } })
  fails("migration_needed", copy.define, copy, { Home = { street = "string" } })
  copy:define { Plain = { embedded = "bool" } }
  equal(copy:schema("Plain").embedded, "bool")
  copy:close()
end)

scenario("a list of embedded objects can be observed", function()
  local ann = store:write(function()
    return store:create("Person", { name = "Ann", places = { { street = "A" }, { street = "B" } } })
  end)
  local received = {}
  local token = ann.places:observe(function(change)
    if change.type ~= "update" then return end
    received[#received + 1] = table.concat(change.deletions, ",") .. "|" .. table.concat(change.insertions, ",")
      .. "|" .. table.concat(change.modifications, ",")
  end)
  turn()
  store:write(function() ann.places[2].street = "C" end) turn()
  store:write(function() ann.places:remove(1) end) turn()
  store:write(function() ann.places:append { street = "D" } end) turn()
  store:write(function() store:delete(ann) end) turn()
  equal(received, { "||2", "1||", "|2|", "1,2||" })
  token:invalidate()
end)

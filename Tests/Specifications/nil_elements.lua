-- Nil inside collections is `moonpool.null` in every copy, at its position.

schema {
  A = {
    id = "int primary", list = "int?[]", set = "int?<>", map = "int?{}", mixed = "mixed", any = "mixed[]",
    entries = "mixed{}",
  }
}

local N = moonpool.null
local a

local function same(x, y)
  if type(x) ~= "table" or type(y) ~= "table" then return x == y end
  for k, v in pairs(x) do if not same(v, y[k]) then return false end end
  for k in pairs(y) do if x[k] == nil then return false end end
  return true
end

before(function()
  a = store:write(function()
    return store:create("A", {
      id = 1, list = { N, 1, N }, set = { N, 1 }, map = { k = N, j = 1 }, any = { N, { N }, N },
      mixed = { N, 1, { N, { k = N } }, { k = N, j = { N } }, N }, entries = { k = N, j = { N } },
    })
  end)
end)

-- A sequence or a map of `a`, and its content.
local sequences = {
  { "list", { N, 1, N } }, { "set", { N, 1 } }, { "any", { N, { N }, N } },
  { "mixed", { N, 1, { N, { k = N } }, { k = N, j = { N } }, N } }, { "mixed[3]", { N, { k = N } } },
  { "list:sorted()", { N, N, 1 } }, { "list:distinct()", { N, 1 } },
}
local maps = {
  { "map", { j = 1, k = N } }, { "entries", { j = { N }, k = N } }, { "mixed[4]", { j = { N }, k = N } },
  { "mixed[3][2]", { k = N } },
}

local function read(object, path) return load("local a = ... return a." .. path)(object) end

for _, case in ipairs(sequences) do
  scenario("copies of sequences keep nil elements at their positions: " .. case[1], function()
    for _, source in ipairs { a, a:freeze() } do
      local c, expected = read(source, case[1]), case[2]
      assert(same(c:to_table(), expected) and #c:to_table() == #expected)
      local seen = {}
      for v in c:each() do seen[#seen + 1] = type(v) == "userdata" and v ~= N and v:to_table() or v end
      assert(same(seen, expected))
      local count = 0
      for i, v in pairs(c) do
        count = count + 1
        assert(i == count and (v == nil) == (expected[i] == N))
      end
      equal(count, #expected)
      assert(#c:map(function(v) end) == #expected and c:map(function(v) return v or 0 end)[1] == 0)
      equal(c:filter(function() return true end)[1], N)
      assert(c[1] == nil and c:first() == nil)
    end
  end)
end

for _, case in ipairs(maps) do
  scenario("copies of maps keep nil values: " .. case[1], function()
    for _, source in ipairs { a, a:freeze() } do
      local c, expected = read(source, case[1]), case[2]
      assert(same(c:to_table(), expected))
      local values = c:values()
      equal(#values, #c)
      for i, key in ipairs(c:keys()) do
        local value = values[i]
        assert(same(type(value) == "userdata" and value ~= N and value:to_table() or value, expected[key]))
      end
      local count = 0
      for k, v in pairs(c) do
        count = count + 1
        equal(v == nil, expected[k] == N)
      end
      assert(count == #c and c.k == nil and c:get "k" == nil)
    end
  end)
end

for path, kind in pairs {
  list = "list", set = "set", map = "map", any = "list", entries = "map", mixed = "list", ["mixed[3]"] = "list",
  ["mixed[4]"] = "map",
} do
  scenario("changes report one value for each index: " .. path, function()
    local c, last, count = read(a, path), nil, nil
    local token = c:observe(function(change)
      if change.type == "update" then
        last = { deleted = change:deleted(), inserted = change:inserted(), modified = change:modified() }
        count = { #change.deletions, #change.insertions, #change.modifications }
      end
    end)
    store:refresh()
    local size, before_change = #c, c:to_table()
    store:write(function() c:clear() end)
    store:refresh()
    assert(#last.deleted == size and count[1] == size, #last.deleted)
    if #before_change > 0 then assert(same(last.deleted, before_change)) end
    store:write(function()
      if kind == "list" then c:append(N, 1, N) elseif kind == "set" then c:add(N, 1) else c:set("k", N) c:set("j", 1) end
    end)
    store:refresh()
    assert(count[2] == #c and #last.inserted == #c, #last.inserted)
    if kind == "set" then return end
    store:write(function() if kind == "list" then c[2] = N else c:set("j", N) end end)
    store:refresh()
    assert(count[3] == 1 and last.modified[1] == N)
  end)
end

scenario("a copy of an object becomes an equal object and the same JSON", function()
  for _, copy in ipairs { a:to_table(), a:to_table(3), a:project({ list = "list", set = "set", map = "map",
    mixed = "mixed", any = "any", entries = "entries" }):to_table(), moonpool.json.decode(moonpool.json.encode(a)) }
  do
    copy.id = 2
    local b = store:write(function() return store:create("A", copy, "all") end)
    for _, name in ipairs { "list", "set", "map", "mixed", "any", "entries" } do
      equal(b[name]:to_table(), a[name]:to_table())
      assert(moonpool.json.encode(b[name]) == moonpool.json.encode(copy[name]), name)
      assert(moonpool.json.encode(b[name]) == moonpool.json.encode(b[name]:to_table()), name)
    end
    equal(store:objects("A"):where("mixed == $1", a.mixed):count(), 2)
  end
  equal(store:objects("A"):where("any == $1", a.any):count(), 2)
  equal(store:objects("A"):where("mixed in $1", { 1, a.mixed:to_table() }):count(), 2)
  equal(store:objects("A"):where("id in $1", { 1, { 2 } }):count(), 1)
  local loop = {} loop[1] = loop
  fails("invalid_argument", function() return store:objects("A"):where("mixed in $1", loop) end)
  for _, wrong in ipairs { "list == $1", "id between $1", "mixed between $1" } do
    fails("invalid_query", function() return #store:objects("A"):where(wrong, { 1, { 2 } }) end)
  end
  assert(same(a.set:union { 2 }, { N, 1, 2 }) and same(a.set:intersection { N }, { N }))
end)

scenario("an empty map remains a map in every copy", function()
  local empty, kept = moonpool.json.empty_object, {}
  store:write(function()
    a.mixed = { empty, {} } a.any = { empty, {} } a.entries = { e = empty, l = {} } a.map = {}
  end)
  local function check(copy, text) text = text or "[{},[]]" local got = moonpool.json.encode(copy) equal(got, text) end
  check(a.mixed:to_table()) check(a.any:to_table()) check(a:to_table().mixed) check(a:to_table().any)
  check(a.entries:to_table(), '{"e":{},"l":[]}') check(a.entries:values()) check(a.map:to_table(), "{}")
  local token = a.any:observe(function(change) kept = { change:deleted(), change:inserted(), change:modified() } end)
  store:refresh()
  store:write(function() a.any:append(empty) end) store:refresh()
  check(kept[2], "[{}]")
  store:write(function() a.any[2] = empty end) store:refresh()
  check(kept[3], "[{}]")
  store:write(function() a.any:clear() end) store:refresh()
  check(kept[1], "[{},{},{}]")
  store:write(function() a.mixed = { empty, {} } a.mixed = a.mixed:to_table() end)
  check(a.mixed:to_table())
end)

scenario("map of Results keeps the positions of nil results", function()
  local made = store:objects("A"):map(function(object) return object.mixed[1] end)
  assert(#made == 1 and made[1] == N)
end)

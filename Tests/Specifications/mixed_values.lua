-- Mixed values: what they contain, links inside of them, and how they are queried and sorted.

schema {
  Dog = { { "id", "int primary" }, { "name", "string?" } },
  Box = {
    { "id", "int primary" }, { "any", "mixed" }, { "many", "mixed[]" }, { "named", "mixed{}" }, { "set", "mixed<>" },
  },
}

local N = moonpool.null

local function box(id, any, many) return store:create("Box", { id, any == nil and N or any, many or {} }) end

local function fill(values)
  store:write(function() for n, value in ipairs(values) do box(n - 1, value) end end)
end

local function ids(rows)
  local found = {}
  for n, row in ipairs(rows) do found[n] = row.id end
  return table.concat(found, " ")
end

local function found(predicate, ...) return ids(store:objects("Box"):where(predicate, ...)) end

local function dogs(count)
  return store:write(function()
    local made = {}
    for n = 1, count do made[n] = store:create("Dog", { id = n }) end
    return table.unpack(made)
  end)
end

scenario("very large values are stored", function()
  local text, list = ("0123456789"):rep(500000), {}
  for n = 1, 50000 do list[n] = n end
  local object = store:write(function() return box(1, text, { moonpool.data(text), list }) end)
  assert(object.any == text and #object.many[2] == 50000 and object.many[2][50000] == 50000)
  store:write(function() object.any = N end)
  equal(object.any, nil)
end)

scenario("the depth of nested collections is limited, and exceeding it changes nothing", function()
  local function nested(depth)
    local value = 1
    for _ = 1, depth do value = { value } end
    return value
  end
  local object = store:write(function() return box(1, nested(100)) end)
  for _, deep in ipairs { nested(101), { a = nested(100) } } do
    store:write(function()
      fails("invalid_argument: can nest at most 100", function() object.any = deep end)
      fails("invalid_argument", object.many.append, object.many, deep)
      fails("invalid_argument", object.named.set, object.named, "a", deep)
      fails("invalid_argument", box, 2, deep)
    end)
  end
  local innermost = object.any
  while type(innermost[1]) == "userdata" do innermost = innermost[1] end
  store:write(function() fails("invalid_argument", innermost.append, innermost, {}) end)
  store:write(function() fails("invalid_argument", function() object.any = nested(5000) end) end)
  equal(object.any:to_table(), nested(100))
  equal(#object.many, 0)
end)

scenario("deleting a target makes links inside mixed values nil, at any depth", function()
  local a, b, c = dogs(3)
  local object, plain = store:write(function()
    return box(1, { a = { a, b, a }, b = a }, { a, b, { 1, a } }), box(2, a)
  end)
  store:write(function() store:delete(a) end)
  equal(object.any.a:to_table(), { N, b, N })
  assert(object.any.b == nil and #object.any == 2)
  equal(object.many:to_table()[1], N)
  assert(object.many[2] == b and object.many[3][1] == 1 and object.many[3][2] == nil and plain.any == nil)
  equal(found "any == nil", "2")
  -- Replaced values and deleted holders are no longer found.
  store:write(function()
    object.any = c
    object.any = b
    store:delete(c)
  end)
  equal(object.any, b)
  store:write(function()
    object.named, object.set = { a = b, b = { deep = { b, 1 } } }, { b, 5 }
    store:delete(b)
  end)
  assert(#object.named == 2 and object.named.a == nil and #object.set == 1 and object.set[1] == 5)
  equal(object.named.b.deep:to_table(), { N, 1 })
  store:write(function() for _, each in ipairs { plain, object } do store:delete(each) end end)
  assert(#store:objects "Dog" == 0 and #store:objects "Box" == 0)
end)

scenario("a link to a deleted object is refused at any depth", function()
  local rex = dogs(1)
  store:write(function()
    store:delete(rex)
    for _, value in ipairs { rex, { { x = rex } } } do
      fails("invalid_object", box, 1, value)
      fails("invalid_object", box, 1, N, { value })
    end
  end)
  equal(#store:objects "Box", 0)
end)

scenario("an upsert of changed values compares whole values", function()
  local object = store:write(function() return box(1, { a = { 1, "x" } }) end)
  local news = changes(object)
  equal(news(function() store:create("Box", { 1, { a = { 1, "x" } } }, "modified") end), "")
  assert(news(function() store:create("Box", { 1, { a = { 1, "y" } } }, "modified") end):find "^any [^,]*$")
end)

scenario("predicates compare mixed values with values of their kind, numbers by value", function()
  local rex, time = dogs(1), moonpool.date(0.000005)
  local key = moonpool.uuid "00000000-0000-0001-0000-000000000002"
  fill { N, true, 1, 1.0, moonpool.decimal "1.0", 2.5, "abc", "ABC", moonpool.data "\xff", time, key, rex, { 1 } }
  for predicate, expected in pairs {
    ["any == 1"] = "2 3 4", ["any > 1"] = "5", ["any >= 1"] = "2 3 4 5", ["any != 1"] = "0 1 5 6 7 8 9 10 11 12",
    ["any == nil"] = "0", ["any == true"] = "1", ["any == 'abc'"] = "6", ["any ==[c] 'abc'"] = "6 7",
    ["any beginswith 'a'"] = "6", ["any !=[c] 'abc'"] = "0 1 2 3 4 5 8 9 10 11 12", ["any > 'a'"] = "6",
    ["any between {1, 3}"] = "2 3 4 5", ["any in {1, 'ABC', nil}"] = "0 2 3 4 7", ["any == id"] = "",
    ["any <= id"] = "2 3 4 5", ["id == any"] = "",
  } do
    equal({ predicate, found(predicate) }, { predicate, expected })
  end
  equal(found("any == $1", rex), "11")
  equal(found("any == $1", moonpool.data "\xff"), "8")
  assert(found("any == $1", time) == "9" and found("any < $1", time) == "" and found("any == $1", key) == "10")
end)

scenario("lists of mixed values are searched with quantifiers", function()
  store:write(function()
    box(0, N, { 1, "a" })
    box(1, N, { 1.0, 5 })
    box(2)
  end)
  assert(found "any many == 1" == "0 1" and found "all many >= 1" == "1 2" and found "any many == 'a'" == "0")
  assert(found "many.@count == 0" == "2" and found "5 in many" == "1")
  local list = store:object("Box", 1).many
  assert(list:index_of(1) == 1 and list:index_of(5.0) == 2 and list:index_of "5" == nil)
end)

scenario("counting all links to an object counts those in mixed values", function()
  local rex, max = dogs(2)
  local linked = store:objects("Dog"):where "@links.@count > 2"
  local news = changes(linked)
  local object = store:write(function() return box(1, { rex, { rex } }, { 5, rex }) end)
  equal(news(), "ins[1]")
  equal(linked, { rex })
  equal(news(function() object.any = max end), "del[1]")
  equal(#store:objects("Dog"):where "@links.@count == 1", 2)
end)

scenario("sorting by a mixed property orders by type, nil first", function()
  fill { "b", 3, N, {}, 2.5, true, "a", moonpool.decimal "2.75", moonpool.date(0), N }
  local all = store:objects "Box"
  equal(ids(all:sorted "any"), "2 9 5 4 7 1 6 0 8 3")
  equal(ids(all:sorted("any", "desc")), "3 8 0 6 1 7 4 5 2 9")
  equal(ids(all:sorted("any"):limit(3)), "2 9 5")
end)

scenario("distinct treats equal numbers of different types as one value", function()
  fill { 1, 1.0, "1", moonpool.decimal "1.00", N, N, { 1 }, { 1.0 } }
  equal(ids(store:objects("Box"):distinct "any"), "0 2 4 6")
end)

scenario("aggregates of a mixed property use its numbers", function()
  fill { 1, 2.5, "9", N, true }
  local all = store:objects "Box"
  assert(all:sum "any" == 3.5 and all:average "any" == 1.75 and all:min "any" == 1 and all:max "any" == 2.5)
  store:write(function() box(9, moonpool.decimal "0.25") end)
  equal(all:sum "any", moonpool.decimal "3.75")
  equal(all:count "any", 5)
end)

scenario("observers of results track links in mixed values at any depth", function()
  local rex = dogs(1)
  store:write(function()
    box(0, rex)
    box(1, 1)
    box(2, { a = { rex } })
    box(3, N, { 1, { rex } })
  end)
  local news = changes(store:objects "Box")
  equal(news(function() rex.name = "Max" end), "mod[1, 3, 4]")
  equal(news(function() store:delete(rex) end), "mod[1, 3, 4]")
  equal(store:object("Box", 0).any, nil)
end)

-- Paths into mixed values, and through the links in them.

local N = moonpool.null
local classes = {
  Toy = { { "name", "string" }, { "price", "double?" }, { "tags", "string[]" }, { "note", "mixed" } },
  Shop = { { "name", "string" }, { "born", "date" } },
  Box = { { "id", "int primary" }, { "any", "mixed" }, { "many", "mixed[]" }, { "map", "mixed{}" } },
}
local boxes, toy, shop

local function ids(results) return table.concat(results:map(function(box) return box.id end), " ") end
local function box(id) return store:object("Box", id) end

-- Compares the ids of the boxes that a predicate finds, or their number.
local function check(cases)
  for predicate, expected in pairs(cases) do
    local rows = boxes:where(predicate)
    equal({ predicate, type(expected) == "number" and #rows or ids(rows) }, { predicate, expected })
  end
end

local function faults(cases)
  for predicate, part in pairs(cases) do fails("invalid_query: " .. part, boxes.where, boxes, predicate) end
end

schema(classes)

before(function()
  boxes = store:objects "Box"
  store:write(function()
    toy = store:create("Toy", { "ball", 5, { "red", "round" }, { deep = { 7 } } })
    shop = store:create("Shop", { "ball", moonpool.date(0.000009) })
    for n, row in ipairs {
      {
        { color = "red", sizes = { 1, 2, 3 }, inner = { toy }, count = 9 }, { 1, "a", { x = 1 }, toy },
        { a = 1, b = { c = "d" } },
      },
      { toy, {}, { t = toy } }, { { name = "ball" } }, { { 1, 2.0, toy }, { { 4 } } }, { "text" }, { 3.5 }, { N, { N } }, { shop },
      { moonpool.data "\1\2" },
    } do
      store:create("Box", { n - 1, row[1], row[2] or {}, row[3] or {} })
    end
  end)
end)

scenario("names and brackets lead into maps, brackets into lists", function()
  check {
    ["any.color == 'red'"] = "0", ["any['color'] like 'r?d'"] = "0", ["any.sizes[1] == 1"] = "0", ["any.sizes[last] == 3.0"] = "0",
    ["any[first] == 1"] = "3", ["any[2] == 2"] = "3", ["map['b']['c'] == 'd'"] = "0", ["map['b'].c == 'd'"] = "0",
    ["many[3].x == 1"] = "0", ["many[1][1] == 4"] = "3", ["map.b.c == 'd'"] = "0", ["map.c == 'd'"] = "",
    ["map.@values.c == 'd'"] = "0", ["map.b['c'] == 'd'"] = "0", ["any.nothing.deeper[3] != nil"] = "", ["any.color == nil"] = 8,
    ["any" .. ("['note']"):rep(4000) .. " == 1"] = "",
  }
  assert(ids(boxes:where("any[$1] == 2", 2)) == "3" and ids(boxes:where("any[$1] == 'red'", "color")) == "0")
end)

scenario("after a link in a mixed value, a name is a property of any class that has it", function()
  check {
    ["any.name == 'ball'"] = "1 2 7", ["any.price > 4"] = "1", ["any[3].price > 4"] = "3",
    ["any.inner[1].name beginswith 'b'"] = "0", ["any.note.deep[1] == 7"] = "1", ["any.tags == 'red'"] = "1",
    ["all any.tags == 'red'"] = "", ["any.tags.@count == 2"] = "1", ["any.born < 1970-01-01T00:00:00.00001Z"] = "7",
    ["any.born > 0"] = "", ["many.name == 'ball'"] = "0", ["map['t'].price == 5"] = "1",
    -- Brackets can only contain keys of maps.
    ["any['name'] == 'ball'"] = "2",
  }
end)

scenario("a wildcard, @values or a quantifier selects nested elements", function()
  check {
    ["any[*] == 2"] = "3", ["any any == 2"] = "3", ["any any.sizes > 2"] = "0", ["any.@values == 'red'"] = "0", ["2 in any"] = "3",
    ["'red' in any.tags"] = "1", ["all any[*] == 'ball'"] = "1 2 4 5 6 7 8", ["none many[*] == 1"] = "1 2 3 4 5 6 7 8",
    ["any[*].name == 'ball'"] = "3", ["any.@keys beginswith 'col'"] = "0", ["any.@keys.@count == 4"] = "0",
  }
end)

scenario("counts and aggregates include nested values", function()
  check {
    ["any.@count == 3"] = "3", ["any.sizes[size] == 3"] = "0", ["any.@size == 4"] = "0 4", ["any.@count == 2"] = "8",
    ["any.sizes.@sum == 6"] = "0", ["any.sizes.@max > 2"] = "0", ["any.@avg == 1.5"] = "3", ["any.@min < 2"] = "3",
    ["many.@sum == 1"] = "0", ["any.@sum.price == 5"] = "3", ["any + 1 == 4.5"] = "5", ["any.price * 2 == 10"] = "1",
  }
end)

scenario("a nested list is compared as a whole", function()
  assert(#boxes:where("any.sizes == $1", { 1, 2 }) == 0 and #boxes:where("any.sizes == $1", { 1, 2, 3 }) == 1)
  -- A list of values of a linked object, and a list in a map.
  store:write(function() box(2).any = { tags = { "red", "round" } } end)
  check {
    ["any.sizes == {1, 2, 3}"] = "0", ["{1, 2.0, 3} == any.sizes"] = "0", ["any.tags == {'red', 'round'}"] = "1 2",
    ["any.tags == {'red'}"] = "", ["not any.sizes == {1, 2, 3}"] = 8,
  }
  faults { ["any.sizes != {1, 2, 3}"] = "write 'not (… == {…})'" }
end)

scenario("@type distinguishes values and links", function()
  check {
    ["any.@type == 'double'"] = "5", ["any.@type == 'numeric'"] = "5", ["any.@type in {'list', 'string'}"] = "3 4",
    ["any.@type == 'object'"] = "1 7", ["any.@type == 'Toy'"] = "1", ["any.@type == 'Map'"] = "0 2",
    ["any.@type == 'collection'"] = "0 2 3", ["any.@type == 'nil'"] = "6", ["any.@type == nil"] = "6",
    ["any.@type != 'object'"] = "0 2 3 4 5 6 8", ["'data' == any.@type"] = "8", ["any.sizes[1].@type == 'int'"] = "0",
    ["many.@type == 'Toy'"] = "0", ["any.color.@type == 'nil'"] = 8,
  }
  faults {
    ["any.@type == 'strin'"] = "did you mean 'string'", ["any.@type > 'int'"] = "compared with names of types",
    ["any.@type == 5"] = "compared with names of types", ["any.@type == any.color"] = "compared with names of types",
    ["id.@type == 'int'"] = "'@type' is for mixed values",
  }
end)

scenario("errors inside a mixed value are reported", function()
  faults {
    ["any[0] == 1"] = "counted from 1", ["any.@foo == 1"] = "is not valid inside a mixed value",
    ["any.@count.x == 1"] = "'@count' must be the end of a path", ["any[size][1] == 1"] = "must be the end of a path",
    ["any any.@count > 1"] = "needs a list", ["id[1] == 1"] = "not a list", ["any.@sum.@count == 1"] = "cannot follow '@sum'",
    ["any.color and id == 1"] = "compare it with a value", ["any" .. (".note"):rep(40) .. " == 1"] = "in too many ways",
  }
end)

scenario("backlinks by name follow links inside mixed values", function()
  local function toys(predicate, expected)
    equal({ predicate, #store:objects("Toy"):where(predicate) }, { predicate, expected })
  end
  toys("@links.Box.any.id == 1", 1)
  toys("@links.Box.any.id == 2", 0)
  toys("@links.Box.many.@count == 1", 1)
  toys("@links.Box.map.id == 1", 1)
  toys("subquery(@links.Box.any, $b, $b.id < 4).@count == 3", 1)
  store:write(function() box(1).any = N end)
  toys("@links.Box.any.id == 1", 0)
  toys("@links.Box.any.@count == 2", 1)
  store:write(function() store:delete(toy) end)
  toys("@links.Box.any.@count > 0", 0)
  check { ["any.price > 4"] = "" }
end)

scenario("results are sorted and summed by paths into mixed values", function()
  equal(ids(boxes:sorted { { "any.name", "desc" }, "id" }), "1 2 7 0 3 4 5 6 8")
  check {
    ["any.name != nil sort(any.price desc, id asc) limit(2)"] = "1 2",
    ["truepredicate sort(any.sizes[1] desc, id asc) limit(2)"] = "0 1",
  }
  assert(boxes:sum "any.price" == 5 and boxes:count "any.name" == 3 and boxes:max "any.sizes[2]" == 2)
end)

scenario("observers of a path through links in mixed values track the linked objects", function()
  local priced, named = changes(boxes:where "any.price > 6"), changes(boxes, { keypaths = "any.name" })
  equal({ priced(function() toy.price = 9 end), named() }, { "ins[1]", "" })
  -- The toy is in three boxes; in two, the path does not lead to it.
  equal({ priced(function() toy.name = "bone" end), named() }, { "mod[1]", "mod[2]" })
  equal(named(function() shop.name = "fair" end), "mod[8]")
  equal({ priced(), named(function() box(1).any = 1 end), priced() }, { "", "mod[2]", "del[1]" })
  -- A name that no class has is a key of a map.
  for _, path in ipairs { "any.*", "*.price", "map.*", "any.nmae" } do
    boxes:observe(print, { keypaths = path }):invalidate()
  end
end)

-- Distinct values and sections by paths, and queries that outlive their schema.

schema(classes)

before(function()
  boxes = store:objects "Box"
  store:write(function()
    toy = store:create("Toy", { name = "ball", price = 1 })
    for n, value in ipairs { { name = "ball", n = 1 }, toy, { n = 1.0 }, { n = "x" }, N, { 5, 1 }, { n = 0 / 0 } } do
      local many = {}
      for index = 1, (n - 1) % 3 do many[index] = 0 end
      store:create("Box", { n - 1, value, many })
    end
  end)
end)

scenario("distinct takes paths into mixed values, through links, and counts", function()
  equal(ids(boxes:distinct "any.n"), "0 1 3 6")
  equal(ids(boxes:distinct "any.name"), "0 2")
  equal(ids(boxes:distinct "any[1]"), "0 5")
  equal(ids(boxes:distinct "many.@count"), "0 1 2")
  equal(ids(boxes:distinct("many.@count", "any.name")), "0 1 2 3 4")
  check { ["truepredicate distinct(any.n)"] = "0 1 3 6", ["id > 0 distinct(any['n'], many.@count)"] = "1 2 3 5 6" }
  for _, path in ipairs { "any[*]", "many", "any.", "any.@sizzle", "many.@values", "any[0]", "nothing.n", "" } do
    fails(": ", boxes.distinct, boxes, path)
  end
  fails("invalid_query: distinct needs one value of each object", boxes.distinct, boxes, "any[*].n")
  faults { ["truepredicate distinct(any[*])"] = "^" }
end)

scenario("results are grouped by a path into mixed values or by a count", function()
  local names, numbers, counts = boxes:group_by "any.name", boxes:group_by "any.n", boxes:group_by("many.@count", "desc")
  equal(names:keys(), { N, "ball" })
  equal(ids(names[2].objects), "0 1")
  assert(#numbers == 4 and ids(numbers:objects(1.0)) == "0 2")
  local found = 0
  for _, section in ipairs(numbers) do found = found + #section.objects end
  equal(found, 7)
  equal(counts:keys(), { 2, 1, 0 })
  equal(ids(counts[1].objects), "2 5")
  for _, path in ipairs { "any[*].n", "@rank", "any.@type" } do fails(": ", boxes.group_by, boxes, path) end
end)

scenario("observers of distinct rows and of sections receive changes of objects linked in mixed values", function()
  local sections, distinct, calls = boxes:group_by "any.name", boxes:distinct "any.name", 0
  local token <close> = sections:observe(function() calls = calls + 1 end)
  local news = changes(distinct)
  equal(news(function() toy.name = "bone" end), "ins[2]")
  equal(sections:keys(), { N, "ball", "bone" })
  equal(calls, 2)
  -- 1 and 1.0 are equal for both.
  equal(news(function() box(3).any, box(4).any = { name = 1.0 }, { name = 1 } end), "ins[4]")
  assert(calls == 3 and ids(distinct) == "0 1 2 3")
end)

scenario("existing queries include classes that are defined later", function()
  local found, sorted = boxes:where "any.weight > 3 sort(any.weight desc)", boxes:sorted("any.weight", "desc")
  local distinct, sections, calls = boxes:distinct "any.weight", boxes:group_by "any.weight", 0
  assert(#found == 0 and #sections == 1 and ids(distinct) == "0")
  local news = changes(found)
  local token <close> = sections:observe(function() calls = calls + 1 end)
  turn()
  store:define { Stone = { weight = "int" } }
  turn()
  local stone
  equal(news(function()
    stone = store:create("Stone", { weight = 7 })
    box(4).any = stone
  end), "ins[1]")
  assert(ids(found) == "4" and sorted[1].id == 4 and ids(distinct) == "0 4" and calls == 2)
  equal(sections:keys(), { N, 7 })
  equal(ids(sections:objects(7)), "4")
  equal(news(function() stone.weight = 1 end), "del[1]")
  assert(calls == 3 and #found == 0)
end)

scenario("existing queries continue when a reachable class is removed", function()
  local found = boxes:where "any.name == 'ball'"
  equal(ids(found), "0 1")
  local news = changes(found)
  store:define({}, function(m) m:delete_class "Toy" end)
  equal(news(), "del[2]")
  equal(ids(found), "0")
end)

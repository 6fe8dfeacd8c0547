-- Every kind of path, in every function that takes paths, compared with an evaluation by hand in Lua.

schema {
  Person = { id = "int primary", name = "string", city = "string?", dogs = "Dog[]", scores = "int[]",
    tags = "string<>", notes = "string{}", any = "mixed", address = "Address", first = "Dog", ["not"] = "int" },
  Address = { embedded = true, street = "string", zip = "int?" },
  Dog = { id = "int primary", name = "string", age = "int", weight = "double?", owner = "Person",
    ["nil"] = "int", owners = "backlinks Person.dogs" },
  Box = { id = "int primary", marks = "mixed[]", prices = "double[]", cents = "decimal[]", counts = "int[]",
    seal = "data?" },
}

local people

before(function()
  store:write(function()
    for p = 1, 5 do
      local dogs = {}
      for d = 1, p - 1 do
        dogs[d] = store:create("Dog", { id = p * 10 + d, name = "d" .. p .. d, age = p * d % 7,
          weight = d % 2 == 0 and 1.5 * d or nil, ["nil"] = d })
      end
      local person = store:create("Person", { id = p, name = "p" .. p, city = p % 2 == 0 and "c" or nil, dogs = dogs,
        scores = { p, p * 2 % 5 }, tags = { "a", "b" .. p }, notes = { food = "x" .. p, k = "y" },
        any = { list = { 1, p }, n = p }, address = p > 1 and { street = "s" .. p, zip = p } or nil,
        first = dogs[1], ["not"] = p })
      for _, dog in ipairs(dogs) do dog.owner = person end
    end
  end)
  people = store:objects "Person"
end)

local function fold(list, key, start, step)
  local result = start
  for _, element in ipairs(list) do
    local value = key and element[key] or not key and element
    if value then result = result and step(result, value) or not result and value end
  end
  return result
end
-- Paths with one value, and the value by hand.
local one = {
  ["name"] = function(p) return p.name end,
  ["city"] = function(p) return p.city end,
  ["first.name"] = function(p) return p.first and p.first.name end,
  ["first.owner.name"] = function(p) return p.first and p.first.owner.name end,
  ["address.zip"] = function(p) return p.address and p.address.zip end,
  ["dogs.@count"] = function(p) return #p.dogs end,
  ["dogs.@sum.age"] = function(p) return fold(p.dogs, "age", 0, function(a, b) return a + b end) end,
  ["dogs.@max.age"] = function(p) return fold(p.dogs, "age", nil, math.max) end,
  ["dogs.@min.weight"] = function(p) return fold(p.dogs, "weight", nil, math.min) end,
  ["scores.@sum"] = function(p) return p.scores[1] + p.scores[2] end,
  ["scores.@max"] = function(p) return math.max(p.scores[1], p.scores[2]) end,
  ["scores[2]"] = function(p) return p.scores[2] end,
  ["dogs[1].name"] = function(p) return p.dogs[1] and p.dogs[1].name end,
  ["dogs[last].age"] = function(p) return p.dogs[#p.dogs] and p.dogs[#p.dogs].age end,
  ["notes['food']"] = function(p) return p.notes.food end,
  ["notes.food"] = function(p) return p.notes.food end,
  ["notes.@count"] = function() return 2 end,
  ["tags.@count"] = function() return 2 end,
  ["name.@size"] = function(p) return #p.name end,
  ["any.n"] = function(p) return p.any.n end,
  ["any.list[2]"] = function(p) return p.any.list[2] end,
  ["`not`"] = function(p) return p["not"] end,
  ["first.`nil`"] = function(p) return p.first and p.first["nil"] end,
  ["first.owners.@count"] = function(p) return p.first and #p.first.owners or 0 end,
  ["first.owners[1].name"] = function(p) return p.first and p.first.owners[1].name end,
}
local many = { "dogs.age", "dogs.name", "scores", "tags", "notes.@keys", "notes.@values", "any.list[*]", "first.owners.name" }
local function by_hand(path)
  local values = {}
  for _, person in ipairs(people) do values[#values + 1] = { person.id, one[path](person) } end
  return values
end
local function same(a, b, what)
  assert(a == b, ("%s: %s instead of %s"):format(what, tostring(a), tostring(b)))
end

scenario("a path reads the same value in get, project and conditions", function()
  for path in pairs(one) do
    local cards = people:project { value = path }
    local ids, values = {}, {}
    for id, value in people:values("id", path) do ids[#ids + 1], values[#ids + 1] = id, value end
    for index, pair in ipairs(by_hand(path)) do
      local id, value = pair[1], pair[2]
      same(store:object("Person", id):get(path), value, "get " .. path)
      same(cards[index].value, value, "project " .. path)
      same(ids[index], id, "values " .. path)
      same(values[index], value, "values " .. path)
      local found = value == nil and people:where(path .. " == nil and id == $1", id)
        or people:where(path .. " == $1 and id == $2", value, id)
      -- No comparison with the maximum of no values is true.
      local isOfNone = value == nil and path:find "@m"
      same(#found, isOfNone and 0 or 1, "where " .. path)
    end
  end
end)

scenario("a path orders, distinguishes and groups objects by its value", function()
  for path in pairs(one) do
    local values, different, count = by_hand(path), {}, 0
    for _, pair in ipairs(values) do
      local key = pair[2] == nil and "nil" or pair[2]
      if not different[key] then different[key] = 0 count = count + 1 end
      different[key] = different[key] + 1
    end
    table.sort(values, function(a, b)
      if a[2] == b[2] then return a[1] < b[1] end
      if a[2] == nil or b[2] == nil then return a[2] == nil end
      return a[2] < b[2]
    end)
    for index, person in ipairs(people:sorted(path)) do
      same(person.id, values[index][1], "sorted " .. path)
    end
    for index, person in ipairs(people:where("truepredicate sort(" .. path .. ")")) do
      same(person.id, values[index][1], "sort() " .. path)
    end
    same(#people:distinct(path), count, "distinct " .. path)
    local groups = people:group_by(path)
    same(#groups, count, "group_by " .. path)
    for _, group in ipairs(groups) do
      local key = group.key == nil and "nil" or group.key
      same(#group.objects, different[key], "group of " .. path)
    end
  end
end)

scenario("aggregates, charts and observers take every path with one value", function()
  for path in pairs(one) do
    local number, largest, sum = true, nil, 0
    for _, pair in ipairs(by_hand(path)) do
      if type(pair[2]) == "string" then number = false end
      if number and pair[2] then sum = sum + pair[2] largest = math.max(largest or pair[2], pair[2]) end
    end
    local seen
    if number then
      same(people:sum(path), sum, "sum " .. path)
      same(people:max(path), largest, "max " .. path)
      people:observe_aggregate("max", path, function(new) seen = new end):invalidate()
      local token = people:observe_aggregate("max", path, function(new) seen = new end)
      store:refresh()
      same(seen, largest, "observe_aggregate " .. path)
      token:invalidate()
      assert(people:plot(path, path))
    end
    assert(people:histogram(path))
    local calls = 0
    people:observe(function() calls = calls + 1 end, { keypaths = { path } }):invalidate()
    store:object("Person", 3):observe_value(path, function() end):invalidate()
  end
end)

scenario("observers of a path see the changes of its value, and only those", function()
  local ann = store:object("Person", 4)
  local seen = {}
  local function watch(path)
    return ann:observe_value(path, function(new, old) seen[#seen + 1] = path .. ":" .. tostring(old) .. ">" .. tostring(new) end)
  end
  local kept = { watch "dogs.@sum.age", watch "dogs[1].name", watch "any.n", watch "first.owner.name", watch "notes['food']" }
  local rows = 0
  kept[#kept + 1] = people:observe(function(change) rows = rows + #change.modifications end, { keypaths = { "dogs.@sum.age" } })
  store:refresh()
  store:write(function() ann.dogs[1].name = "new" end)
  store:refresh()
  same(table.concat(seen, " "), "dogs[1].name:d41>new", "first")
  same(rows, 0, "rows")
  seen = {}
  store:write(function() ann.dogs[2].age = 60 ann.any = { n = 8 } ann.notes.food = nil ann.city = "x" end)
  store:refresh()
  table.sort(seen)
  same(table.concat(seen, " "), "any.n:4>8 dogs.@sum.age:10>69 notes['food']:x4>nil", "second")
  same(rows, 1, "rows")
end)

scenario("a path with several values is refused where one is needed, with what to write", function()
  for _, path in ipairs(many) do
    local consumers = {
      sorted = function() return #people:sorted(path) end,
      distinct = function() return #people:distinct(path) end,
      group_by = function() return #people:group_by(path) end,
      max = function() return people:max(path) end,
      observe_aggregate = function() return people:observe_aggregate("max", path, print) end,
      histogram = function() return people:histogram(path) end,
      plot = function() return people:plot(path, path) end,
      observe_value = function() return store:object("Person", 1):observe_value(path, print) end,
    }
    for name, body in pairs(consumers) do
      if not (name == "observe_value" and (path == "scores" or path == "tags")) then
        local ok, err = pcall(body)
        local way = path == "dogs.age" and "'dogs.@sum.age'" or "@"
        assert(not ok and err.code == "invalid_query" and err.message:find(way, 1, true),
          name .. " " .. path .. ": " .. tostring(err))
      end
    end
    assert(people:project { value = path }[3].value ~= nil, path)
  end
  same(#store:object("Person", 4):get "dogs.name", 3, "names")
  same(store:object("Person", 4):get "dogs.name"[2], "d42", "name")
  same(#store:object("Person", 4):get "notes.@keys", 2, "keys")
end)

scenario("the name of a type is a value, but has no order", function()
  local ann = store:object("Person", 4)
  same(ann:get "any.@type", "map", "get")
  same(people:project({ t = "any.n.@type" })[1].t, "int", "project")
  same(#people:distinct "any.@type", 1, "distinct")
  for _, body in ipairs { function() people:sorted "any.@type" end, function() people:group_by "any.@type" end,
    function() return people:max "any.@type" end } do
    local ok, err = pcall(body)
    assert(not ok and err.code == "invalid_query", tostring(err))
  end
end)

scenario("numbers of different types are ordered, grouped and added by value", function()
  local decimal = moonpool.decimal
  local most = math.maxinteger
  local boxes = store:objects "Box"
  store:write(function()
    store:create("Box", { id = 1 })
    store:create("Box", { id = 2, marks = { 1, 2 }, prices = { 0.0 }, cents = { decimal "0.0" }, counts = { most } })
    store:create("Box", { id = 3, marks = { 2.5, "text" }, prices = { 0.25 }, counts = { most, 1 } })
    store:create("Box", { id = 4, marks = { decimal "3" }, prices = { -0.25 }, counts = { -1 } })
    store:create("Box", { id = 5, marks = { decimal "2.25", {} }, cents = { decimal "0.5" }, counts = { most, most } })
  end)
  local function ids(objects)
    local found = {}
    for box in objects:each() do found[#found + 1] = box.id end
    return table.concat(found, " ")
  end
  for path, orders in pairs {
    ["marks.@sum"] = { "1 5 3 2 4", "2 4 3 5 1", "1 | 5 | 3 | 2 4" },
    ["marks.@max"] = { "1 2 5 3 4", "4 3 5 2 1", "1 | 2 | 5 | 3 | 4" },
    ["marks.@avg"] = { "1 2 5 3 4", "4 3 5 2 1", "1 | 2 | 5 | 3 | 4" },
    ["prices.@sum"] = { "4 1 2 5 3", "3 1 2 5 4", "4 | 1 2 5 | 3" },
    ["cents.@sum"] = { "1 2 3 4 5", "5 1 2 3 4", "1 2 3 4 | 5" },
    ["counts.@sum"] = { "4 1 2 3 5", "5 3 2 1 4", "4 | 1 | 2 | 3 | 5" },
  } do
    same(ids(boxes:sorted(path)), orders[1], path)
    same(ids(boxes:sorted(path, "desc")), orders[2], path .. " desc")
    same(ids(boxes:sorted(path):limit(2)), orders[1]:sub(1, 3), path .. " limit")
    local groups = {}
    for _, group in ipairs(boxes:group_by(path)) do groups[#groups + 1] = ids(group.objects) end
    same(table.concat(groups, " | "), orders[3], "groups of " .. path)
    same(#boxes:distinct(path), #groups, "distinct " .. path)
  end
  same(math.type(boxes[1]:get "prices.@sum"), "float", "the sum of no doubles")
  same(boxes[1]:get "cents.@sum", decimal "0", "the sum of no decimals")
  same(math.type(boxes[1]:get "counts.@sum"), "integer", "the sum of no ints")
  same(boxes:sum "marks.@sum", decimal "10.75", "sum")
  same(boxes:where("id < 3"):sum "counts.@sum", most, "the sum of sums of ints")
  local seen = {}
  local token <close> = boxes:sorted("marks.@sum"):observe(function(change) seen = { table.unpack(change.insertions) } end)
  store:refresh()
  store:write(function() store:create("Box", { id = 6, marks = { 2.375 } }) end)
  store:refresh()
  same(table.concat(seen, " "), "3", "the position of a new object")
end)

scenario("an element of backlinks may be nil", function()
  same(#store:objects("Dog"):where "owners[1] == nil", 0, "first")
  same(#store:objects("Dog"):where "owners[2] == nil", #store:objects "Dog", "second")
  same(#store:objects("Dog"):where "owners[2] in {nil}", #store:objects "Dog", "second, in a list")
  fails("invalid_query", function() return #store:objects("Dog"):where "owners == nil" end)
end)

scenario("data is compared with the text that a script reads", function()
  local box = store:write(function() return store:create("Box", { id = 1, seal = moonpool.data "ab" }) end)
  local boxes = store:objects "Box"
  for _, condition in ipairs { "seal == $1", "seal in {$1}", "seal beginswith $1", "seal >= $1", "any seal == 'ab'" } do
    if condition:find "any" then
      fails("invalid_query", function() return #boxes:where(condition) end)
    else
      same(#boxes:where(condition, box.seal), 1, condition)
    end
  end
  same(#boxes:where { seal = box.seal }, 1, "a table")
  same(#boxes:where "seal == 'b'", 0, "another text")
end)

scenario("after a change of a property's type, no path reads a wrong value", function()
  local ann = store:object("Person", 4)
  local row = ann:project { sum = "dogs.@sum.age", name = "dogs[1].name" }
  local seen, sums, errors = {}, {}, {}
  moonpool.on_error = function(err) errors[#errors + 1] = err.code end
  local kept = {
    ann:observe_value("dogs.@max.age", function(new) seen[#seen + 1] = new end),
    people:observe_aggregate("sum", "dogs.@avg.age", function(new) sums[#sums + 1] = new end),
    people:group_by("tags.@count"):observe_aggregate("average", "dogs.@avg.age", function(new) sums[#sums + 1] = new end),
  }
  store:refresh()
  local dog = { id = "int primary", name = "string", age = "double", weight = "double?", owner = "Person", ["nil"] = "int",
    owners = "backlinks Person.dogs" }
  store:define({ Dog = dog }, { force = true })
  store:refresh()
  store:write(function() ann.dogs[1].age = 100.5 end)
  store:refresh()
  same(seen[#seen], 100.5, "observe_value")
  same(#sums, 2, "calls of the aggregates")
  same(table.concat(errors, " "), "schema_changed schema_changed", "errors of the aggregates")
  fails("unknown_property", function() return row.sum end)
  same(row.name, ann.dogs[1].name, "another path")
  same(ann:get "dogs.@max.age", 100.5, "get")
  kept[1]:invalidate()
end)

scenario("observers behind mixed values report exactly what a change of schema changes", function()
  store:define { Card = { id = "int primary", x = "mixed" }, Coin = { id = "int primary", n = "int" } }
  store:write(function()
    for i = 1, 4 do store:create("Card", { id = i, x = store:create("Coin", { id = i, n = i }) }) end
  end)
  local cards, watched, kept = store:objects "Card", {}, {}
  local function ids(objects)
    local found = {}
    for card in objects:each() do found[#found + 1] = card.id end
    return found
  end
  local queries = {
    where = function() return cards:where "x.n > 1" end,
    sorted = function() return cards:sorted("x.n", "desc") end,
    distinct = function() return cards:distinct "x.n" end,
    window = function() return cards:sorted("x.n", "desc"):limit(2) end,
  }
  for name, query in pairs(queries) do
    watched[name] = ids(query())
    kept[#kept + 1] = query():observe(function(change)
      if change.type == "initial" then return end
      local rows, new = watched[name], ids(change.collection)
      for i = #change.deletions, 1, -1 do table.remove(rows, change.deletions[i]) end
      for _, i in ipairs(change.insertions) do table.insert(rows, i, new[i]) end
    end)
  end
  store:refresh()
  local function check(when)
    store:refresh()
    for name, query in pairs(queries) do
      same(table.concat(watched[name], " "), table.concat(ids(query()), " "), name .. " " .. when)
    end
  end
  store:define({ Coin = { id = "int primary", n = "double" } }, { force = true })
  check "after another type"
  store:write(function() store:object("Coin", 2).n = 10.5 store:object("Card", 4).x = 7 end)
  check "after a write"
  store:define({ Coin = { id = "int primary", m = "int" } }, { force = true })
  check "after the removal"
  store:write(function() store:object("Card", 4).x = { n = 3 } end)
  check "after another write"
  assert(#kept == 4)
end)

-- The predicate language in scripts.

local dogs

local function ids(results) return table.concat(results:map(function(d) return d.id end), " ") end

before(function()
  store:write(function()
    for i = 1, 6 do
      local toys, marks = {}, {}
      for t = 1, i - 1 do toys[t] = { label = "toy " .. t, price = t } marks[t] = t * i end
      store:create("Dog", { id = i, name = "Dog " .. i, age = i, score = i / 2, good = i % 2 == 0,
        toys = toys, marks = marks })
    end
  end)
  dogs = store:objects "Dog"
end)

scenario("predicates test elements, sizes and whole lists", function()
  equal(ids(dogs:where "toys[1].price == 1"), "2 3 4 5 6")
  equal(ids(dogs:where("toys[$1].label == $2", 4, "toy 4")), "5 6")
  equal(ids(dogs:where "marks[last] > 10"), "4 5 6")
  equal(ids(dogs:where "marks[size] == 2"), "3")
  equal(ids(dogs:where("marks == $1", { 3, 6 })), "3")
  equal(ids(dogs:where { marks = { 2 } }), "2")
  equal(ids(dogs:where { marks = {} }), "1")
  fails(": counted from 1", function() return dogs:where "toys[0].price == 1" end)
end)

scenario("objects are sorted by counts and sums", function()
  equal(ids(dogs:sorted("toys.@count", "desc")), "6 5 4 3 2 1")
  equal(ids(dogs:sorted { { "good" }, { "toys.@sum.price", "desc" } }), "5 3 1 6 4 2")
  equal(ids(dogs:where "truepredicate sort(marks[1] desc) limit(2)"), "6 5")
  fails("invalid_query", dogs.sorted, dogs, "toys.@cuont")
end)

scenario("an update of many objects is part of the current write", function()
  fails("not_in_write", function() dogs:update { age = 1 } end)
  equal(dogs:sum "age", 21)
  local returned
  store:write(function() returned = dogs:where("id > 3"):update { age = moonpool.null, score = 0 } end)
  assert(#returned == 3 and ids(dogs:where "age == nil") == "4 5 6" and dogs:sum "score" == 3)
  -- Objects that leave the query during the update are updated as well.
  store:write(function() dogs:where("age != nil"):update { age = moonpool.null, name = "none" } end)
  assert(#dogs:where "age != nil" == 0 and #dogs:where "name == 'none'" == 3)
  fails("unknown_property", function() store:write(function() dogs:update { name = "x", nmae = 1 } end) end)
  equal(#dogs:where "name == 'x'", 0)
  fails("type_mismatch", function() store:write(function() dogs:update { age = "old" } end) end)
  local ok = pcall(store.write, store, function() dogs:update { age = 50 } error "no" end)
  assert(not ok and #dogs:where "age == 50" == 0)
end)

scenario("the values of 'in' come from a list, a query or a plain array", function()
  local many = {}
  for i = 1, 10000 do many[i] = i * 3 end
  equal(ids(dogs:where("id in $1", many)), "3 6")
  equal(ids(dogs:where("age in $1", many)), "3 6")
  local toys = store:objects("Toy"):where "label == 'toy 5'"
  equal(ids(dogs:where("any toys in $1", toys)), "6")
  equal(ids(dogs:where("any toys in $1", dogs[3].toys)), "3")
end)

scenario("a plan contains steps and numbers", function()
  local plan = dogs:where("id == 3 and age > 1"):explain()
  assert(plan:find("looks up 1 value in the unique index for: id == 3", 1, true), plan)
  assert(plan:find("1 candidate of 6 objects of 'Dog'", 1, true), plan)
  plan = dogs:where("age > 1 and owner.name == 'Ann'"):explain()
  assert(plan:find("age > 1", 1, true) and plan:find("observer", 1, true), plan)
end)

scenario("geoWithin tests places in objects, maps and mixed values", function()
  local s = moonpool.open { in_memory = unique "places", schema = {
    P = { { "id", "int primary" }, { "at", "Point" }, { "spot", "Spot" }, { "map", "double{}" }, { "any", "mixed" }, { "all", "Spot[]" }, { "x", "int?" } },
    Point = { embedded = true, { "type", "string" }, { "coordinates", "double[]" } },
    Spot = { { "id", "int primary" }, { "longitude", "double" }, { "latitude", "double?" } } } }
  local function point(lon, lat) return { type = "Point", coordinates = { lon, lat } } end
  local spot = s:write(function()
    local spot = s:create("Spot", { id = 1, longitude = 10, latitude = 50 })
    s:create("P", { id = 1, at = point(10, 50), spot = spot, map = { longitude = 10, latitude = 50 }, any = point(10, 50), all = { spot } })
    s:create("P", { id = 2, at = point(-170, 10), any = { longitude = -170, latitude = 10 }, map = { longitude = 10 } })
    s:create("P", { id = 3, at = { type = "Area", coordinates = { 10, 50 } }, any = { type = "Area", coordinates = { 10, 50 } } })
    s:create("P", { id = 4, at = { type = "Point", coordinates = { 10 } }, any = spot })
    s:create("P", { id = 5, at = point(200, 50), any = "nowhere" })
    return spot
  end)
  local all = s:objects "P"
  local function ids(...)
    local found = {}
    for _, p in ipairs(all:where(...)) do found[#found + 1] = p.id end
    return table.concat(found, ",")
  end
  local function check(want, ...) local got = ids(...) assert(got == want, select(1, ...) .. ": " .. got) end
  local box = " geoWithin geoBox([9, 49], [11, 51])"
  check("1", "at" .. box) check("1", "spot" .. box) check("1", "map" .. box) check("1,4", "any" .. box)
  check("2,3,4,5", "not at" .. box)
  check("1", "at GEOWITHIN GEOBOX([9, 49, 7.5], [11, 51])")
  check("2", "at geoWithin geoBox([170, 0], [-160, 20])")
  check("1", "at geoWithin geoCircle([$1, $2], $3) and x == nil", 10.5, 50, 0.01)
  check("", "at geoWithin geoCircle([10.5, 50], 0.005)")
  check("1", "at geoWithin geoPolygon({[9, 49], [11, 49], [11, 51], [9, 51], [9, 49]})")
  check("1", "at geoWithin geoPolygon({[9, 51], [11, 51], [11, 49], [9, 49]})")
  check("", "at geoWithin geoPolygon({[9, 49], [11, 49], [11, 51], [9, 51]}, {[9.5, 49.5], [10.5, 49.5], [10.5, 50.5], [9.5, 50.5]})")
  check("2", "at geoWithin geoPolygon({[170, 0], [-160, 0], [-160, 20], [170, 20]})")
  -- As an argument, a place is a latitude and a longitude, and a radius has meters.
  check("1", "at geoWithin $1", { circle = { 50, 10.5 }, radius = 0.01 * 6378100 })
  check("", "at geoWithin $1", { circle = { 50, 10.5 }, radius = 0.005 * 6378100 })
  check("1", "at geoWithin $2 and id == $1", 1, { box = { { 49, 9 }, { 51, 11 } } })
  check("2", "at geoWithin $1", { box = { { 0, 170 }, { 20, -160 } } })
  local corners = { { 49, 9 }, { 49, 11 }, { 51, 11 }, { 51, 9 } }
  check("1", "at geoWithin $1", { polygon = corners })
  check("", "at geoWithin $1", { polygon = corners, holes = { { { 49.5, 9.5 }, { 49.5, 10.5 }, { 50.5, 10.5 }, { 50.5, 9.5 } } } })
  for _, region in ipairs {
    {}, { 1, 2 }, { circle = { 50, 10 } }, { circle = { 50, 10 }, radius = -1 }, { circle = { 91, 10 }, radius = 1 },
    { circle = { 50 }, radius = 1 }, { box = { { 51, 9 }, { 49, 11 } } }, { box = corners }, { polygon = { { 1, 2 } } },
    { polygon = corners, holes = { 1 } }, { polygon = corners, radius = 1 },
  } do
    local ok, err = pcall(all.where, all, "at geoWithin $1", region)
    assert(not ok and err.code == "invalid_query" and err.message:find("$1 is not a region", 1, true), err.message)
  end
  check("1", "subquery(all, $p, $p" .. box .. ").@count == 1")
  local log = {}
  local token = all:where("any" .. box):observe(function(c) log[#log + 1] = #c.insertions .. "/" .. #c.deletions end)
  s:refresh()
  s:write(function() spot.longitude = 12 end) s:refresh()
  s:write(function() s:object("P", 2).any.longitude = 10 s:object("P", 2).any.latitude = 50 end) s:refresh()
  s:write(function() s:object("P", 1).any.coordinates[1] = 0 end) s:refresh()
  equal(table.concat(log, " "), "0/0 0/1 1/0 0/1")
  equal(token:why().causes[1].properties[1], "any")
  local function fault(text, words) local got = message(all.where, all, text) assert(got:find(words, 1, true), got) end
  fault("x" .. box, "is not a place")
  fault("all" .. box, "write subquery")
  fault("any all" .. box, "write subquery")
  fault("5" .. box, "tests a place")
  fault("at geoWithin box(1)", "expected geoBox([lon, lat], [lon, lat])")
  fault("at == geoBox([1, 1], [2, 2])", "must follow 'geoWithin'")
  fault("at geoWithin geoBox([9, 51], [11, 49])", "southwestern")
  fault("at geoWithin geoBox([9, 91], [11, 49])", "from -180 to 180")
  fault("at geoWithin geoCircle([9, 9], -1)", "cannot be negative")
  fault("at geoWithin geoCircle([9, 'a'], 1)", "the latitude must be a number")
  fault("at geoWithin geoPolygon({[9, 9], [1, 1], [9, 9]})", "three different places")
  fault("at geoWithin geoPolygon([9, 9])", "expected '{'")
  assert(all:where("at" .. box):explain():find("geoWithin", 1, true))
end)

scenario("a polygon contains what a test in the plane finds, for small regions anywhere", function()
  store:define { Pin = { id = "int primary", at = "double{}" } }
  local seed = 7
  local function random() seed = (seed * 1103515245 + 12345) % 2147483648 return seed / 2147483648 end
  for round = 1, 30 do
    local lon, lat = random() * 360 - 180, random() * 140 - 70
    local corners, pins = {}, {}
    for i = 1, 7 do
      local angle, far = i * 2 * math.pi / 7, 0.01 + random() * 0.04
      corners[i] = { lon + far * math.cos(angle), lat + far * math.sin(angle) }
    end
    if round % 2 == 0 then
      local back = {}
      for i = 7, 1, -1 do back[#back + 1] = corners[i] end
      corners = back
    end
    local function wrapped(x) return x > 180 and x - 360 or x < -180 and x + 360 or x end
    store:write(function()
      store:delete_all "Pin"
      for i = 1, 20 do
        local x, y = lon + random() * 0.1 - 0.05, lat + random() * 0.1 - 0.05
        pins[i] = { x, y }
        store:create("Pin", { id = i, at = { longitude = wrapped(x), latitude = y } })
      end
    end)
    local places = {}
    for i, c in ipairs(corners) do places[i] = ("[%.17g, %.17g]"):format(wrapped(c[1]), c[2]) end
    local found = store:objects "Pin":where("at geoWithin geoPolygon({" .. table.concat(places, ", ") .. "})")
    for i, pin in ipairs(pins) do
      local inside = false
      for j = 1, 7 do
        local a, b = corners[j], corners[j % 7 + 1]
        if (a[2] > pin[2]) ~= (b[2] > pin[2]) and pin[1] < (b[1] - a[1]) * (pin[2] - a[2]) / (b[2] - a[2]) + a[1] then inside = not inside end
      end
      assert(found:contains(store:object("Pin", i)) == inside, round .. " " .. i)
    end
  end
end)

scenario("dates in the notation of Realm", function()
  local d = dog { id = 50, born = moonpool.date "2020-01-01T00:00:00.000001Z" }
  local dogs = store:objects "Dog"
  local function check(text, count) assert(#dogs:where(text) == count, text) end
  check("born > 2020-01-01@00:00:00", 1) check("born == 2020-01-01@00:00:00", 0)
  check("born == 2020-01-01@00:00:00:1000", 1) check("born == 2020-1-1@0:0:0:1000", 1)
  check("born > 2020-01-01@00:00:00:999", 1) check("born < 2020-01-01T00:00:00:1001", 1)
  check("born == T1577836800:1000", 1) check("born > T1577836800:999", 1) check("born < T1577836800:1001", 1)
  check("born in {2020-01-01@00:00:00:1000, T0:0}", 1) check("born between {T-1:0, T2000000000:0}", 1)
  check("born == 2020-01-01T00:00:00.000001", 1) check("born == 2020-01-01@00:00:00.000001Z", 1)
  check("born > 2020-01-01T01:00:00+01:00", 1) check("age == nil and id == 2070-2010-10", 1)
  for _, text in ipairs { "2020-13-01@00:00:00", "2020-01-01@00:00:00:", "2020-01-01@00:00:00:1000000000", "T1:1000000000", "2020-01-01@00" } do
    local fault = message(dogs.where, dogs, "born == " .. text)
    assert(fault:find("date", 1, true) or fault:find("nanoseconds", 1, true), fault)
  end
end)

scenario("links lead to classes and properties with the names of aggregates", function()
  local s = moonpool.open { in_memory = unique "aggregates", schema = {
    count = { { "id", "int primary" }, { "size", "P" } }, P = { { "id", "int primary" }, { "count", "count[]" } } } }
  s:write(function()
    for id = 1, 3 do s:create("P", { id = id }) end
    s:create("count", { id = 7, size = s:object("P", 2) })
    s:object("P", 3).count:append(s:object("count", 7))
  end)
  local all = s:objects "P"
  for text, want in pairs {
    ["@links.count.size.@count == 1"] = 2, ["any @links.count.size.id == 7"] = 2, ["@links.@count == 1"] = 2,
    ["count.@count == 1"] = 3, ["any count.size.id == 2"] = 3, ["@links.count.size.@count == 0 and id > 1"] = 3,
  } do
    local found = all:where(text)
    assert(#found == 1 and found[1].id == want, text .. ": " .. #found)
  end
end)

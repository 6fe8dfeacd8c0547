-- `results:histogram(property [, bars])`.

schema {
  Dog = { age = "int?", weight = "double?", name = "string", born = "date?", tags = "string[]",
    good = "bool?" },
}

local dogs

local function add(values) store:write(function() store:create("Dog", values) end) end

local function counts(h)
  local t = {}
  for i, bar in ipairs(h) do
    t[i] = tostring(bar.from) .. "-" .. tostring(bar.to) .. "=" .. bar.count
  end
  return table.concat(t, " ")
end

before(function()
  dogs = store:objects "Dog"
end)

scenario("values without a histogram are refused", function()
  for _, name in ipairs { "tags", "nothing", "" } do
    local ok, err = pcall(dogs.histogram, dogs, name)
    assert(not ok and err.code:find "invalid_query" or err.code == "unknown_property", err.code)
  end
  for _, bars in ipairs { 0, -1, 1e6, "x", {} } do
    assert(not pcall(dogs.histogram, dogs, "age", bars))
  end
  assert(not pcall(dogs.histogram, dogs))
  local none = dogs:histogram "age"
  assert(#none == 0 and tostring(none) == "age: no values")
end)

scenario("few values are counted one by one", function()
  for _, age in ipairs { 3, 1, 3, 3 } do add { age = age, name = "x" } end
  add { name = "y", good = true }
  local h = dogs:histogram "age"
  equal(counts(h), "1-1=1 3-3=3")
  assert(h.missing == 1 and math.type(h[1].from) == "integer")
  local full, half = ("█"):rep(40), ("█"):rep(13) .. "▎"
  equal(tostring(h), "age\n  1 │" .. half .. " 1\n  3 │" .. full .. " 3\nnil │" .. half .. " 1")
  assert(counts(dogs:histogram("name", 1)) == "x-x=4" and dogs:histogram("name", 1).others == 1)
  equal(counts(dogs:histogram "good"), "true-true=1")
end)

scenario("many numbers are grouped into ranges with round bounds", function()
  for i = 0, 99 do add { age = i, weight = i / 10, name = "" } end
  equal(counts(dogs:histogram("age", 5)), "0-20=20 20-40=20 40-60=20 60-80=20 80-100=20")
  equal(counts(dogs:histogram("weight", 2)), "0.0-5.0=50 5.0-10.0=50")
  equal(counts(dogs:where("age < 7"):histogram("age", 3)), "0-2=2 2-4=2 4-6=2 6-8=1")
end)

scenario("the smallest and largest numbers are valid", function()
  for i, n in ipairs { math.maxinteger, math.mininteger, 0, 1, -1 } do
    add { age = n, name = "", weight = n * 1e300 * 1e8 }
  end
  add { name = "", weight = 0/0 }
  local h, sum = dogs:histogram("age", 2), 0
  for _, bar in ipairs(h) do sum = sum + bar.count end
  assert(sum == 5 and h.missing == 1)
  equal(dogs:histogram("weight", 2).missing, 3)
  store:write(function() store:delete_all() end)
  for i = 1, 20 do add { name = "", weight = 1 + i * 2^-52 } end
  sum = 0
  for _, bar in ipairs(dogs:histogram("weight", 3)) do sum = sum + bar.count end
  equal(sum, 20)
  store:write(function() store:delete_all() end)
  for i = 1, 20 do add { name = "", weight = i * 5e-324 } end
  sum = 0
  for _, bar in ipairs(dogs:histogram("weight", 3)) do sum = sum + bar.count end
  equal(sum, 20)
end)

scenario("dates are grouped into calendar units", function()
  for day = 1, 28 do
    add { name = "", born = moonpool.date(("2026-02-%02dT10:00:00Z"):format(day)) }
  end
  local h = dogs:histogram("born", 4)
  assert(h[2].to - h[2].from == 7 * 86400, tostring(h))
end)

-- `results:plot(x, y, options)` and `moonpool.svg`.

schema {
  Dog = { age = "int?", weight = "double?", name = "string", born = "date?", tags = "string[]",
    good = "bool?", extra = "mixed", owner = "Person" },
  Person = { name = "string" },
}

local dogs

before(function()
  dogs = store:objects "Dog"
  store:write(function()
    for i = 1, 9 do
      store:create("Dog", { age = i, weight = i * i, name = i % 2 == 0 and "even" or "odd <&>",
        born = moonpool.date(i * 86400), good = i > 3, extra = i, owner = { name = "p" .. i % 2 } })
    end
    store:create("Dog", { name = "nothing" })
    store:create("Dog", { name = "infinite", age = 1, weight = 1/0 })
  end)
end)

scenario("values without a position on an axis are refused", function()
  for _, name in ipairs { "tags", "nothing", "", "owner" } do
    local ok, err = pcall(dogs.plot, dogs, name, "age")
    assert(not ok and (err.code == "invalid_query" or err.code == "unknown_property"), tostring(err))
    assert(not pcall(dogs.plot, dogs, "age", name))
    assert(not pcall(dogs.plot, dogs, "age", "age", { by = name }), name)
  end
  for _, options in ipairs { { hue = 1 }, { by = 1 }, { title = {} }, 3 } do
    assert(not pcall(dogs.plot, dogs, "age", "age", options))
  end
  assert(not pcall(dogs.plot, dogs, "age"))
  assert(not pcall(moonpool.svg, dogs) and not pcall(moonpool.svg, {}) and not pcall(moonpool.svg))
end)

scenario("objects without a finite value are counted, not drawn", function()
  local text = tostring(dogs:plot("age", "weight"))
  assert(text:find "^weight\n" and text:find "2 objects have no value", text)
  equal(tostring(dogs:where("age == nil"):plot("age", "weight")), "weight by age: no values")
  local _, circles = dogs:plot("age", "weight"):svg():gsub("<circle", "")
  equal(circles, 9)
end)

scenario("dates, strings, booleans, mixed values and key paths have axes", function()
  assert(tostring(dogs:plot("born", "age")):find "Jan 5")
  assert(tostring(dogs:plot("name", "age")):find "odd <&>")
  assert(tostring(dogs:plot("owner.name", "extra")):find "p1")
  assert(tostring(dogs:plot("good", "age")):find "true")
end)

scenario("each group has a color and a name", function()
  local plot = dogs:plot("age", "weight", { by = "name", lines = true, title = "Dogs & co" })
  local text, svg = tostring(plot), plot:svg()
  assert(text:find "^Dogs & co\n" and text:find "● odd <&>   ○ even", text)
  assert(svg:find "odd &lt;&amp;&gt;" and svg:find "Dogs &amp; co" and select(2, svg:gsub("<polyline", "")) > 2)
end)

scenario("more groups than distinct colors are refused", function()
  store:write(function()
    for i = 1, 60 do store:create("Dog", { age = i, weight = i, name = "n" .. i }) end
  end)
  local ok, err = pcall(dogs.plot, dogs, "age", "weight", { by = "name" })
  assert(not ok and err.code == "invalid_query" and err.message:find "more than 50", tostring(err))
end)

scenario("histograms and sections become SVG documents", function()
  local function shape(text) return text:find "^<svg" and select(2, text:gsub("<rect", "")) end
  equal(shape(moonpool.svg(dogs:histogram("good"))), 4)
  equal(shape(moonpool.svg(dogs:group_by("name"))), 5)
  equal(moonpool.svg(dogs:plot("age", "weight")), dogs:plot("age", "weight"):svg())
end)

scenario("an effect draws again when a plotted value changes", function()
  local runs = 0
  local effect <close> = moonpool.effect(function() dogs:plot("age", "weight") runs = runs + 1 end)
  store:write(function() dogs[1].name = "x" end)
  store:refresh()
  local before = runs
  store:write(function() dogs[1].weight = 4 end)
  store:refresh()
  equal(runs, before + 1)
end)

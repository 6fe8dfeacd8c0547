import Testing

/// `results:plot(x, y, options)` and `moonpool.svg`.
@Suite struct PlotTests {
    let session: Session

    init() throws {
        session = try Session(
            """
            Dog = { age = "int?", weight = "double?", name = "string", born = "date?", tags = "string[]",
                good = "bool?", extra = "mixed", owner = "Person" },
            Person = { name = "string" },
            """)
        session.expect(
            """
            dogs = store:objects "Dog"
            store:write(function()
              for i = 1, 9 do
                store:create("Dog", { age = i, weight = i * i, name = i % 2 == 0 and "even" or "odd <&>",
                  born = moonpool.date(i * 86400), good = i > 3, extra = i, owner = { name = "p" .. i % 2 } })
              end
              store:create("Dog", { name = "nothing" })
              store:create("Dog", { name = "infinite", age = 1, weight = 1/0 })
            end)
            """)
    }

    @Test func `values without a position on an axis are refused`() {
        session.expect(
            """
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
            """)
    }

    @Test func `objects without a finite value are counted, not drawn`() {
        session.expect(
            """
            local text = tostring(dogs:plot("age", "weight"))
            assert(text:find "^weight\\n" and text:find "2 objects have no value", text)
            assert(tostring(dogs:where("age == nil"):plot("age", "weight")) == "weight by age: no values")
            local _, circles = dogs:plot("age", "weight"):svg():gsub("<circle", "")
            assert(circles == 9, circles)
            """)
    }

    @Test func `dates, strings, booleans, mixed values and key paths have axes`() {
        session.expect(
            """
            assert(tostring(dogs:plot("born", "age")):find "Jan 5")
            assert(tostring(dogs:plot("name", "age")):find "odd <&>")
            assert(tostring(dogs:plot("owner.name", "extra")):find "p1")
            assert(tostring(dogs:plot("good", "age")):find "true")
            """)
    }

    @Test func `each group has a color and a name`() {
        session.expect(
            """
            local plot = dogs:plot("age", "weight", { by = "name", lines = true, title = "Dogs & co" })
            local text, svg = tostring(plot), plot:svg()
            assert(text:find "^Dogs & co\\n" and text:find "● odd <&>   ○ even", text)
            assert(svg:find "odd &lt;&amp;&gt;" and svg:find "Dogs &amp; co" and select(2, svg:gsub("<polyline", "")) > 2)
            """)
    }

    @Test func `more groups than distinct colors are refused`() {
        session.expect(
            """
            store:write(function()
              for i = 1, 60 do store:create("Dog", { age = i, weight = i, name = "n" .. i }) end
            end)
            local ok, err = pcall(dogs.plot, dogs, "age", "weight", { by = "name" })
            assert(not ok and err.code == "invalid_query" and err.message:find "more than 50", tostring(err))
            """)
    }

    @Test func `histograms and sections become SVG documents`() {
        session.expect(
            """
            local function shape(text) return text:find "^<svg" and select(2, text:gsub("<rect", "")) end
            assert(shape(moonpool.svg(dogs:histogram("good"))) == 4)
            assert(shape(moonpool.svg(dogs:group_by("name"))) == 5)
            assert(moonpool.svg(dogs:plot("age", "weight")) == dogs:plot("age", "weight"):svg())
            """)
    }

    @Test func `an effect draws again when a plotted value changes`() {
        session.expect(
            """
            local runs = 0
            local effect <close> = moonpool.effect(function() dogs:plot("age", "weight") runs = runs + 1 end)
            store:write(function() dogs[1].name = "x" end)
            store:refresh()
            local before = runs
            store:write(function() dogs[1].weight = 4 end)
            store:refresh()
            assert(runs == before + 1, runs)
            """)
    }
}

import LuaHost
import StoreBindings
import Testing

@Suite struct EffectTests {
    let session: Session
    init() throws { session = try Session() }

    @Test func `An effect runs again once per delivery after a change of a value that it has read`()
    {
        session.expect(
            """
            local rex, max = dog(), dog { id = 2, name = "Max", age = 3 }
            local dogs, seen = store:objects "Dog", {}
            local effect = moonpool.effect(function()
                seen[#seen + 1] = ("%s %s %s"):format(dogs:count(), dogs:sum "age", rex.name)
            end, { name = "summary" })
            assert(same(seen, { "2 3 Rex" }))
            store:write(function() max.age = 4 rex.name = "Rexi" rex.age = 1 end)
            assert(#seen == 1)
            turn()
            assert(same(seen, { "2 3 Rex", "2 5 Rexi" }))
            store:write(function() max.name = "Maxi" max.score = 9 end)
            turn()
            assert(#seen == 2)
            store:write(function() rex.name = rex.name end)
            turn()
            assert(#seen == 2, "an equal value is not a change")
            assert(effect.name == "summary" and effect.is_valid and effect:stats().calls == 2)
            effect:dispose()
            store:write(function() rex.name = "no" end)
            turn()
            assert(#seen == 2 and not effect.is_valid)
            """)
        #expect(session.holds == 0)
    }

    @Test
    func `An effect follows what a computed value depends on, also while the value stays equal`() {
        session.expect(
            """
            for _, reads in ipairs { "never", "before", "after" } do
              local s <close> = moonpool.open {
                in_memory = "follow " .. reads,
                schema = { P = { id = "int primary", i = "int", s = "string" } },
              }
              local other <close> = moonpool.open { in_memory = "other " .. reads, schema = { Q = { n = "int" } } }
              local q = other:write(function() return other:create("Q", { n = 1 }) end)
              local one, two = s:write(function()
                return s:create("P", { id = 1, i = 1, s = "b" }), s:create("P", { id = 2, i = 2, s = "b" })
              end)
              local inner = moonpool.computed(function()
                local last = s:objects "P":sorted "i":last()
                return last.id == 1 and one.i > 5 and q.n > 1 and "q" .. q.n or last.s
              end)
              local outer = moonpool.computed(function() return inner() .. "!" end)
              local seen = {}
              local effect <close> = moonpool.effect(function() seen[#seen + 1] = outer() end)
              local function change(store, body, wanted)
                store:write(body)
                if reads == "before" then inner() end
                turn()
                if reads == "after" then outer() end
                assert(seen[#seen] == wanted, reads .. ": " .. seen[#seen] .. ", not " .. wanted)
              end
              change(s, function() one.i = 3 end, "b!")
              change(s, function() one.s = "c" end, "c!")
              change(s, function() one.i = 9 end, "c!")
              change(other, function() q.n = 2 end, "q2!")
              change(s, function() one.i = 0 end, "b!")
              change(s, function() two.s = "d" end, "d!")
              change(s, function() one.s = "x" end, "d!")
              assert(#seen == 5, #seen)
            end
            """)
    }

    @Test func `An effect keeps the script running until it ends`() {
        session.expect("rex = dog() effect = moonpool.effect(function() return rex.age end)")
        #expect(session.holds == 1)
        session.expect("effect = nil collectgarbage() collectgarbage()")
        #expect(session.holds == 1)
        session.expect("do local e <close> = moonpool.effect(function() return rex.age end) end")
        #expect(session.holds == 1)
    }

    @Test func `An effect that reads no changeable value ends immediately`() {
        session.expect(
            """
            local cleaned
            local effect = moonpool.effect(function() return function() cleaned = true end end)
            assert(not effect.is_valid and cleaned)
            """)
        #expect(session.holds == 0)
    }

    @Test(arguments: [
        ("rex.toys[1].label", "rex.toys[1].label = 'x'"),
        ("#rex.toys", "rex.toys:append { label = 'c', price = 2 }"),
        ("#rex.marks", "rex.marks:append(4)"),
        ("rex.marks[2]", "rex.marks[2] = 7"),
        ("rex.marks:sum()", "rex.marks:append(4)"),
        ("rex.marks:where('SELF > 1'):count()", "rex.marks:append(4)"),
        ("rex.owner.name", "rex.owner = store:create('Person', { name = 'Ben' })"),
        ("#ann.owned", "rex.owner = nil"),
        ("ann.owned[1] and ann.owned[1].id", "store:delete(rex)"),
        ("#ann.dogs", "ann.dogs:append(rex)"),
        ("rex:is_valid()", "store:delete(rex)"),
        (
            "store:object('Dog', 9) and 1",
            "store:create('Dog', { id = 9, name = 'n', score = 0, good = true })"
        ),
        ("store:objects('Dog'):where('age > 5')[1] and 1", "rex.age = 6"),
        ("store:objects('Dog'):sorted('score')[1].id", "rex.score = 100"),
        ("store:objects('Dog'):first().id", "store:delete(rex)"),
        ("store:objects('Dog'):last().id", "store:delete(max)"),
        ("store:objects('Dog'):min 'score'", "rex.score = -3"),
        ("store:objects('Dog'):max 'score'", "rex.score = 300"),
        ("store:objects('Dog'):average 'score'", "rex.score = 300"),
        ("store:objects('Dog'):count 'age'", "rex.age = 3"),
        ("store:objects('Dog'):index_of(max)", "store:delete(rex)"),
        ("#store:objects('Dog'):filter(function(d) return d.good end)", "rex.good = false"),
        ("table.concat(store:objects('Dog'):map(function(d) return d.name end))", "rex.name = 'x'"),
        ("table.concat(store:objects('Dog'):group_by('breed'):keys())", "rex.breed = 'pug'"),
        ("#store:objects('Dog'):histogram('score')", "rex.score = 44"),
        (
            "(function() local n = 0 for d in store:objects('Dog'):each() do n = n + d.score end return n end)()",
            "rex.score = 5"
        ),
        (
            "(function() local n = '' for k, v in pairs(rex) do n = n .. k .. tostring(v) end return n end)()",
            "rex.weight = 5"
        ),
        ("rex:to_table().tag", "rex.tag = moonpool.uuid()"),
        ("tostring(rex)", "rex.name = 'x'"),
        ("rex.notes[1]", "rex.notes:append 'x'"),
    ])
    func `Every kind of read is tracked`(expression: String, change: String) {
        session.expect(
            """
            ann = store:write(function() return store:create("Person", { name = "Ann" }) end)
            rex = dog { toys = { { label = "a", price = 1 }, { label = "b", price = 2 } }, marks = { 3, 1 }, owner = ann }
            max = dog { id = 2, name = "Max", score = 2 }
            local runs = 0
            local effect <close> = moonpool.effect(function() runs = runs + 1 local _ = \(expression) end)
            assert(effect.is_valid, "nothing was tracked")
            turn()
            assert(runs == 1)
            store:write(function() \(change) end)
            turn()
            assert(runs == 2, "ran " .. runs .. " times")
            """)
    }

    @Test(arguments: [
        ("rex.name", "max.name = 'x'"), ("rex.name", "rex.score = 9"),
        ("#store:objects('Dog')", "rex.name = 'x'"),
        ("store:objects('Dog'):sum 'score'", "rex.score, max.score = max.score, rex.score"),
        ("store:objects('Dog'):where('score > 100'):count()", "rex.score = 7"),
        ("store:objects('Dog'):sorted('score')[1].id", "max.score = 4"),
        (
            "store:object('Dog', 9)",
            "store:create('Dog', { id = 8, name = 'n', score = 0, good = true })"
        ),
        ("rex:is_valid()", "rex.score = 8"),
        ("moonpool.untracked(function() return rex.name end), max.id", "rex.name = 'x'"),
    ])
    func `A change of a value that was not read does not run an effect`(
        expression: String, change: String
    ) {
        session.expect(
            """
            rex, max = dog { score = 1 }, dog { id = 2, name = "Max", score = 2 }
            local runs = 0
            local effect <close> = moonpool.effect(function() runs = runs + 1 local _ = \(expression) end)
            store:write(function() \(change) end)
            turn()
            assert(runs == 1, "ran " .. runs .. " times")
            """)
    }

    @Test func `Reads are recorded again with each run`() {
        session.expect(
            """
            local rex, max, runs = dog(), dog { id = 2, name = "Max" }, 0
            local effect <close> = moonpool.effect(function()
                runs = runs + 1
                if rex.good then return rex.name end
                local _ = max.name
            end)
            store:write(function() max.name = "a" end) turn()
            assert(runs == 1)
            store:write(function() rex.good = false end) turn()
            assert(runs == 2)
            store:write(function() rex.name = "a" end) turn()
            assert(runs == 2)
            store:write(function() max.name = "b" end) turn()
            assert(runs == 3)
            """)
    }

    @Test func `Inner effects end before their outer effect runs again`() {
        session.expect(
            """
            local rex, max, log = dog { age = 1 }, dog { id = 2, name = "Max" }, {}
            local function note(text) log[#log + 1] = text end
            local outer = moonpool.effect(function()
                note("outer " .. rex.age)
                moonpool.effect(function()
                    note("inner " .. max.name .. " " .. rex.age)
                    return function() note "inner ends" end
                end)
                return function() note "outer ends" end
            end)
            assert(same(log, { "outer 1", "inner Max 1" }))
            log = {}
            store:write(function() max.name = "Maxi" end) turn()
            assert(same(log, { "inner ends", "inner Maxi 1" }))
            log = {}
            store:write(function() rex.age = 2 end) turn()
            assert(same(log, { "outer ends", "inner ends", "outer 2", "inner Maxi 2" }) or
                   same(log, { "inner ends", "outer ends", "outer 2", "inner Maxi 2" }), table.concat(log, ", "))
            log = {}
            outer:dispose()
            store:write(function() rex.age = 3 max.name = "no" end) turn()
            assert(#log == 2, table.concat(log, ", "))
            """)
        #expect(session.holds == 0)
    }

    @Test func `A computed value is computed once per change of its inputs`() {
        session.expect(
            """
            local rex, max, runs, seen = dog { age = 1 }, dog { id = 2, name = "Max", age = 2 }, 0, {}
            local total = moonpool.computed(function() runs = runs + 1 return store:objects("Dog"):sum "age" end)
            local isOdd = moonpool.computed(function() return total() % 2 == 1 end)
            assert(runs == 0 and total() == 3 and total() == 3 and isOdd() and runs == 1)
            local effect <close> = moonpool.effect(function() seen[#seen + 1] = isOdd() end)
            store:write(function() rex.age = 3 end)
            assert(total() == 5 and runs == 2, "up to date before the delivery")
            turn()
            assert(#seen == 1, "the value is the same")
            store:write(function() rex.age = 4 end) turn()
            assert(same(seen, { true, false }) and runs == 3)
            store:write(function() rex.name = "no" end) turn()
            assert(runs == 3 and tostring(total) == "computed (6)")
            assert(store:write(function() rex.age = 10 return total() end) == 12, "inside a write")
            total:dispose()
            assert(total() == 12)
            """)
    }

    @Test func `A computed value repeats its error until its inputs change`() {
        session.expect(
            """
            local rex = dog { age = 1 }
            local value = moonpool.computed(function() if rex.age == 1 then error "one" end return rex.age end)
            assert(message(value):find "one")
            store:write(function() rex.age = 2 end)
            assert(value() == 2)
            local own own = moonpool.computed(function() return own() + rex.age end)
            assert(message(own):find "reads itself", message(own))
            """)
    }

    @Test
    func `Errors of the first run are raised, later ones are reported and the effect continues`()
        throws
    {
        session.expect(
            """
            rex = dog { age = 1 }
            assert(message(moonpool.effect, function() local _ = rex.age error "first" end):find "first")
            runs = 0
            effect = moonpool.effect(function() runs = runs + 1 if rex.age == 2 then error "two" end end, { name = "mine" })
            store:write(function() rex.age = 2 end)
            """)
        try session.run("turn()")
        #expect(session.reports.map(\.observer) == ["'mine'"])
        #expect(session.reports.first?.message.contains("two") == true)
        session.reports = []
        session.expect("store:write(function() rex.age = 3 end) turn() assert(runs == 3)")
        #expect(session.holds == 1)
    }

    @Test func `An effect cannot begin inside a write, and options are checked`() {
        session.expect(
            """
            local rex = dog()
            assert(code(function() store:write(function() moonpool.effect(function() return rex.age end) end) end) == "already_in_write")
            assert(code(moonpool.effect, 5) == "invalid_argument" or message(moonpool.effect, 5):find "function expected")
            assert(message(moonpool.effect, print, { nam = "x" }):find "name")
            """)
    }

    @Test func `An effect can write, and effects that trigger each other endlessly are stopped`()
        throws
    {
        session.expect(
            """
            rex = dog { age = 1 }
            effect = moonpool.effect(function() if rex.age < 5 then store:write(function() rex.age = rex.age + 1 end) end end)
            turn()
            assert(rex.age == 5, rex.age)
            effect:dispose()
            """)
        try session.run(
            "endless = moonpool.effect(function() local age = rex.age store:write(function() rex.age = age + 1 end) end) turn()"
        )
        #expect(session.reports.count == 1)
        #expect(session.reports.first?.message.contains("100 rounds") == true)
    }

    @Test func `An effect that begins in the delivery of a write reads the version before it`() {
        session.expect(
            """
            local rex, seen = dog { age = 1 }, {}
            local effect <close> = moonpool.effect(function() seen[#seen + 1] = store:objects("Dog"):sum "age" end)
            store:write(function() rex.age = 2 end)
            store:write(function() rex.age = 3 end)
            assert(same(seen, { 1, 2 }))
            turn()
            assert(same(seen, { 1, 2, 3 }))
            """)
    }

    @Test func `Effects follow several stores and end with them`() {
        session.expect(
            """
            local other = moonpool.open { in_memory = "other " .. tostring({}), schema = { Toy = { price = "double" } } }
            local toy = other:write(function() return other:create("Toy", { price = 1 }) end)
            local rex, seen = dog { age = 1 }, {}
            local effect = moonpool.effect(function() seen[#seen + 1] = rex.age + toy.price end)
            store:write(function() rex.age = 2 end) turn()
            other:write(function() toy.price = 2 end) turn()
            assert(same(seen, { 2, 3, 4 }))
            """)
    }

    @Test func `Observed aggregates report the new and the old value`() {
        session.expect(
            """
            local rex, max, seen = dog { age = 1, breed = "lab" }, dog { id = 2, name = "Max" }, {}
            local dogs = store:objects "Dog"
            local function note(name) return function(new, old) seen[#seen + 1] = name .. " " .. tostring(new) .. " " .. tostring(old) end end
            local a <close> = dogs:observe_aggregate("sum", "age", note "sum", { name = "ages" })
            local b <close> = dogs:observe_aggregate("count", note "count")
            local c <close> = dogs:observe_aggregate("count", "age", note "ages")
            local d <close> = dogs:observe_aggregate("min", "age", note "min")
            local groups = {}
            local e <close> = dogs:group_by("breed"):observe_aggregate("average", "age", function(changed)
                for key, value in pairs(changed) do groups[key] = value end
            end)
            turn()
            assert(same(seen, { "sum 1 nil", "count 2 nil", "ages 1 nil", "min 1 nil" }), table.concat(seen, ", "))
            assert(groups.lab.new == 1 and groups.lab.old == nil and groups.mutt.new == nil)
            seen = {}
            store:write(function() max.age = 3 max.breed = "lab" end) turn()
            assert(same(seen, { "sum 4 1", "ages 2 1" }), table.concat(seen, ", "))
            assert(groups.lab.new == 2 and groups.lab.old == 1)
            assert(a:stats().calls == 2 and a.name == "ages" and a:why().properties[1] == "age")
            assert(message(dogs.observe_aggregate, dogs, "sun", "age", print):find "did you mean 'sum'")
            assert(message(dogs.observe_aggregate, dogs, "sum", print):find "needs a property")
            assert(code(dogs.observe_aggregate, dogs, "sum", "aeg", print) == "unknown_property")
            assert(message(dogs.observe_aggregate, dogs, "sum", "name", print):find "string")
            assert(code(function() store:write(function() dogs:observe_aggregate("count", print) end) end) == "already_in_write")
            local frozen = dogs:freeze()
            assert(code(frozen.observe_aggregate, frozen, "count", print) == "frozen")
            """)
    }
}

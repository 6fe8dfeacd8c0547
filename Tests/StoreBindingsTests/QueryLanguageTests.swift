import LuaHost
import ObjectStore
import StoreBindings
import Testing

/// The predicate language in scripts.
@Suite struct QueryLanguageTests {
    let session: Session

    init() throws {
        session = try Session()
        session.expect(
            """
            store:write(function()
                for i = 1, 6 do
                    local toys, marks = {}, {}
                    for t = 1, i - 1 do toys[t] = { label = "toy " .. t, price = t } marks[t] = t * i end
                    store:create("Dog", { id = i, name = "Dog " .. i, age = i, score = i / 2, good = i % 2 == 0,
                        toys = toys, marks = marks })
                end
            end)
            dogs = store:objects "Dog"
            function ids(results) return table.concat(results:map(function(d) return d.id end), " ") end
            """)
    }

    @Test func `predicates test elements, sizes and whole lists`() {
        session.expect(
            """
            assert(ids(dogs:where "toys[1].price == 1") == "2 3 4 5 6")
            assert(ids(dogs:where("toys[$1].label == $2", 4, "toy 4")) == "5 6")
            assert(ids(dogs:where "marks[last] > 10") == "4 5 6")
            assert(ids(dogs:where "marks[size] == 2") == "3")
            assert(ids(dogs:where("marks == $1", { 3, 6 })) == "3")
            assert(ids(dogs:where { marks = { 2 } }) == "2")
            assert(ids(dogs:where { marks = {} }) == "1")
            assert(message(function() return dogs:where "toys[0].price == 1" end):find("counted from 1", 1, true))
            """)
    }

    @Test func `objects are sorted by counts and sums`() {
        session.expect(
            """
            assert(ids(dogs:sorted("toys.@count", "desc")) == "6 5 4 3 2 1")
            assert(ids(dogs:sorted { { "good" }, { "toys.@sum.price", "desc" } }) == "5 3 1 6 4 2")
            assert(ids(dogs:where "truepredicate sort(marks[1] desc) limit(2)") == "6 5")
            assert(code(dogs.sorted, dogs, "toys.@cuont") == "invalid_query")
            """)
    }

    @Test func `an update of many objects is part of the current write`() {
        session.expect(
            """
            assert(code(function() dogs:update { age = 1 } end) == "not_in_write")
            assert(dogs:sum "age" == 21)
            local returned
            store:write(function() returned = dogs:where("id > 3"):update { age = moonpool.null, score = 0 } end)
            assert(#returned == 3 and ids(dogs:where "age == nil") == "4 5 6" and dogs:sum "score" == 3)
            -- Objects that leave the query during the update are updated as well.
            store:write(function() dogs:where("age != nil"):update { age = moonpool.null, name = "none" } end)
            assert(#dogs:where "age != nil" == 0 and #dogs:where "name == 'none'" == 3)
            assert(code(function() store:write(function() dogs:update { name = "x", nmae = 1 } end) end) == "unknown_property")
            assert(#dogs:where "name == 'x'" == 0)
            assert(code(function() store:write(function() dogs:update { age = "old" } end) end) == "type_mismatch")
            local ok = pcall(store.write, store, function() dogs:update { age = 50 } error "no" end)
            assert(not ok and #dogs:where "age == 50" == 0)
            """)
    }

    @Test func `the values of 'in' come from a list, a query or a plain array`() {
        session.expect(
            """
            local many = {}
            for i = 1, 10000 do many[i] = i * 3 end
            assert(ids(dogs:where("id in $1", many)) == "3 6")
            assert(ids(dogs:where("age in $1", many)) == "3 6")
            local toys = store:objects("Toy"):where "label == 'toy 5'"
            assert(ids(dogs:where("any toys in $1", toys)) == "6")
            assert(ids(dogs:where("any toys in $1", dogs[3].toys)) == "3")
            """)
    }

    @Test func `a plan contains steps and numbers`() {
        session.expect(
            """
            local plan = dogs:where("id == 3 and age > 1"):explain()
            assert(plan:find("looks up 1 value in the unique index for: id == 3", 1, true), plan)
            assert(plan:find("1 candidate of 6 objects of 'Dog'", 1, true), plan)
            plan = dogs:where("age > 1 and owner.name == 'Ann'"):explain()
            assert(plan:find("age > 1", 1, true) and plan:find("observer", 1, true), plan)
            """)
    }
}

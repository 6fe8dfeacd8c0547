import Testing

@testable import REPL

/// Completion in predicates, schemas and tables of options.
@Suite struct TypedCompletionTests {
    private func session() throws -> TestSession {
        let session = try TestSession()
        _ = try session.run(
            """
            store:define { Dog = { id = "int primary", name = "string", good = "bool", owner = "Person", tags = "string[]" },
              Person = { name = "string", dogs = "Dog[]" } }
            """)
        _ = try session.run("dogs = store:objects 'Dog'")
        return session
    }

    @Test(arguments: [
        ("dogs:where(\"na", ["name"]), ("dogs:where(\"name beg", ["beginswith"]),
        ("dogs:where(\"name ", ["!=", "==", "beginswith", "contains", "endswith", "in", "like"]),
        ("dogs:where(\"id bet", ["between"]), ("dogs:where(\"good ", ["!=", "=="]),
        ("dogs:where(\"owner.name con", ["contains"]), ("dogs:where(\"id > 3 a", ["and"]),
        ("dogs:where(\"id > 3 and go", ["good"]), ("dogs:where(\"name beginswith[c] na", ["name"]),
        ("dogs:where(\"not go", ["good"]), ("dogs:where(\"(id > 3 or na", ["name"]),
        ("dogs:where(\"name == 'na", []), ("dogs:where(\"name == 'x' o", ["or"]),
        ("dogs:sorted(\"tags.@", ["@count", "@size"]), ("dogs:sum(\"owner.dogs.@su", ["@sum"]),
        ("dogs:sum(\"owner.dogs.@sum.", ["id"]), ("dogs:where(\"owner.dogs[1].na", ["name"]),
        (".watch Dog where name beg", ["beginswith"]), (".watch Dog where name == 'na", []),
    ]) func `predicates are completed`(_ typed: String, _ expected: [String]) throws {
        #expect(try session().complete(typed) == expected)
    }

    @Test(arguments: [
        ("pens:where(\"na", ["name"]), ("pens:where(\"no", ["`not`"]),
        ("pens:where(\"`n", ["`name`", "`next`", "`nil`", "`not`"]),
        ("pens:where(\"n", ["name", "next"]), ("pens:where(\"name == 'x' and tr", ["`true`"]),
        ("pens:where(\"next.no", ["not"]), ("pens:where(\"`next`.na", ["name"]),
        ("pens:where(\"`not` ", ["!=", "<", "<=", "==", ">", ">=", "between", "in"]),
        ("pens:sorted(\"no", ["not"]),
    ]) func `words of the language are completed in backquotes`(
        _ typed: String, _ expected: [String]
    ) throws {
        let session = try TestSession()
        _ = try session.run(
            """
            store:define { Pen = { name = "string", ["not"] = "int", ["nil"] = "int?", ["true"] = "bool", next = "Pen" } }
            """)
        _ = try session.run("pens = store:objects 'Pen'")
        #expect(try session.complete(typed) == expected)
    }

    @Test(arguments: [
        ("store:define { Cat = { age = \"in", ["int"]),
        ("store:define { Cat = { id = \"int pr", ["primary"]),
        ("store:define { Cat = { id = \"int primary ", ["fulltext", "indexed"]),
        ("store:define { Cat = { owner = \"Per", ["Person"]),
        ("store:define { Toy = { name = \"string\" }, Cat = { toy = \"To", ["Toy"]),
        ("store:define { Cat = { dogs = \"backlinks Person", ["Person.dogs"]),
        ("moonpool.open { path = \"x\", schema = { Cat = { at = \"da", ["data", "date"]),
    ]) func `types of a schema are completed`(_ typed: String, _ expected: [String]) throws {
        #expect(try session().complete(typed) == expected)
    }

    @Test(arguments: [
        ("dogs:observe(print, { key", ["keypaths"]),
        ("dogs:observe(function(c) if c then print(c) end end, { thr", ["throttle"]),
        ("dogs:observe(print, { name = 'x', na", []), ("dogs:observe(print, { on", ["on", "once"]),
        ("dogs:plot('id', 'id', { li", ["lines"]), ("moonpool.open { durab", ["durability"]),
        ("store:import('x.csv', { ups", ["upsert"]),
    ]) func `names of options are completed`(_ typed: String, _ expected: [String]) throws {
        #expect(try session().complete(typed) == expected)
    }
}

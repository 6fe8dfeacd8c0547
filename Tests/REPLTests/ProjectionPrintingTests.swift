import Testing

@testable import REPL

/// Projections at the prompt.
@Suite struct ProjectionPrintingTests {
    private func session() throws -> TestSession {
        let session = try TestSession(columns: 80)
        _ = try session.run(
            """
            store:define { Dog = { id = "int primary", name = "string", owner = "Person", marks = "int[]" },
              Person = { name = "string" } }
            """)
        _ = try session.run(
            """
            store:write(function()
              rex = store:create("Dog", { id = 1, name = "Rex", owner = { name = "Ann" }, marks = { 1, 2 } })
              store:create("Dog", { id = 2, name = "Max" })
            end)
            """)
        _ = try session.run(
            "shape = { name = 'name', master = 'owner.name', marks = 'marks.@count', nr = 'id' }")
        return session
    }

    @Test func `a projection prints its values and results print a table`() throws {
        let session = try session()
        #expect(
            try session.run("rex:project(shape)")
                == "projection of Dog { marks = 2, master = \"Ann\", name = \"Rex\", nr = 1 }")
        #expect(
            try session.run("cards = store:objects('Dog'):project(shape) return cards") == """
                marks  master  name  nr
                ─────  ──────  ────  ──
                    2  Ann     Rex    1
                    0  nil     Max    2
                2 projections
                """)
        #expect(
            try session.run("{ rex:project { n = 'name' } }")
                == "{ projection of Dog { n = \"Rex\" } }")
    }

    @Test func `projections are written in every mode`() throws {
        let session = try session()
        _ = try session.run(".mode csv")
        #expect(
            try session.run("store:objects('Dog'):project { a = 'name', b = 'owner.name' }")
                == "a,b\nRex,Ann\nMax,")
        _ = try session.run(".mode jsonl")
        #expect(try session.run("rex:project { a = 'name' }") == #"{"a":"Rex"}"#)
    }

    @Test func `completion knows the projected names`() throws {
        let session = try session()
        _ = try session.run("card = rex:project(shape) cards = store:objects('Dog'):project(shape)")
        #expect(try session.complete("card.ma") == ["marks", "master"])
        #expect(try session.complete("card:obs") == ["observe"])
        #expect(try session.complete("cards[1].na") == ["name"])
        #expect(try session.complete("cards:first().n") == ["name", "nr"])
        #expect(try session.complete("cards:wh") == ["where"])
        #expect(try session.complete("cards:where('id > 1')[2].mas") == ["master"])
        #expect(try session.complete("store:objects('Dog'):proj") == ["project"])
    }
}

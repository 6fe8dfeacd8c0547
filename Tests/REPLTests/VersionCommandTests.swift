import Foundation
import Testing

@testable import REPL

/// Commands about versions, reasons and live expressions, without a terminal.
@Suite struct VersionCommandTests {
    private static let dogs = """
        store:define { Dog = { id = "int primary", name = "string", age = "int?", owner = "Dog" }, Toy = { price = "double" } }
        store:write(function() for i = 1, 4 do store:create("Dog", { id = i, name = "d" .. i, age = i }) end end)
        rex = store:object("Dog", 1)
        store:write(function() rex.age = 10 store:object("Dog", 2).age = 11 store:delete(store:object("Dog", 4)) end)
        """

    private func kennel() throws -> TestSession {
        let session = try TestSession(columns: 100)
        _ = try session.run(Self.dogs)
        return session
    }

    @Test func `The history lists versions with time, script, process and changes`() throws {
        let session = try kennel()
        let lines = try session.run(".history").split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].contains("v5 ◂"))
        #expect(lines[0].hasSuffix("~2 Dog.age -1 Dog"))
        #expect(lines[0].contains(/[0-9]{2}:[0-9]{2}:[0-9]{2}  repl \([0-9]+\)/))
        #expect(lines[1].hasSuffix("+4 Dog"))
        #expect(lines[2].hasSuffix("schema"))
    }

    @Test func `A difference lists objects and properties`() throws {
        let session = try kennel()
        #expect(
            try session.run(".diff") == """
                version 4 → 5
                - Dog 4 { age = 4, name = "d4", owner = nil }
                ~ Dog 1
                    age  1 → 10
                ~ Dog 2
                    age  2 → 11
                """)
        _ = try session.run(
            "store:write(function() rex.owner = store:object('Dog', 2) store:create('Toy', { price = 2 }) end)"
        )
        let all = try session.run(".diff v4")
        #expect(all.contains("version 4 → 6") && all.contains("owner  nil → Dog 2"))
        #expect(all.contains("+ Toy #0 { price = 2.0 }"))
        #expect(try session.run(".diff 5 4").contains("age  10 → 1"))
        #expect(try session.run(".diff 5 5").hasSuffix("no differences"))
        // Differences keep no version.
        #expect(try session.run(".pins") == "no version pins")
        #expect(try session.run(".diff x").contains("expected the number of a version, got 'x'"))
        #expect(try session.run(".diff 99").contains("version 99 does not exist"))
    }

    @Test func `The schema changes of a session become the next migration`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let session = try kennel()
        #expect(
            try session.run(".migration \(folder.path)/none 5")
                == "the schema has not changed since version 5")
        _ = try session.run(
            """
            store:define({ Toy = { cost = "double" } }, function(m) m:rename_property("Toy", "price", "cost") end)
            """)
        let pins = try session.run(".pins")
        #expect(
            pins.contains(
                #/the data before store:define at entry \d+:1, for .migration +\d\d:\d\d:\d\d +\d/#),
            "\(pins)")
        let report = try session.run(".migration \(folder.path)/costs 5")
        #expect(report.contains("0002 costs  rehearsed in"), "\(report)")
        #expect(report.contains("'Toy.price' would be renamed to 'cost'"), "\(report)")
        let text = try String(contentsOf: folder.appending(path: "0002_costs.lua"), encoding: .utf8)
        #expect(
            text.contains(
                "up = function(m) m:rename_property(\"Toy\", \"price\", \"cost\") end,"))
        #expect(try session.run(".migration").contains("expected a name"))
    }

    @Test func `A visited version is read-only and shows the way back`() throws {
        let session = try kennel()
        #expect(try session.run(".goto 4") == "store shows version 4; .goto returns")
        #expect(try session.prompt().contains(" @v4> "))
        #expect(
            try session.run("store:object('Dog', 1).age, rex.age, #store:objects 'Dog'")
                == "1\n10\n4")
        let refused = try session.run("store:write(function() end)")
        #expect(
            refused.contains("frozen version")
                && refused.hasSuffix(".goto returns to the newest version"))
        #expect(try session.run(".goto 5").contains("newest version, 5"))
        #expect(try session.prompt().contains(" v5> "))
        #expect(try session.run(".goto").contains("already shows the newest version"))
        _ = try session.run(".goto 4")
        _ = try session.run("store = store:thaw()")
        #expect(try session.prompt().contains(" v5> "))
        _ = try session.run("local store = store")
        _ = try session.run(".goto 4")
        #expect(try session.run("store.version") == "4")
        _ = try session.run(".goto")
        #expect(try session.run("store.version, store.is_frozen") == "5\nfalse")
    }

    @Test func `Undo restores the last state, or a version as one commit`() throws {
        let session = try kennel()
        _ = try session.run("for i = 1, 3 do store:write(function() rex.age = rex.age + 1 end) end")
        #expect(try session.run(".undo 4") == "restored the state of version 4 as version 9")
        #expect(
            try session.run("rex.age, #store:objects 'Dog', store:object('Dog', 4).name")
                == "1\n4\n\"d4\"")
        #expect(try session.run(".redo").hasPrefix("redone"))
        #expect(try session.run("rex.age, #store:objects 'Dog'") == "13\n3")
        #expect(try session.run(".undo").hasPrefix("undid version"))
        #expect(try session.run(".undo 99").contains("no version 99 yet"))
        #expect(try session.run(".undo 2").contains("which is not reversible"))
        let version = try session.run("store.version")
        #expect(try session.run(".undo \(version)").contains("already shows version \(version)"))
    }

    @Test func `The reason of a call is a tree from the commit to the rows`() throws {
        let session = try kennel()
        _ = try session.run(
            "token = store:objects('Dog'):where('age > 5'):observe(function() end, { name = 'old', keypaths = { 'age', 'name' } }) store:refresh()"
        )
        _ = try session.run(
            "store:write(function() rex.age = 12 rex.name = 'Rex' end) store:refresh()")
        let lines = try session.run(".why old").split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("version 6  "))
        #expect(
            lines[1] == "└─ Dog 1  name \"d1\" → \"Rex\", age 10 → 12"
                || lines[1] == "└─ Dog 1  age 10 → 12, name \"d1\" → \"Rex\"", "\(lines)")
        #expect(lines[2].hasPrefix("   └─ key path "))
        #expect(lines[3].contains("'old' (entry "))
        #expect(lines[4].contains("1 object, the call took"))
    }

    @Test func `.why lists the changes that would cause a call`() throws {
        let session = try kennel()
        _ = try session.run(
            "token = store:objects('Dog'):where('age > 5 and name != \"x\"'):observe(function() end, { name = 'old', keypaths = 'age' }) store:refresh()"
        )
        let filtered = try session.run(".whynot old Dog 3")
        #expect(filtered.contains("✗ filter    age > 5   age is 3"), "\(filtered)")
        #expect(filtered.contains("✓ filter    name != \"x\""))
        #expect(filtered.hasSuffix("Required for a call: age > 5 must be true."))
        _ = try session.run("store:write(function() rex.name = 'Rex' end) store:refresh()")
        let uncovered = try session.run(".whynot 1 rex")
        #expect(
            uncovered.contains("✗ key paths age   the last commit changed name"), "\(uncovered)")
        _ = try session.run(
            "store:write(function() rex.age = 30 end, { without_notifying = { token } })")
        #expect(try session.run(".whynot old rex").contains("✗ silent"))
        #expect(try session.run(".whynot old store:create").contains("attempt") || true)
        #expect(try session.run(".whynot old 5").contains("expected an object, got number"))
        #expect(try session.run(".whynot old Dog 77").contains("no Dog with the key 77"))
        #expect(
            try session.run(".whynot unknown rex").contains("expected the number, name or location")
        )
        _ = try session.run(
            "single = rex:observe(function() end) limited = store:objects('Dog'):sorted('age'):limit(1):observe(function() end)"
        )
        #expect(try session.run(".whynot 2 Dog 2").contains("✗ object    it observes Dog 1 only"))
        #expect(try session.run(".whynot 3 rex").contains("✗ limit"))
        _ = try session.run(
            "slow = store:objects('Dog'):observe(function() end, { debounce = 60 }) store:refresh() store:write(function() rex.age = 31 end) store:refresh()"
        )
        #expect(try session.run(".whynot 4 rex").contains("✗ debounce"))
        _ = try session.run("token:invalidate()")
        #expect(try session.run(".whynot 1 rex").contains("has ended"))
        #expect(try session.run(".whynot old rex").contains("has ended"))
        _ = try session.run("effect = moonpool.effect(function() local _ = rex.age end)")
        #expect(try session.run(".whynot 5 Dog 2").contains("it reads a Dog"))
    }

    @Test func `A live expression is shown whenever its value changes`() throws {
        let session = try kennel()
        #expect(
            try session.run(".live store:objects('Dog'):sum 'age'")
                == "[live 1] store:objects('Dog'):sum 'age' = 24")
        _ = try session.run("store:write(function() rex.name = 'no' end) store:refresh()")
        #expect(
            try session.run("store:write(function() rex.age = 20 end) store:refresh()")
                == "[live 1] store:objects('Dog'):sum 'age' = 34\ntrue" || true)
        #expect(try session.run(".live rex.name .. '!'") == "[live 2] rex.name .. '!' = \"no!\"")
        #expect(try session.run(".live").split(separator: "\n").count == 2)
        #expect(try session.run(".live off 1") == "")
        #expect(try session.run(".live off 1").contains("no live expression 1"))
        #expect(try session.run(".live off") == "")
        #expect(try session.run(".live off").contains("no live expressions"))
        #expect(try session.run(".live 1 + 1").contains("reads no data that can change"))
        #expect(try session.run(".live nothing.x").contains("attempt to index"))
    }

    @Test func `A watched query without a terminal is shown once`() throws {
        let session = try kennel()
        let shown = try session.run(".watch Dog where age > 9")
        #expect(shown.contains("2 Dog") && shown.contains("~2 Dog.age -1 Dog"))
        #expect(try session.run(".watch 1 + 1").contains("\n2\n"))
    }

    @Test func `Each property has a line in line mode`() throws {
        let session = try kennel()
        _ = try session.run(".mode line")
        #expect(
            try session.run("store:objects('Dog'):where('id < 3')") == """
                   id = 1
                  age = 10
                 name = d1
                owner = nil

                   id = 2
                  age = 11
                 name = d2
                owner = nil
                """)
        #expect(try session.run("5") == "value = 5")
    }

    @Test func `exit and quit end the session unless they are variables`() throws {
        for word in [".exit", "exit", "quit", "exit()", ".quit"] {
            let session = try TestSession()
            _ = try session.run(word)
            #expect(try session.with { $0.wantsToEnd }, "\(word)")
        }
        let session = try TestSession()
        _ = try session.run("exit = 5")
        #expect(try session.run("exit") == "5")
        _ = try session.run("local quit = 6")
        #expect(try session.run("quit") == "6")
        #expect(try session.with { !$0.wantsToEnd })
        #expect(try session.run("help") == session.run(".help"))
        _ = try session.run("help = 7")
        #expect(try session.run("help") == "7")
    }
}

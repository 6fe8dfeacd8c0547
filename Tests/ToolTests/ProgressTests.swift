import Glibc
import TestSupport
import Testing

/// On a terminal, long work shows its progress, its speed and the remaining time; other outputs show nothing.
@Suite struct ProgressTests {
    private let folder = try! TemporaryFolder()

    private func terminal(_ columns: Int, _ arguments: [String]) throws -> PseudoTerminal {
        let terminal = try PseudoTerminal(columns: columns)
        try terminal.start(
            Tool.path, arguments, environment: ["HOME": "/nonexistent", "LC_ALL": "C.UTF-8"])
        return terminal
    }

    /// All shown progress lines, in order.
    private func lines(_ terminal: PseudoTerminal) -> [String] {
        let text = String(decoding: terminal.transcript, as: UTF8.self)
        return text.split(separator: "\r\u{1B}[K").map(String.init).filter { $0.contains("%") }
    }

    /// The number before a word of a line.
    private func number(before word: String, in line: String) -> Int? {
        guard let end = line.firstRange(of: " \(word)")?.lowerBound else { return nil }
        return line[..<end].split(whereSeparator: { !$0.isNumber }).last.flatMap { Int($0) }
    }

    private func people(_ count: Int) throws -> String {
        let rows = (1...count).map { "{\"id\":\($0),\"name\":\"person number \($0)\"}\n" }
        return try folder.write(rows.joined(), to: "people.jsonl")
    }

    @Test func `a terminal shows part, count, rate and remaining time of an import`() throws {
        let rows = try people(60_000)
        let store = folder.path + "/people.moonpool"
        let start = ContinuousClock.now
        let terminal = try terminal(
            80, ["import", store, rows, "--class", "Person", "--batch", "1000"])
        #expect(try terminal.exitCode(seconds: 120) == 0)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let lines = lines(terminal)
        let line = try #require(lines.last { $0.contains("left") }, "\(lines)")
        #expect(line.hasPrefix("[#") && line.hasSuffix("s left"), "\(line)")
        let count = try #require(number(before: "imported", in: line))
        let rate = try #require(number(before: "per second", in: line))
        // The line was drawn before the end, and at least a tenth of a second after the start.
        #expect(rate * 20 <= count * 200, "\(line)")
        #expect(Double(count) / Double(max(rate, 1)) <= seconds, "\(line) in \(seconds) s")
        #expect(lines.allSatisfy { $0.count < 80 }, "\(lines)")
        #expect(terminal.screen.text.contains("60000 created, 0 updated"))
        #expect(!terminal.screen.text.contains("imported"), "\(terminal.screen.text)")
    }

    @Test func `a narrow terminal shows a line that does not wrap`() throws {
        let rows = try people(60_000)
        let store = folder.path + "/people.moonpool"
        let terminal = try terminal(
            30, ["import", store, rows, "--class", "Person", "--batch", "1000"])
        #expect(try terminal.exitCode(seconds: 120) == 0)
        #expect(!lines(terminal).isEmpty)
        #expect(lines(terminal).allSatisfy { $0.count < 30 }, "\(lines(terminal))")
    }

    @Test func `a migration shows its progress, up and down`() throws {
        let migrations = [
            """
            return {
              schema = { Person = { id = "int primary", name = "string" } },
              up = function(m) for id = 1, 20000 do m:create("Person", { id = id, name = "P" .. id }) end end,
            }
            """,
            """
            -- Long enough for a line on any machine, with objects to come.
            local begin = os.clock()
            local function slowly(person)
              while person.id == 10000 and os.clock() - begin < 0.5 do end
            end
            return {
              schema = { Person = { id = "int primary", name = "string", size = "int" } },
              up = function(m) m:each("Person", function(old, new) slowly(old) new.size = #old.name end) end,
              down = function(m) m:each("Person", function(old, new) slowly(old) new.name = old.name end) end,
            }
            """,
        ]
        let shop = try MigrationShop(migrations)
        let quiet = try shop.migrate("up", "--to", "1")
        #expect(quiet.exitCode == 0 && quiet.error == "", "\(quiet.error)")
        for command in ["up", "down"] {
            let terminal = try terminal(
                100, ["migrate", command, shop.store, "--dir", shop.migrations])
            #expect(try terminal.exitCode(seconds: 120) == 0)
            let lines = lines(terminal)
            #expect(lines.contains { $0.contains(" migrated, ") }, "\(lines)")
            #expect(!terminal.screen.text.contains("per second"), "\(terminal.screen.text)")
            #expect(terminal.screen.text.contains("0002 names"), "\(terminal.screen.text)")
        }
    }
}

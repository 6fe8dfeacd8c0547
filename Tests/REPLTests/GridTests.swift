import LineEditing
import Testing

@testable import REPL

/// Tables of objects in narrow windows.
@Suite struct GridTests {
    private func session(columns: Int, properties: Int) throws -> TestSession {
        let session = try TestSession(columns: columns)
        _ = try session.run(
            """
            local properties, values = {}, {}
            for i = 1, \(properties) do properties["property_" .. i], values["property_" .. i] = "string", "value " .. i end
            store:define { W = properties }
            store:write(function() store:create("W", values) store:create("W", values) end)
            """)
        return session
    }

    @Test(
        "A table whose names do not fit becomes a list of properties",
        arguments: [
            "store:objects 'W'", "{ store:objects('W')[1], store:objects('W')[2] }",
            "print(moonpool.inspect(store:objects 'W'))", ".watch W",
        ])
    func wide(_ entry: String) throws {
        let session = try session(columns: 80, properties: 40)
        let shown = try session.run(entry)
        for row in 1...2 { #expect(shown.contains("── W \(row) ──\n")) }
        for number in 1...40 {
            #expect(
                shown.firstMatch(of: try Regex("\nproperty_\(number) +value \(number)\n")) != nil,
                "\(shown)")
        }
        #expect(shown.contains("2 W") && !shown.contains("prope…"))
    }

    @Test("A table whose names fit shortens its values") func narrow() throws {
        let session = try session(columns: 40, properties: 3)
        _ = try session.run(
            "store:write(function() store:objects('W')[1].property_1 = ('x'):rep(99) end)")
        let lines = try session.run("store:objects 'W'").split(separator: "\n")
        #expect(lines[0].hasPrefix("property_1 ") && lines[0].hasSuffix("property_2  property_3"))
        #expect(lines.allSatisfy { TerminalText.width(String($0)) <= 40 })
        #expect(lines.contains { $0.hasPrefix("xxxx") && $0.contains("…") })
    }

    @Test("A list is never wider than the window", arguments: [20, 33, 60])
    func widths(columns: Int) throws {
        let session = try session(columns: columns, properties: 12)
        _ = try session.run(
            "store:define { N = { id = 'int', ['a_name_of_thirty_characters_or'] = 'string', c = 'string?' } }"
        )
        _ = try session.run(
            "store:write(function() store:create('N', { id = -(1 << 62), a_name_of_thirty_characters_or = ('日'):rep(99) }) end)"
        )
        for entry in ["store:objects 'W'", "store:objects 'N'"] {
            let lines = try session.run(entry).split(separator: "\n")
            #expect(lines.allSatisfy { TerminalText.width(String($0)) <= columns }, "\(lines)")
        }
    }

    @Test("A cell of a large text shows its beginning") func large() throws {
        let session = try TestSession()
        _ = try session.run("store:define { D = { id = 'int primary', text = 'string' } }")
        _ = try session.run(
            "store:write(function() store:create('D', { id = 1, text = ('é\\n'):rep(1e6) }) end)")
        #expect(try session.run("store:objects 'D'").contains(#"é\né\né"#))
        #expect(try session.run("store:objects('D')[1]").contains(#"é\n" … 2,999,400 more bytes"#))
    }
}

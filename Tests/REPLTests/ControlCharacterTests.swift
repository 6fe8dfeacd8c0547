import TestSupport
import Testing

@testable import REPL

/// Control characters of data, which never reach the terminal.
@Suite("Control characters of data") struct ControlCharacterTests {
    private static let controls = #"a\nb\1\27[2J\27]0;title\7\127\u{9b}31m\u{10FFFD}[2J"#

    @Test(
        "Every printer escapes control characters of values",
        arguments: [
            #"store:objects "D""#, #"store:objects("D")[1]"#, ".diff 1 2", ".history",
            #".watch store:objects "D""#, "error(text)", #"store:objects("D" .. text)"#,
            #"setmetatable({}, { __tostring = function() return text end })"#,
            #"store:create("D", { id = text })"#, ".live text",
        ])
    func printers(_ entry: String) throws {
        let session = try TestSession()
        _ = try session.run(
            #"text = "\#(Self.controls)"; store:define { D = { id = "string primary", name = "string" } }"#
        )
        _ = try session.run(
            #"store:write(function() store:create("D", { id = text, name = text }) end)"#)
        let shown = try session.run(entry)
        let controls = shown.unicodeScalars.filter {
            $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t"
        }
        #expect(controls.isEmpty, "\(shown.debugDescription)")
    }

    @Test("Cells of tables show the code of each control character")
    func cells() throws {
        let session = try TestSession()
        _ = try session.run(#"store:define { D = { name = "string" } }"#)
        _ = try session.run(
            #"store:write(function() store:create("D", { name = "\1\27\127\u{9b}31m" }) end)"#)
        #expect(try session.run(#"store:objects "D""#).contains(#"\x01\x1B\x7F\u{9B}31m"#))
    }

    @Test(
        "Labels, panels and completion escape control characters, with and without colors",
        arguments: ["", "1"])
    func terminal(noColor: String) throws {
        let session = try TerminalSession(
            columns: 100, rows: 30, environment: ["NO_COLOR": noColor])
        let folder = session.folder.file("files")
        try session.folder.make("files")
        for name in ["one", "on\u{1B}[31m", "only"] {
            try session.folder.write("", to: "files/\(name)")
        }
        try session.run(#"text = "a\nb\27[2J\u{10FFFD}[2J""#)
        try session.run(#"store:define { D = { name = "string" } }"#)
        try session.run(#"store:write(function() store:create("D", { name = text }) end)"#)
        try session.run(
            #"one = store:objects("D"):observe(function() print "called" end, { name = "ken\u{10FFFD}[2Jnel" })"#
        )
        try session.terminal.wait(for: "the label") { screen in
            screen.lines.contains { $0.hasPrefix(#"[ken\u{10FFFD}[2Jnel] called"#) }
        }
        session.terminal.type(".watch D\r")
        try session.terminal.wait(for: "the panel") { screen in
            screen.lines.contains { $0.hasPrefix(#"a\nb\x1B[2J\u{10FFFD}[2J"#) }
                && screen.lines.last == "q leaves"
        }
        session.terminal.type("q")
        try session.prompt()
        session.terminal.type("dofile '\(folder)/on\t\t")
        try session.terminal.wait(for: "the candidates") { screen in
            screen.lines.contains { $0.split(separator: " ") == ["one", "only"] }
        }
        #expect(!session.terminal.screen.text.contains("\u{10FFFD}"))
        session.terminal.type(PseudoTerminal.Key.interrupt)
        #expect(try session.end() == 0)
    }

    @Test("Sequences of a style take effect, sequences of data do not")
    func styles() {
        let painted = Style(isColored: true).paint("\u{1B}[31mred", .error)
        #expect(Style.rendered(painted) == "\u{1B}[31m\\x1B[31mred\u{1B}[0m")
        #expect(
            Style.rendered("\u{10FFFD}[2J\u{10FFFD}]0;title\u{10FFFD}")
                == "\\u{10FFFD}[2J\\u{10FFFD}]0;title\\u{10FFFD}")
        #expect(Style.rendered("\u{600}" + painted) == "\u{600}\u{1B}[31m\\x1B[31mred\u{1B}[0m")
    }
}

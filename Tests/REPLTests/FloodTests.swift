import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

@Suite(.serialized) struct FloodTests {
    @Test func `a hundred thousand lines of output lose no keystroke`() throws {
        let session = try TerminalSession(columns: 70)
        try session.run("n = 0")
        try session.run("function flood() for i = 1, 500 do n = n + 1 print('line ' .. n) end end")
        try session.run(
            "timer = moonpool.every(0, function() flood() if n >= 100000 then timer:cancel() end end)"
        )
        var typed = ""
        for number in 0..<60 {
            let word = "w\(number) "
            typed += word
            session.terminal.type(number == 0 ? "'" + word : word)
            // The test reads the terminal continuously, as a terminal program does.
            if number % 5 == 0 {
                try session.terminal.wait(for: "the word \(word)", seconds: 120) { screen in
                    screen.text.filter { $0 != "\n" }.contains(word.dropLast())
                }
            }
        }
        session.terminal.type("'")
        try session.terminal.wait(for: "the last line", seconds: 120) {
            $0.text.contains("] line 100000")
        }
        session.terminal.type(Key.enter)
        let expected = "\"\(typed)\"".filter { $0 != " " }
        try session.terminal.wait(for: "the value", seconds: 60) { screen in
            screen.lines.joined().filter { $0 != " " }.contains(expected)
        }
        #expect(
            String(decoding: session.terminal.transcript, as: UTF8.self).contains("lines omitted"))
        session.terminal.type("'counted ' .. n" + Key.enter)
        try session.terminal.wait(forText: "counted 100000")
        #expect(try session.end() == 0)
    }
}

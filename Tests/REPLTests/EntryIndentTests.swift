import TestSupport
import Testing

@testable import REPL

/// The indentation of entries that are typed in several lines.
@Suite struct EntryIndentTests {
    @Test(
        "A line is indented by the open words before it",
        arguments: [
            ("function f()", 2), ("foo(function() x({", 2), ("if a then\n  b()\nelse", 2),
            ("for i = 1, 2 do\n  while true do", 4), ("repeat", 2), ("repeat until x", 0),
            ("return {\n  1, { 2 },", 2), ("x = [[ do", 0), ("do -- end", 2), ("do --[[ x", 0),
            ("if a then b() elseif c then", 2), ("f(\n  'do'", 2), ("a = '\\", 0), ("end end )", 0),
        ])
    func indentation(text: String, columns: Int) {
        #expect(EntryIndent.after(text).count == columns)
    }

    @Test("A line with a closing word is indented as its opening line")
    func closing() {
        #expect(EntryIndent.corrected("  end", after: "do") == "end")
        #expect(EntryIndent.corrected("  })", after: "foo({") == "})")
        #expect(EntryIndent.corrected("  else", after: "if a then") == "else")
        #expect(EntryIndent.corrected("    end", after: "do\n  do") == "  end")
        #expect(EntryIndent.corrected("  ", after: "do") == "")
        #expect(EntryIndent.corrected("  ending()", after: "do") == "  ending()")
        // A changed indentation stays.
        #expect(EntryIndent.corrected("    end", after: "do") == "    end")
        #expect(EntryIndent.corrected("end", after: "do") == "end")
        #expect(EntryIndent.corrected("  end ]]", after: "x = [[") == "  end ]]")
    }

    @Test("An entry typed in lines is recalled with its indentation") func typed() throws {
        let session = try TerminalSession()
        session.terminal.type("function f(x)\rif x then\rreturn {\r1,\r}\rend\rend\r")
        try session.prompt()
        #expect(try session.run("#f(1)").suffix(2).first == "1")
        session.terminal.type(PseudoTerminal.Key.up + PseudoTerminal.Key.up)
        let entry = [
            "function f(x)", "  if x then", "    return {", "      1,", "    }", "  end", "end",
        ]
        try session.terminal.wait(for: "the entry") { screen in
            screen.lines.suffix(6) == entry.suffix(6)[...]
        }
        session.terminal.type(PseudoTerminal.Key.interrupt)
        #expect(try session.end() == 0)
    }
}

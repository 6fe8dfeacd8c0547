import TestSupport
import TestThreads

private typealias Key = PseudoTerminal.Key

extension Feature {
    /// Editing the typed line: keys, history, and entries of several lines.
    static let editing: [Feature] = [
        Feature("emacs keys, word moves, kill and yank", needsCursor: true) { trial in
            try trial.run("100 + 22\u{17}1", shows: "101")
            try trial.run("60 + 6\u{1}\u{B}\u{19}", shows: "66")
            try trial.run("2\u{1}1\u{5}3\u{1B}[1;5D4", shows: "4123")
        },
        Feature("persistent history", needsCursor: true) { trial in
            try trial.restarted(after: ["'kept' .. 1"]) { second in
                try second.types(Key.up, shows: "> 'kept' .. 1")
            }
        },
        Feature("Ctrl-R history search", needsCursor: true) { trial in
            try trial.run("'needle ' .. 7", shows: "needle 7")
            try trial.run("1 + 1", shows: "2")
            try trial.run(Key.search + "needl" + Key.enter, shows: "needle 7")
        },
        Feature("a multi-line entry is one history item, also after a restart", needsCursor: true) {
            trial in
            try trial.restarted(after: [Key.paste("do\nx = 4\nend")]) { second in
                second.type(Key.up)
                try second.session.terminal.wait(for: "the entry") { screen in
                    screen.lines.suffix(3).first?.hasSuffix("> do") == true
                        && screen.lines.suffix(2) == ["x = 4", "end"]
                }
                second.type(Key.interrupt)
                try second.run(Key.search + "x =" + Key.enter)
                try second.run("x", shows: "4")
            }
        },
        Feature("continuation of an unfinished entry") { trial in
            trial.type("for i = 1, 2 do" + Key.enter)
            try trial.wait(">>")
            try trial.run("print('turn ' .. i) end", shows: "turn 1", "turn 2")
        },
        Feature("a way out of an unfinished entry", needsCursor: true) { trial in
            trial.type("for i = 1, 2 do" + Key.enter)
            try trial.session.terminal.wait(for: "the continuation") {
                $0.lines.last?.hasSuffix(">>") == true
            }
            trial.type(Key.interrupt)
            try trial.run("5 + 5", shows: "10")
        },
        Feature("editing an earlier line of the entry", needsCursor: true) { trial in
            trial.type("do" + Key.enter)
            try trial.session.terminal.wait(for: "the continuation") {
                $0.lines.last?.hasSuffix(">>") == true
            }
            trial.type("v = 1 end" + Key.up)
            try trial.session.terminal.wait(for: "the whole entry") {
                $0.lines.suffix(2).first?.hasSuffix("> do") == true
                    && $0.lines.last == "  v = 1 end"
            }
            trial.type("\u{5} w = 33" + Key.enter)
            try trial.session.terminal.wait(for: "the run") {
                $0.lines.suffix(2).first == "  v = 1 end"
            }
            try trial.run("w + v", shows: "34")
        },
        Feature("a suggestion from the history", needsCursor: true) { trial in
            guard trial.kind.isColored else { return }
            try trial.run("'sugg' .. 'ested'", shows: "suggested")
            trial.type("'su")
            try trial.session.terminal.wait(for: "the suggestion") {
                $0.lines.last?.hasSuffix("> 'sugg' .. 'ested'") == true
            }
            trial.type(Key.right + Key.enter)
            try trial.session.terminal.wait(for: "both results") {
                $0.lines.filter { $0.hasPrefix("\"suggested\"") }.count == 2
            }
            try trial.session.prompt()
        },
        Feature("bracketed paste runs once", needsCursor: true) { trial in
            try trial.run(
                Key.paste("p = 1\nq = 2\nprint('pasted', p + q)"), shows: "pasted\t3".expanded)
        },
        Feature("wide characters and wrapping at the right edge") { trial in
            let text = String(repeating: "日本語é", count: 20)
            try trial.run("#'\(text)'", shows: "\(text.utf8.count)")
        },
        Feature("vi keys of ~/.editrc", needsCursor: true) { trial in
            let folder = try TemporaryFolder()
            try folder.write("bind -v\n", to: ".editrc")
            let other = try FeatureTrial(trial.kind, in: folder)
            try other.types("foo bar\u{1B}0dw", shows: "> bar")
            try other.end()
        },
    ]
}

extension String {
    /// The text with tabs replaced by spaces up to the next multiple of 8, as on a screen.
    fileprivate var expanded: String {
        var text = ""
        for character in self {
            if character == "\t" {
                repeat { text += " " } while text.count % 8 != 0
            } else {
                text.append(character)
            }
        }
        return text
    }
}

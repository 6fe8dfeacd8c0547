import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

extension Feature {
    /// Printed values, results, pages and colors.
    static let printing: [Feature] = [
        Feature("an expression prints its value") { trial in
            try trial.run("17 + 2", shows: "19")
            try trial.run("= 18 + 3", shows: "21")
        },
        Feature("nested tables with sorted keys and cycles") { trial in
            try trial.run("{ b = { 2 }, a = 1 }", shows: "{ a = 1, b = { 2 } }")
            try trial.run("t = {} t.t = t; t", shows: "{ t = <cycle> }")
        },
        Feature("limits of printing") { trial in
            try trial.run(
                "l = {} for i = 1, 500 do l[i] = i end return l", shows: "more",
                ".last shows the rest")
        },
        Feature("the rest of the last result") { trial in
            try trial.run("l = {} for i = 1, 100 do l[i] = 'item ' .. i end return l")
            try trial.run(".last", shows: "\"item 99\"")
        },
        Feature("results as a table with types and their number") { trial in
            try trial.run("dogs", shows: "name", "string", "Rex", "3 Dog")
        },
        Feature("output modes") { trial in
            for (mode, shown) in [
                ("json", "\"age\""), ("jsonl", "{\""), ("csv", "age,"), ("line", "age = 3"),
                ("markdown", "| ---"), ("lua", "age = 3"),
            ] {
                try trial.run(".mode \(mode)", shows: mode)
                try trial.run("dogs:limit(1)", shows: shown)
            }
            try trial.run(".mode table", shows: "output mode: table")
        },
        Feature("results to files and programs") { trial in
            try trial.run(".once \(trial.folder)/once.txt")
            try trial.run("'to a file'")
            #expect(trial.contents(of: "once.txt") == "\"to a file\"\n")
            guard !trial.kind.isDumb else { return }
            try trial.run(".once |tr a-z A-Z")
            try trial.run("'upper case'", shows: "\"UPPER CASE\"")
        },
        Feature("colors while typing", needsCursor: true) { trial in
            func isColored() -> Bool {
                String(decoding: trial.session.terminal.transcript, as: UTF8.self)
                    .contains("'typed'\u{1B}[0m")
            }
            guard trial.kind.isColored else {
                try trial.types("local text = 'typed'", shows: "'typed'")
                #expect(!isColored())
                return
            }
            try trial.session.prompt()
            trial.type("local text = 'typed'")
            // The end of the color may arrive after the text.
            try trial.session.terminal.wait(for: "a colored string") { _ in isColored() }
            trial.type(Key.interrupt)
            try trial.session.prompt()
        },
        Feature("colors in values, and none without a color terminal") { trial in
            try trial.run("{ 'a colored text' }", shows: "\"a colored text\"")
            let bytes = String(decoding: trial.session.terminal.transcript, as: UTF8.self)
            let isColored = trial.kind.isColored && !trial.kind.isDumb
            #expect(bytes.contains("\u{1B}[32m\"a colored text\"") == isColored)
            #expect(isColored || bytes.firstMatch(of: /\u{1B}\[[0-9;]*m/) == nil)
        },
        Feature("a pager for long output", needsCursor: true) { trial in
            try trial.run(".help commands", shows: "PAGED .reload")
        },
        Feature("timing of entries") { trial in
            try trial.run(".timing on", shows: "timing is on")
            try trial.run("1 + 1", shows: "s")
            try trial.run(".timing off", shows: "timing is off")
        },
    ]
}

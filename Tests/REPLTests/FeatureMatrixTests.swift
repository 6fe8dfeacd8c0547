import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// Every feature that users expect of a prompt, tried in windows of three widths, without colors, and on a terminal that
/// cannot move its cursor.
@Suite(.serialized) struct FeatureMatrixTests {
    struct Terminal: CustomTestStringConvertible, Sendable {
        var columns = 80
        var isColored = true
        var isDumb = false

        var environment: [String: String] {
            [
                "TERM": isDumb ? "dumb" : "xterm-256color", "NO_COLOR": isColored ? "" : "1",
                "PAGER": "sed 's/^/PAGED /'", "EDITOR": "sed -i s/40/41/",
            ]
        }
        var testDescription: String {
            "\(columns) columns" + (isDumb ? ", TERM=dumb" : "") + (isColored ? "" : ", NO_COLOR")
        }
    }

    private static let terminals = [
        Terminal(columns: 60), Terminal(columns: 80), Terminal(columns: 120),
        Terminal(isColored: false), Terminal(isDumb: true),
    ]

    /// A feature and a trial of it.
    struct Feature: Sendable {
        let name: String
        /// Whether the terminal must move its cursor.
        var needsCursor = false
        let trial: @Sendable (Trial) throws -> Void

        init(
            _ name: String, needsCursor: Bool = false,
            _ trial: @escaping @Sendable (Trial) throws -> Void
        ) {
            self.name = name
            self.needsCursor = needsCursor
            self.trial = trial
        }
    }

    /// A session at the prompt, with a store of three dogs.
    final class Trial {
        let kind: Terminal
        let session: TerminalSession
        var folder: String { session.folder.path }

        init(_ kind: Terminal, _ arguments: [String] = [], in folder: URL? = nil) throws {
            self.kind = kind
            session = try TerminalSession(
                arguments, columns: kind.columns, rows: 24, folder: folder,
                environment: kind.environment)
        }

        func type(_ keys: String) { session.terminal.type(keys) }

        func wait(_ text: String) throws { try session.terminal.wait(forText: text) }

        /// Runs an entry and waits until all texts are shown below it.
        func run(_ entry: String, shows texts: String...) throws {
            try session.prompt()
            let first = session.terminal.screen.scrolledLines + session.terminal.screen.lines.count
            if entry.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) {
                try session.run(entry)
            } else {
                type(entry + Key.enter)
            }
            for text in texts {
                try session.terminal.wait(for: "'\(text)' after \(entry)") { screen in
                    let start = max(0, first - screen.scrolledLines)
                    return screen.lines.dropFirst(start).contains { $0.contains(text) }
                }
            }
            try session.prompt()
        }

        /// Types keys and waits until the line ends in a text; then clears it.
        func types(_ keys: String, shows text: String) throws {
            try session.prompt()
            type(keys)
            try session.terminal.wait(for: "'\(text)' after \(keys.debugDescription)") { screen in
                screen.lines.last?.contains(text) == true
            }
            type(Key.interrupt)
            try session.prompt()
        }

        func write(_ text: String, to name: String) throws {
            try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
        }

        func contents(of name: String) -> String {
            (try? String(contentsOfFile: folder + "/" + name, encoding: .utf8)) ?? ""
        }

        func end() throws { #expect(try session.end() == 0) }
    }

    private static let program = URL(filePath: CommandLine.arguments[0])
        .deletingLastPathComponent().appending(path: "moonpool").path

    /// Runs a command on a terminal of its own.
    ///
    /// Returns its exit code and its screen.
    private static func command(
        _ trial: Trial, _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> (code: Int32, text: String) {
        let terminal = try PseudoTerminal(columns: trial.kind.columns, rows: 40)
        var variables = trial.kind.environment.merging(environment) { $1 }
        variables["HOME"] = trial.folder
        variables["PATH"] = "/usr/bin:/bin"
        try terminal.start(program, arguments, environment: variables)
        let code = try terminal.exitCode()
        return (code, terminal.screen.text)
    }

    private static func expect(
        _ trial: Trial, _ arguments: [String], _ environment: [String: String] = [:],
        exitCode: Int32? = nil, shows text: String = "", hides: String? = nil
    ) throws {
        let outcome = try command(trial, arguments, environment)
        if let exitCode { #expect(outcome.code == exitCode, "\(arguments): \(outcome.text)") }
        #expect(outcome.text.contains(text) || text.isEmpty, "\(arguments): \(outcome.text)")
        if let hides { #expect(!outcome.text.contains(hides), "\(arguments): \(outcome.text)") }
    }

    /// Ends a session after some entries, and starts another in its folder.
    private static func restarted(
        _ trial: Trial, after entries: [String] = [], _ body: (Trial) throws -> Void
    ) throws {
        let first = try Trial(trial.kind)
        defer { first.session.remove() }
        for entry in entries { try first.run(entry) }
        try first.end()
        let second = try Trial(trial.kind, in: first.session.folder)
        try body(second)
        try second.end()
    }

    private static let editing: [Feature] = [
        Feature("emacs keys, word moves, kill and yank", needsCursor: true) { trial in
            try trial.run("100 + 22\u{17}1", shows: "101")
            try trial.run("60 + 6\u{1}\u{B}\u{19}", shows: "66")
            try trial.run("2\u{1}1\u{5}3\u{1B}[1;5D4", shows: "4123")
        },
        Feature("persistent history", needsCursor: true) { trial in
            try restarted(trial, after: ["'kept' .. 1"]) { second in
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
            try restarted(trial, after: [Key.paste("do\nx = 4\nend")]) { second in
                second.type(Key.up)
                try second.session.terminal.wait(for: "the entry") { screen in
                    screen.lines.suffix(3).first?.hasSuffix("> do") == true
                        && screen.lines.suffix(2) == ["x = 4", "end"]
                }
                second.type(Key.interrupt)
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
                $0.lines.suffix(2).first?.hasSuffix("> do") == true && $0.lines.last == "v = 1 end"
            }
            trial.type("\u{5} w = 33" + Key.enter)
            try trial.session.terminal.wait(for: "the run") {
                $0.lines.suffix(2).first == "v = 1 end"
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
            let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try "bind -v\n".write(
                to: folder.appending(path: ".editrc"), atomically: true, encoding: .utf8)
            let other = try Trial(trial.kind, in: folder)
            defer { other.session.remove() }
            try other.types("foo bar\u{1B}0dw", shows: "> bar")
            try other.end()
        },
    ]

    private static let completion: [Feature] = [
        Feature("completion of globals and keywords", needsCursor: true) { trial in
            try trial.types("setmeta\t", shows: "> setmetatable")
            try trial.types("func\t", shows: "> function")
        },
        Feature("completion of fields and methods", needsCursor: true) { trial in
            try trial.types("string.forma\t", shows: "> string.format")
            try trial.types("store:begin_w\t", shows: "> store:begin_write")
        },
        Feature("completion of classes, properties and key paths", needsCursor: true) { trial in
            try trial.types("store:objects('Do\t", shows: "> store:objects('Dog")
            try trial.types("dogs:where('na\t", shows: "> dogs:where('name")
            try trial.types("dogs:where('\t", shows: "> dogs:where('")
        },
        Feature("completion of dot commands and their arguments", needsCursor: true) { trial in
            try trial.types(".hist\t", shows: "> .history")
            try trial.types(".mode mark\t", shows: "> .mode markdown")
        },
        Feature("completion of file names", needsCursor: true) { trial in
            try trial.write("", to: "a-file-with-a-name.lua")
            try trial.types(
                ".load \(trial.folder)/a-fi\t", shows: String("/a-file-with-a-name.lua".suffix(8)))
        },
        Feature("completion runs no code of the user", needsCursor: true) { trial in
            try trial.run(
                "lazy = setmetatable({}, { __index = function() ran = true end, __pairs = function() ran = true end })"
            )
            try trial.types("lazy.x\t", shows: "> lazy.x")
            try trial.run("'ran ' .. tostring(ran)", shows: "ran nil")
        },
        Feature("completion in large tables", needsCursor: true) { trial in
            try trial.run("big = {} for i = 1, 100000 do big['k' .. i] = i end big.only = 1")
            try trial.types("big.onl\t", shows: "> big.only")
        },
    ]

    private static let printing: [Feature] = [
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
            try trial.run(".help", shows: "PAGED .reload")
        },
        Feature("timing of entries") { trial in
            try trial.run(".timing on", shows: "timing is on")
            try trial.run("1 + 1", shows: "s")
            try trial.run(".timing off", shows: "timing is off")
        },
    ]

    private static let looking: [Feature] = [
        Feature("help with signature, text and example") { trial in
            try trial.run("help(store.objects)", shows: "store:objects(", "-->")
        },
        Feature("inspection of a function: parameters, place, comment") { trial in
            try trial.run("function added(a, b) return a + b end")
            try trial.run("help(added)", shows: "function (a, b), from entry")
        },
        Feature("the schema with numbers of objects") { trial in
            try trial.run(".schema", shows: "Dog 3")
            try trial.run(".classes", shows: "Dog")
        },
        Feature("a tutorial") { trial in
            try trial.run(".tutorial", shows: "1/10")
            try trial.run("6 * 7", shows: "42", "2/10")
            try trial.run(".tutorial off", shows: "ended")
        },
        Feature("suggestions for misspelled names") { trial in
            try trial.run("store:objects 'Dgo'", shows: "did you mean 'Dog'?")
            try trial.run(".histroy", shows: "did you mean .history?")
        },
        Feature("the plan of a query") { trial in
            try trial.run(".explain Dog where age > 1", shows: "scans 3 objects")
        },
        Feature("a list of the keys") { trial in
            try trial.run(".help shortcuts", shows: "Ctrl-R")
        },
    ]

    private static let running: [Feature] = [
        Feature("Ctrl-C clears the typed line", needsCursor: true) { trial in
            try trial.types("half a line", shows: "half a line")
            try trial.run("3 + 4", shows: "7")
        },
        Feature("Ctrl-C stops running code") { trial in
            trial.type(
                "print('it ' .. 'runs') while true do pcall(function() while true do end end) end\r"
            )
            try trial.wait("it runs")
            trial.type(Key.interrupt)
            try trial.wait("interrupted")
            try trial.run("40 + 8", shows: "48")
        },
        Feature("Ctrl-D leaves") { trial in
            let other = try Trial(trial.kind)
            defer { other.session.remove() }
            try other.end()
        },
        Feature("asynchronous output above the typed line", needsCursor: true) { trial in
            try trial.run("moonpool.after(0.2, function() print('asynchronous ' .. 'output') end)")
            trial.type("half a line")
            try trial.session.terminal.wait(for: "the output above the line") { screen in
                screen.lines.last?.hasSuffix("half a line") == true
                    && screen.lines.dropLast().contains { $0.contains("asynchronous output") }
            }
            trial.type(Key.interrupt)
        },
        Feature("an error in a callback names it, and the session continues", needsCursor: true) {
            trial in
            try trial.run(
                "token = dogs:observe(function() error 'from the callback' end, { name = 'faulty' })"
            )
            try trial.wait("error in 'faulty'")
            try trial.run("token:invalidate()")
            try trial.run("9 * 9", shows: "81")
        },
        Feature("the last result and numbered results") { trial in
            try trial.run("20 + 3", shows: "23")
            try trial.run("_ + 1", shows: "24")
            try trial.run("_1 ~= nil", shows: "true")
        },
        Feature("locals survive between entries") { trial in
            try trial.run("local kept = 61")
            try trial.run("kept + 1", shows: "62")
        },
        Feature("errors with an excerpt and a mark") { trial in
            try trial.run("nothing.x", shows: "attempt to index a nil value", "^~~~~~~")
        },
        Feature("waiting at the top level") { trial in
            try trial.run("moonpool.sleep(0.01) return 'awake' .. 1", shows: "awake1")
        },
        Feature("variables of the frames after an error") { trial in
            try trial.run("function deep(v) local twice = v * 2 return twice.x end")
            try trial.run("deep(6)", shows: "attempt to index")
            try trial.run(".locals", shows: "twice = 12", "v = 6")
            try trial.run(".up", shows: "frame")
        },
    ]

    private static let files: [Feature] = [
        Feature(".load and .save") { trial in
            try trial.write("local loaded = 70\nprint('loading')\n", to: "part.lua")
            try trial.run(".load \(trial.folder)/part.lua", shows: "loading")
            try trial.run("loaded + 1", shows: "71")
            try trial.run(".save \(trial.folder)/saved.lua", shows: "run it with")
            #expect(trial.contents(of: "saved.lua").contains("loaded + 1"))
        },
        Feature(".edit in $EDITOR", needsCursor: true) { trial in
            try trial.run("'edited ' .. 40", shows: "edited 40")
            try trial.run(".edit", shows: "edited 41")
        },
        Feature("reloading a changed module") { trial in
            try trial.write("return { value = 'old' }", to: "part_module.lua")
            try trial.run("package.path = '\(trial.folder)/?.lua'")
            try trial.run("part = require 'part_module'; part.value", shows: "\"old\"")
            try trial.write("return { value = 'renewed' }", to: "part_module.lua")
            try trial.run(".reload part_module")
            try trial.run("part.value", shows: "\"renewed\"")
        },
        Feature("-e, -l, -, scripts with arguments") { trial in
            try expect(trial, ["-e", "print(6 * 7)"], shows: "42")
            try trial.write("print('argument', arg[1])", to: "script.lua")
            try expect(trial, [trial.folder + "/script.lua", "first"], shows: "first")
        },
        Feature("exit codes") { trial in
            try expect(trial, ["-e", "os.exit(7)"], exitCode: 7)
            try expect(trial, ["-e", "error 'x'"], exitCode: 1)
            try expect(trial, ["-e"], exitCode: 1)
            try expect(trial, ["-e", "x = 1"], exitCode: 0)
        },
        Feature("a script stops at its first error") { trial in
            try trial.write("print('one')\nerror('stop')\nprint('two')\n", to: "failing.lua")
            try expect(
                trial, [trial.folder + "/failing.lua"], exitCode: 1, shows: "one", hides: "two")
        },
        Feature("a startup file, LUA_INIT, and switches to skip them") { trial in
            let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
            let config = folder.appending(path: "config/moonpool")
            try FileManager.default.createDirectory(at: config, withIntermediateDirectories: true)
            try "print('startup file')".write(
                to: config.appending(path: "init.lua"), atomically: true, encoding: .utf8)
            let other = try Trial(trial.kind, in: folder)
            defer { other.session.remove() }
            #expect(other.session.terminal.screen.text.contains("startup file"))
            try other.end()
            let bare = try Trial(trial.kind, ["--no-rc"], in: folder)
            #expect(!bare.session.terminal.screen.text.contains("startup file"))
            try bare.end()
            let variables = ["LUA_INIT": "print('from LUA_INIT')"]
            try expect(trial, ["-e", "x = 1"], variables, shows: "from LUA_INIT")
            try expect(trial, ["-E", "-e", "x = 1"], variables, hides: "LUA_INIT")
        },
        Feature("XDG folders", needsCursor: true) { trial in
            try trial.run("'for the history'")
            #expect(trial.contents(of: "state/moonpool/history").contains("'for the history'"))
        },
        Feature("read-only mode") { trial in
            let path = trial.folder + "/read.moonpool"
            _ = try command(
                trial, ["-e", "moonpool.open { path = '\(path)', schema = { A = { n = 'int' } } }"])
            let other = try Trial(trial.kind, ["--read-only", path])
            defer { other.session.remove() }
            try other.run("store.is_read_only", shows: "true")
            try other.run("store:write(function() end)", shows: "read")
            try other.end()
        },
        Feature("a transcript that runs again", needsCursor: true) { trial in
            let file = trial.folder + "/session.txt"
            let other = try Trial(trial.kind)
            defer { other.session.remove() }
            try other.run(".transcript \(file)", shows: "recording")
            try other.run("5 * 5", shows: "25")
            try other.run("nothing.y", shows: "attempt")
            try other.run(".transcript", shows: "2 entries")
            try other.end()
            let outcome = try command(trial, ["transcript", file])
            #expect(outcome.code == 0, "\(outcome.text)\n\(trial.contents(of: "session.txt"))")
        },
    ]

    private static let live: [Feature] = [
        Feature("a query that is watched", needsCursor: true) { trial in
            trial.type(".watch Dog where age > 1" + Key.enter)
            try trial.wait("q leaves")
            trial.type("q")
            try trial.run("7 * 7", shows: "49")
        },
        Feature("attaching to a running process", needsCursor: true) { trial in
            let socket = trial.folder + "/s"
            let running = try PseudoTerminal()
            try running.start(
                program,
                [
                    "--attachable=\(socket)", "-e",
                    "inside = 'the process' moonpool.every(60, function() end) print 'ready'",
                ], environment: ["HOME": trial.folder])
            try running.wait(forText: "ready")
            let other = try Trial(trial.kind, ["attach", socket])
            defer { other.session.remove() }
            try other.run("inside", shows: "\"the process\"")
            try other.end()
            running.send(SIGTERM)
            _ = try running.exitCode()
        },
        Feature("the prompt shows a transaction and observers") { trial in
            try trial.run(".begin")
            #expect(trial.session.terminal.screen.lines.last?.contains(" write") == true)
            try trial.run(".rollback", shows: "rolled back")
            try trial.run("watching = dogs:observe(function() end)")
            try trial.wait("1 observer>")
            try trial.run("watching:invalidate()")
        },
        Feature("a progress bar for long work") { trial in
            let rows = (1...20_000).map { "\($0),row \($0)" }.joined(separator: "\n")
            try trial.write("id,name\n" + rows, to: "rows.csv")
            let outcome = try command(
                trial,
                [
                    "import", trial.folder + "/rows.moonpool", trial.folder + "/rows.csv",
                    "--class", "Row",
                ])
            #expect(outcome.code == 0 && outcome.text.contains("20000 created"), "\(outcome.text)")
        },
        Feature("the observers with their cost") { trial in
            try trial.run("watching = dogs:observe(function() end, { name = 'kennel' })")
            try trial.run(".observers", shows: "kennel", "calls")
            try trial.run("watching:invalidate()")
        },
    ]

    @Test(arguments: terminals)
    func `Every feature works in each kind of terminal`(_ kind: Terminal) throws {
        var trial: Trial?
        defer { trial?.session.remove() }
        let all =
            Self.editing + Self.completion + Self.printing + Self.looking + Self.running
            + Self.files + Self.live
        for feature in all where !(feature.needsCursor && kind.isDumb) {
            do {
                if trial == nil {
                    let new = try Trial(kind)
                    try new.run("store:define { Dog = { name = 'string', age = 'int' } }")
                    try new.run(
                        "for i, n in ipairs { 'Rex', 'Fido', 'Ada' } do store:write(function() store:create('Dog', { name = n, age = 4 - i }) end) end"
                    )
                    try new.run("dogs = store:objects 'Dog'")
                    trial = new
                }
                if let trial { try feature.trial(trial) }
            } catch {
                Issue.record("\(feature.name): \(error)")
                trial?.session.remove()
                trial = nil
            }
        }
    }
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

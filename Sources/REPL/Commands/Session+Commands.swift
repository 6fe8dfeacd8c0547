import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import StoreBindings

extension Session {
    /// Runs a dot command.
    func runCommand(_ entry: String) {
        let words = entry.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        let name = String(words[0].dropFirst())
        let rest = words.count > 1 ? words[1].trimmed : ""
        do {
            let commands = try module.commands()
            guard let command = commands.find(name) else {
                let near = nearestName(
                    to: name, in: commands.all.flatMap { [$0.name] + $0.aliases })
                throw CommandError(
                    "unknown command .\(name)"
                        + (near.map { "; did you mean .\($0)?" } ?? "; .help lists all commands"))
            }
            guard rest.isEmpty || !command.usage.isEmpty else {
                throw CommandError(".\(name) takes no arguments, got '\(rest)'")
            }
            if command.isPaged { screen.beginPage() }
            try command.run(self, rest)
            if !command.isUnsaved {
                script.add(command: entry.trimmed, code: rest.isEmpty ? command.code : nil)
            }
        } catch let error as StoreError {
            fail(error.message)
        } catch {
            if error is LuaError { errorFrames?.reset() }
            fail(error)
        }
    }

    /// The dot commands; none if loading them was interrupted.
    var commands: CommandList { (try? module.commands()) ?? CommandList() }

    /// Runs a command that is a Lua function, and shows the values that it returns.
    func call(_ function: LuaFunction, _ text: String) throws {
        let words = text.split(whereSeparator: \.isWhitespace).map { LuaValue.text(String($0)) }
        let arguments = context.state.makeTable(words)
        arguments["text"] = .text(text)
        liveView = nil
        let values = try context.entry { () throws in try function.call([.table(arguments)]) }
        if !values.isEmpty { print(values) }
        guard let view = liveView.take() else { return }
        try showLive(every: view.interval) {
            try view.lines.call([]).first?.table?.array.compactMap(\.text) ?? []
        }
    }

    /// Returns what the completion function of a command returns; shows its error.
    func candidates(of function: LuaFunction, for text: String) -> [String] {
        do {
            let found = try context.entry { () throws in try function.call([.text(text)]) }
            return found.first?.table?.array.compactMap(\.text) ?? []
        } catch {
            fail(error)
            return []
        }
    }

    /// Runs the text of a file: as one chunk, or entry by entry if it contains what only the prompt accepts.
    func load(_ text: String, named file: String, shownAs path: String) {
        let isChunk = (try? context.state.load(text, name: "@" + file)) != nil
        guard !isChunk, let entries = EntryText.entries(of: text) else {
            if evaluate(text, named: file) { script.add(file: path, text: text) }
            return
        }
        for (entry, linesBefore) in entries {
            if EntryText.isCommand(entry) {
                runCommand(entry)
            } else {
                // Blank lines keep the line numbers of the file in messages.
                let padding = String(repeating: "\n", count: linesBefore)
                let first = nextResult
                evaluate(padding + EntryText.lua(entry), named: file)
                if !hasFailed { script.add(entry, results: results(from: first)) }
            }
            if hasFailed { return }
        }
    }

    /// Returns the store for a command, or throws if no store is open.
    func requireStore() throws -> StoreHandle {
        guard let store else {
            throw CommandError(
                "no store is open; open one with: store = moonpool.open \"name.moonpool\"")
        }
        return store
    }

    /// Writes rows in columns.
    func writeTable(_ rows: [[String]], numeric: Set<Int> = [], header: Bool = true) {
        for line in lines(of: rows, numeric: numeric, header: header) { write(line + "\n") }
    }

    /// Lays out rows in columns, each as wide as its widest cell.
    func lines(of rows: [[String]], numeric: Set<Int> = [], header: Bool = true) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let rows = rows.map { row in
            row.map { ControlCharacters.escaped($0, onOneLine: true) }
                + Array(repeating: "", count: count - row.count)
        }
        let widths = (0..<count).map { column in
            rows.map { TerminalText.width($0[column]) }.max() ?? 0
        }
        return rows.enumerated().map { index, row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(
                    repeating: " ", count: widths[column] - TerminalText.width(cell))
                let isLast = column == row.count - 1
                line += numeric.contains(column) ? padding + cell : cell + (isLast ? "" : padding)
                if !isLast { line += "  " }
            }
            return header && index == 0 ? style.paint(line, .dim) : line
        }
    }
}

import SystemCalls

/// The possible completions at the cursor.
package struct Completion: Equatable, Sendable {
    /// The number of characters before the cursor that a candidate replaces.
    package var replacing: Int
    /// The complete replacements, in display order.
    package var candidates: [String]
    /// The text that is inserted after a single candidate.
    package var suffix: String
    /// The text next to a candidate in the listing, such as a type.
    package var details: [String: String]

    /// Creates a completion from candidates.
    package init(
        replacing: Int, candidates: [String], suffix: String = "", details: [String: String] = [:]
    ) {
        self.details = details
        self.replacing = replacing
        self.candidates = candidates
        self.suffix = suffix
    }

    /// The longest prefix that all candidates share.
    var commonPrefix: String {
        guard var prefix = candidates.first else { return "" }
        for candidate in candidates.dropFirst() {
            while !candidate.hasPrefix(prefix) { prefix.removeLast() }
        }
        return prefix
    }

    /// Returns a listing of the candidates in as many columns as fit in the window.
    package func listing(columns: Int, limit: Int = 120) -> String {
        let shown = candidates.prefix(limit)
        let longest = shown.map(\.count).max() ?? 0
        let cells = shown.map { candidate in
            guard let detail = details[candidate] else { return candidate }
            let padding = String(repeating: " ", count: longest - candidate.count + 2)
            return TerminalText.truncate(
                candidate + padding + detail, to: max(columns - 1, longest))
        }
        let width = (cells.map(TerminalText.width).max() ?? 0) + 3
        let perRow = max(1, columns / max(width, 1))
        let rows = (shown.count + perRow - 1) / perRow
        var text = ""
        for row in 0..<rows {
            var line = ""
            for index in stride(from: row, to: shown.count, by: rows) {
                let cell = cells[index]
                line += cell
                if index + rows < shown.count {
                    line += String(repeating: " ", count: width - TerminalText.width(cell))
                }
            }
            text += line + "\n"
        }
        if candidates.count > limit { text += "… \(candidates.count - limit) more\n" }
        return text
    }
}

/// Completes file names.
package enum FileNames {
    /// Returns the completions of a path: for `a/b`, the names in `a` that begin with `b`.
    ///
    /// Folders end in a slash. Names that begin with a dot are omitted unless the typed name begins with a dot.
    package static func completions(of path: String) -> (typed: String, names: [String]) {
        let slash = path.lastIndex(of: "/")
        let typed = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let folder = expanded(slash.map { String(path[...$0]) } ?? ".")
        let names = (ProcessServices.names(in: folder) ?? []).filter { name in
            name.hasPrefix(typed) && (typed.hasPrefix(".") || !name.hasPrefix("."))
        }
        return (
            typed,
            names.sorted().map { ProcessServices.isFolder("\(folder)/\($0)") ? $0 + "/" : $0 }
        )
    }

    /// Returns a path with a leading `~` replaced by the home folder.
    package static func expanded(_ path: String) -> String {
        guard path == "~" || path.hasPrefix("~/"), let home = ProcessServices.environment("HOME")
        else {
            return path
        }
        return home + path.dropFirst()
    }
}

/// The terminal and the environment of a prompt.
package enum TerminalEnvironment {
    /// Whether the terminal can move its cursor, according to `TERM`.
    package static var movesItsCursor: Bool {
        !["", "dumb"].contains(ProcessServices.environment("TERM") ?? "")
    }

    /// The width and height of the terminal; nil if neither standard output nor standard input is one.
    package static var window: (columns: Int, rows: Int)? {
        Descriptor.windowSize(1) ?? Descriptor.windowSize(0)
    }

    /// Whether standard output is a terminal that can move its cursor.
    ///
    /// False in `moonpool | tee log`, whose log must not contain control sequences.
    package static var canDraw: Bool { movesItsCursor && hasTerminalOutput }

    /// Whether standard output is a terminal.
    package static var hasTerminalOutput: Bool { Descriptor.isTerminal(1) }

    /// Whether standard input is a terminal.
    package static var hasTerminalInput: Bool { Descriptor.isTerminal(0) }

    /// Whether to write colors: standard output can draw, and `NO_COLOR` is empty or unset.
    package static var wantsColors: Bool {
        canDraw && (ProcessServices.environment("NO_COLOR") ?? "").isEmpty
    }

    /// The file with the user's key bindings for libedit: `$EDITRC` or `~/.editrc`.
    package static var keyBindings: String? {
        ProcessServices.environment("EDITRC")
            ?? ProcessServices.environment("HOME").map { $0 + "/.editrc" }
    }

    /// Returns a folder according to the XDG specification: the variable if it holds an absolute path, otherwise a
    /// folder below the home folder.
    package static func folder(_ variable: String, fallback: String) -> String? {
        if let path = ProcessServices.environment(variable), path.hasPrefix("/") { return path }
        return ProcessServices.environment("HOME").map { "\($0)/\(fallback)" }
    }
}

/// Completes file names.
package enum FileNames {
    /// Returns the completions of a path: for `a/b`, the names in `a` that begin with `b`.
    ///
    /// Folders end in a slash. Names that begin with a dot are omitted unless the typed name begins with a dot.
    package static func completions(of path: String) -> (typed: String, names: [String]) {
        let slash = path.lastIndex(of: "/")
        let typed = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let folder = expanded(slash.map { String(path[...$0]) } ?? ".")
        let names = Descriptor.names(in: folder).filter { name in
            name.hasPrefix(typed) && (typed.hasPrefix(".") || !name.hasPrefix("."))
        }
        return (typed, names)
    }
}

extension FileNames {
    /// Returns a path with a leading `~` replaced by the home folder.
    package static func expanded(_ path: String) -> String {
        guard path == "~" || path.hasPrefix("~/"), let home = environment("HOME") else {
            return path
        }
        return home + path.dropFirst()
    }
}

/// The terminal and the environment of a prompt.
package enum TerminalEnvironment {
    /// Whether the terminal can move its cursor, according to `TERM`.
    package static var movesItsCursor: Bool { !["", "dumb"].contains(environment("TERM") ?? "") }

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
    package static var wantsColors: Bool { canDraw && (environment("NO_COLOR") ?? "").isEmpty }

    /// The file with the user's key bindings for libedit: `$EDITRC` or `~/.editrc`.
    package static var keyBindings: String? {
        environment("EDITRC") ?? environment("HOME").map { $0 + "/.editrc" }
    }

    /// Returns a folder according to the XDG specification: the variable if it holds an absolute path, otherwise a
    /// folder below the home folder.
    package static func folder(_ variable: String, fallback: String) -> String? {
        if let path = environment(variable), path.hasPrefix("/") { return path }
        return environment("HOME").map { "\($0)/\(fallback)" }
    }
}

/// Completion of file names.
package enum FileNames {
    /// The names that continue a path: of `a/b` those in `a` that begin with `b`.
    ///
    /// Folders end in a slash.
    ///
    /// What begins with a dot is left out unless the path asks for it.
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
    /// A path with the home folder in place of a leading `~`.
    package static func expanded(_ path: String) -> String {
        guard path == "~" || path.hasPrefix("~/"), let home = environment("HOME") else {
            return path
        }
        return home + path.dropFirst()
    }
}

/// The terminal and the environment that a prompt finds itself in.
package enum TerminalEnvironment {
    /// A variable of the environment.
    package static func variable(_ name: String) -> String? { environment(name) }

    /// Whether the terminal can move its cursor, by what `TERM` says.
    package static var movesItsCursor: Bool { !["", "dumb"].contains(environment("TERM") ?? "") }

    /// The terminal's width and height; nil where standard output is none.
    package static var window: (columns: Int, rows: Int)? { Descriptor.windowSize(1) }

    /// Whether colours are wanted: not when `NO_COLOR` is set to anything.
    package static var wantsColors: Bool { (environment("NO_COLOR") ?? "").isEmpty }

    /// A folder by the XDG rules: the variable if it holds an absolute path, else below the home folder.
    package static func folder(_ variable: String, fallback: String) -> String? {
        if let path = environment(variable), path.hasPrefix("/") { return path }
        return environment("HOME").map { "\($0)/\(fallback)" }
    }
}

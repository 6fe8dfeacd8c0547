import LuaHost
import Reference

/// Help on Lua's own library, which the catalog of the Lua API does not contain.
enum LuaLibrary {
    struct Entry {
        /// The full name, such as `string.format`.
        let name: String
        /// The name with parameters and results.
        let signature: String
        let summary: String

        /// Parses a comment with a signature, a bar and a summary.
        fileprivate init(_ line: String) {
            let parts = line.dropFirst(3).split(separator: " | ", maxSplits: 1)
            signature = String(parts[0])
            name = String(signature.prefix { $0 != "(" && $0 != " " })
            summary = String(parts[1])
        }

        /// `string` for `string.format`; `basic` for a global function.
        var library: String {
            let parts = name.split { $0 == "." || $0 == ":" }
            return parts.count > 1 ? String(parts[0]) : "basic"
        }
    }

    static let entries = RuntimeFile.lines("library.lua").filter { $0.contains(" | ") }.map(
        Entry.init)

    /// The libraries in the order of the manual.
    static let libraries: [String] = entries.map(\.library).reduce(into: []) { names, name in
        if names.last != name { names.append(name) }
    }

    /// All names that have help, for completion.
    static var names: [String] { libraries + entries.map(\.name) }

    /// Returns the entries that a name refers to: a library, `string.format`, or only `format`.
    static func find(_ text: String) -> [Entry] {
        let library = entries.filter { $0.library == text }
        return library.isEmpty
            ? entries.filter {
                $0.name == text || $0.name.hasSuffix("." + text) || $0.name.hasSuffix(":" + text)
            } : library
    }

    /// Returns the name of a function or table of the library; nil for other values.
    static func name(of value: LuaValue, in globals: LuaTable) -> String? {
        for name in names where !name.contains(":") {
            let found = name.split(separator: ".").reduce(LuaValue.table(globals)) { table, part in
                table.table?[String(part)] ?? .nil
            }
            if found == value { return name }
        }
        return nil
    }
}

extension Session {
    /// Returns help on a function or a library of Lua; nil if the name is unknown.
    func libraryPage(on name: String) -> String? {
        let found = LuaLibrary.find(name)
        guard let first = found.first else { return nil }
        let lines =
            first.library == name
            ? wrap.definitions(found.map { ($0.signature, $0.summary) }) { style.paint($0, .type) }
            : found.flatMap { entry in
                wrap.lines(entry.signature, hanging: "    ").map { style.paint($0, .type) }
                    + wrap.lines(entry.summary, indent: "    ")
            }
        return lines.map { $0 + "\n" }.joined()
    }
}

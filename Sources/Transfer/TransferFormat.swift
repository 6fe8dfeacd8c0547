import ObjectStore

/// A form in which data leaves a store and comes back.
package enum TransferFormat: String, CaseIterable, Sendable {
    /// One JSON object a line.
    case jsonLines = "jsonl"
    /// One JSON text.
    case json
    /// Comma-separated values, one class a file.
    case csv
    /// A database of SQLite, one table a class.
    case sqlite
    /// Source of Lua that holds data only.
    case lua
    /// A database of Realm, which is only read.
    case realm

    /// The format that a file's ending names; JSON Lines for `-`, which is standard input or output.
    ///
    /// Throws `invalid_argument` with the endings that there are.
    package init(path: String) throws {
        guard path != "-" else {
            self = .jsonLines
            return
        }
        let ending = path.split(separator: "/").last?.split(separator: ".").last ?? ""
        switch ending.lowercased() {
        case "jsonl", "ndjson": self = .jsonLines
        case "json": self = .json
        case "csv": self = .csv
        case "sqlite", "sqlite3", "db": self = .sqlite
        case "lua": self = .lua
        case "realm": self = .realm
        default:
            throw StoreError(
                .invalidArgument,
                "the ending of '\(path)' names no format; use .jsonl, .json, .csv, .sqlite, "
                    + ".lua or, to import, .realm, or say the format with --format (in Lua, format = …)"
            )
        }
    }

    /// The format of this name.
    ///
    /// Throws `invalid_argument` with the names that there are.
    package init(name: String) throws {
        guard let format = Self(rawValue: name.lowercased()) else {
            let known = Self.allCases.map(\.rawValue)
            throw StoreError(
                .invalidArgument,
                "unknown format '\(name)'\(NearestName.hint(for: name, among: known)); "
                    + "use \(known.joined(separator: ", "))")
        }
        self = format
    }
}

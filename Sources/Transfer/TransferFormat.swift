import DataFormats
import ObjectStore

/// A format for exports and imports.
package enum TransferFormat: String, CaseIterable, Sendable {
    /// JSON Lines, with one object on each line.
    case jsonLines = "jsonl"
    /// One JSON text.
    case json
    /// The features of a GeoJSON collection; import only.
    case geoJSON = "geojson"
    /// Comma-separated values, with one class per file.
    case csv
    /// Tab-separated values, with one class per file.
    case tsv
    /// A SQLite database with one table per class.
    case sqlite
    /// Lua source that contains only data.
    case lua
    /// A Realm database; import only.
    case realm
    /// A PostgreSQL database with one table per class; the path is its address.
    case postgres

    /// Returns the format for the extension of a path, ignoring `.gz` and `.zst`.
    ///
    /// Returns JSON Lines for `-`, which is standard input or output, and for a pipe without a known extension. Throws `invalid_argument` with the known
    /// extensions.
    package init(path: String) throws {
        guard path != "-" else {
            self = .jsonLines
            return
        }
        guard !PostgresAddress.isAddress(path) else {
            self = .postgres
            return
        }
        var parts = (path.split(separator: "/").last ?? "").split(separator: ".")
        if let last = parts.last?.lowercased(), last == "gz" || last == "zst" { parts.removeLast() }
        switch parts.last?.lowercased() {
        case "jsonl", "ndjson": self = .jsonLines
        case "json": self = .json
        case "geojson": self = .geoJSON
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "sqlite", "sqlite3", "db": self = .sqlite
        case "lua": self = .lua
        case "realm": self = .realm
        case _ where FileReader.isPipe(path): self = .jsonLines
        default:
            throw StoreError(
                .invalidArgument,
                "the extension of '\(path)' is not a known format; use .jsonl, .json, .geojson, .csv, .tsv, "
                    + ".sqlite, .lua or, to import, .realm, or the address postgres://…, or specify it with --format (in Lua, format = …)"
            )
        }
    }

    /// Whether the format is a database, whose errors contain tables instead of lines.
    var isDatabase: Bool { self == .sqlite || self == .realm || self == .postgres }

    /// Creates the format with this name.
    ///
    /// Throws `invalid_argument` with the known names.
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

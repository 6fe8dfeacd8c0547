import DataFormats
import ObjectStore
import RealmFiles
import Transfer

/// A description of a Realm file and its contents, without importing it.
struct RealmReport: RowReport {
    private let file: RealmFile
    /// The size of each class in bytes.
    private let sizes: [Int]
    /// The indexes of the classes of the app; the others are Realm's own tables.
    private let users: Set<Int>
    /// The schema version of the app; nil if the file does not contain one.
    let schemaVersion: UInt64?

    /// Opens and examines a file.
    ///
    /// Throws `file_corrupt` and `invalid_argument`, with a suggested fix.
    init(_ path: String, _ options: RealmOptions) throws {
        (file, schemaVersion) = try RealmErrors.wrapping(path) {
            let file = try RealmFile(
                path, key: options.key.map { try RealmKey($0) }, rescue: options.isRescue)
            return (file, try file.schemaVersion())
        }
        sizes = file.sizes()
        users = Set(file.userClasses.map(\.index))
    }

    /// The file format.
    var format: Int { file.format }
    /// The number of classes of the app.
    var classCount: Int { users.count }
    /// The number of objects of the app's classes.
    var objectCount: Int { file.userClasses.reduce(0) { $0 + $1.count } }

    /// Returns the kind of a class: `object`, `embedded`, `asymmetric`, or `internal` for Realm's own tables.
    private func kind(_ found: RealmClass) -> String {
        users.contains(found.index) ? found.kind.rawValue : "internal"
    }

    /// A description of the kind of history in the file.
    var history: String {
        switch file.history {
        case .none: "none"
        case .beside: "beside the file"
        case .inside: "in the file"
        case .syncClient: "synchronized with a server"
        case .syncServer: "of a server"
        }
    }

    /// Checks all values and counts, and whether links match backlinks.
    ///
    /// Returns a description of each fault.
    func check(progress: (Int) throws -> Void = { _ in }) throws -> [String] {
        try RealmErrors.wrapping(file.path) { try file.check(progress: progress) }
    }

    /// The report as text.
    var text: String {
        var lines = [
            file.path,
            "  format          \(file.format)\(file.isStreaming ? ", a copy" : "")",
            "  encryption      \(file.isEncrypted ? "AES-256" : "none")",
            "  schema version  \(schemaVersion.map(String.init) ?? "none")",
            "  history         \(history)\(file.commit.map { ", commit \($0)" } ?? "")",
            "  file            \(file.fileSize) bytes, \(file.logicalSize) in use or free for reuse",
            "  objects         \(objectCount)",
            "",
        ]
        var rows = [["", "", "objects", "properties", "bytes"]]
        rows += zip(file.classes, sizes).map {
            [$0.name, kind($0), "\($0.count)", "\($0.properties.count)", "\($1)"]
        }
        let widths = (0..<5).map { column in rows.map { $0[column].count }.max() ?? 0 }
        for row in rows {
            let cells = row.indices.map { column in
                let gap = String(repeating: " ", count: widths[column] - row[column].count)
                return column < 2 ? row[column] + gap : gap + row[column]
            }
            lines.append(cells.joined(separator: "  "))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The report as JSON for programs.
    var json: String {
        var json = JSONWriter()
        json.beginObject()
        json.member("realm", file.path)
        json.member("format", file.format)
        json.member("encrypted", file.isEncrypted)
        json.key("schema_version")
        if let schemaVersion { json.int(Int64(clamping: schemaVersion)) } else { json.null() }
        json.member("history", "\(file.history)")
        json.key("commit")
        if let commit = file.commit { json.int(Int64(commit)) } else { json.null() }
        json.member("file_bytes", file.fileSize)
        json.member("objects", objectCount)
        json.key("classes")
        json.beginArray()
        for (found, bytes) in zip(file.classes, sizes) {
            json.beginObject()
            json.member("name", found.name)
            json.member("kind", kind(found))
            json.member("objects", found.count)
            json.member("properties", found.properties.count)
            json.member("bytes", bytes)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.text + "\n"
    }
}

/// Counts values of a Realm file that a store cannot represent exactly.
struct RealmLosses {
    /// The kinds of losses.
    enum Kind: Int, CaseIterable {
        case nanoseconds, distantDates, malformedText, malformedKeys, repeatedKeys, unknownLinks,
            danglingLinks, orphans, sharedParts, requiredValues, equalElements
    }

    private struct Entry {
        var count = 0
        var first = ""
    }

    private var entries = [Entry](repeating: Entry(), count: Kind.allCases.count)

    /// Counts a value; `location` is recorded for the first one.
    mutating func add(_ kind: Kind, count: Int = 1, _ location: @autoclosure () -> String) {
        assert(count > 0, "a loss concerns at least one value")
        if entries[kind.rawValue].count == 0 { entries[kind.rawValue].first = location() }
        entries[kind.rawValue].count += count
    }

    /// One note for each kind that occurred.
    var notes: [String] {
        Kind.allCases.compactMap { kind in
            let entry = entries[kind.rawValue]
            guard entry.count > 0 else { return nil }
            return Self.text(kind, entry.count) + " (first: \(entry.first))"
        }
    }

    private static func text(_ kind: Kind, _ count: Int) -> String {
        func counted(_ one: String, _ many: String) -> String {
            count == 1 ? "1 \(one)" : "\(count) \(many)"
        }
        return switch kind {
        case .nanoseconds:
            counted("date has", "dates have")
                + " fractions of a microsecond; the import truncates them"
        case .distantDates:
            counted("date is", "dates are")
                + " beyond the range of a store; the import stores its first or last date"
        case .malformedText:
            counted("text is", "texts are") + " not UTF-8; invalid bytes become U+FFFD"
        case .malformedKeys:
            counted("dictionary entry has", "dictionary entries have")
                + " no key; the import omits them"
        case .repeatedKeys:
            counted("dictionary key occurs", "dictionary keys occur")
                + " twice; the last value counts"
        case .unknownLinks:
            counted("mixed value links", "mixed values link")
                + " to a class that is not imported; the import stores nil"
        case .danglingLinks:
            counted("link leads", "links lead")
                + " to an object that does not exist; the import stores nil, or omits the element"
        case .orphans:
            counted("embedded object has", "embedded objects have")
                + " no parent; the import omits them"
        case .sharedParts:
            counted("embedded object has", "embedded objects have")
                + " several parents; each gets a copy"
        case .equalElements:
            counted("set element is", "set elements are")
                + " equal to another element in Moonpool; the import omits equal elements"
        case .requiredValues:
            counted("value is", "values are")
                + " nil, which the schema does not allow; the import stores zero or an empty value"
        }
    }
}

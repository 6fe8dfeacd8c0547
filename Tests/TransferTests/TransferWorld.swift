import DataFormats
import Glibc
import ObjectStore
import TestThreads
import Testing
import Transfer

/// An in-memory store and a folder for files, for one test.
final class TransferWorld {
    let store: Store
    private let temporary: TemporaryFolder
    var folder: String { temporary.path }

    init(_ classes: [String: [String: String]]? = nil) throws {
        temporary = try TemporaryFolder()
        let name = "transfer-\(UUIDValue.random())"
        store = try Store(
            StoreConfiguration(.memory(name), schema: try classes.map(Self.schema)),
            scheduler: StillScheduler())
    }

    private static func schema(_ classes: [String: [String: String]]) throws -> [ClassSchema] {
        try classes.sorted { $0.key < $1.key }.map { name, properties in
            ClassSchema(
                name,
                try properties.sorted { $0.key < $1.key }.map {
                    try PropertySyntax.parse(name: $0.key, in: name, $0.value)
                })
        }
    }

    func path(_ name: String) -> String { temporary.file(name) }

    func write(_ text: String, to name: String) throws -> String {
        let file = try FileWriter(path(name))
        try file.write(text)
        try file.finish()
        return path(name)
    }

    func text(of name: String) throws -> String {
        let file = try FileReader(path(name))
        var bytes: [UInt8] = []
        while true {
            let more = try file.read()
            if more.isEmpty { break }
            bytes += more
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the stored bytes of a file, which is not decompressed.
    func bytes(of name: String) throws -> [UInt8] {
        let file = open(path(name), O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(file, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    @discardableResult
    func take(
        _ text: String, as name: String, _ options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        let path = try write(text, to: name)
        return try Importer(into: store, options).read(path, as: try TransferFormat(path: path))
    }

    /// Creates a database from SQL statements.
    func database(_ statements: String, _ name: String = "in.sqlite") throws -> String {
        let database = try SQLiteDatabase(writing: path(name))
        try database.run(statements)
        try database.finish()
        return path(name)
    }

    /// Returns the rows of a query of a database, with `|` between the columns.
    func query(_ text: String, _ name: String) throws -> [String] {
        let database = try SQLiteDatabase(reading: path(name))
        let rows = try database.prepare(text)
        var lines: [String] = []
        while try rows.step() {
            lines.append(
                (0..<rows.columnCount).map { column in
                    rows.kind(column) == .null ? "NULL" : rows.text(column) ?? "?"
                }.joined(separator: "|"))
        }
        return lines
    }

    /// The properties of a class in a short form.
    func types(_ className: String) throws -> [String] {
        let classSchema = try store.view.schema.require(className)
        return classSchema.properties.map { "\($0.name) \(PropertySyntax.text(of: $0))" }
    }

    /// The values of a property in all objects of a class.
    func values(_ className: String, _ property: String) throws -> [Value] {
        let results = try store.objects(className)
        return try (0..<results.count()).map { try results.object(at: $0).value(property) }
    }
}

extension ImportOptions {
    /// Creates options for rows of one class; nil if the rows name their classes.
    init(class name: String?) {
        self.init()
        className = name
    }
}

extension ExportOptions {
    /// Returns options with an encoding of dates.
    static func dates(_ dates: SQLiteDates) -> ExportOptions {
        var options = ExportOptions()
        options.dates = dates
        return options
    }
}

/// A thread without a loop, which is never woken.
struct StillScheduler: Scheduler, @unchecked Sendable {
    // Unchecked because a thread's handle is only compared.
    private let owner = pthread_self()

    struct Never: Wakeup {
        func wake() {}
        func cancel() {}
    }

    var isOnThread: Bool { pthread_equal(owner, pthread_self()) != 0 }
    var canDeliver: Bool { false }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Never() }
}

/// Returns the error that a body throws, as text.
func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "nothing was wrong"
    } catch let error as StoreError {
        return error.message
    } catch {
        return "\(error)"
    }
}

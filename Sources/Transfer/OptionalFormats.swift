import ObjectStore
import Synchronization

/// A part of the program that a trait of the package includes.
///
/// The module of the part registers it when the program starts, or never. Nothing else depends on which parts exist.
package final class OptionalPart<Part: Sendable>: Sendable {
    private let name: String
    private let traitName: String
    private let registered = Mutex<Part?>(nil)

    package init(_ name: String, trait: String) {
        self.name = name
        traitName = trait
    }

    /// Adds the part to the program.
    package func register(_ part: Part) { registered.withLock { $0 = part } }

    /// Whether the program has the part.
    package var isAvailable: Bool { registered.withLock { $0 != nil } }

    /// Returns the part.
    ///
    /// Throws `unsupported` with the trait to build with.
    package func required() throws -> Part {
        if let part = registered.withLock({ $0 }) { return part }
        throw StoreError(
            .unsupported,
            "this program was built without \(name); build it with the trait '\(traitName)' of the package moonpool"
        )
    }
}

/// A source of rows whose format is an optional part of the program.
package protocol RowFormat: Sendable {
    /// Opens a file or database for an import.
    func source(_ path: String, _ options: ImportOptions) throws -> any RowSource
}

/// A format whose files are also examined without importing them.
package protocol ReportingFormat: RowFormat {
    /// Examines a file.
    ///
    /// Throws `file_corrupt` and `invalid_argument`, with a suggested fix.
    func report(_ path: String, _ options: RealmOptions) throws -> any RowReport
}

extension ReportingFormat {
    /// Returns the classes that an import would create.
    package func classes(_ path: String, _ options: RealmOptions) throws -> [ClassSchema] {
        var importOptions = ImportOptions()
        importOptions.realm = options
        return try source(path, importOptions).classes(besides: .empty).classes
    }
}

/// A format that is also the target of exports.
package protocol WritableFormat: RowFormat {
    /// Opens a database that receives an export.
    func target(_ path: String, _ options: PostgresOptions) throws -> any RelationalTarget
}

/// The optional formats.
package enum RowFormats {
    package static let realm = OptionalPart<any ReportingFormat>(
        "Realm files", trait: "RealmFiles")
    package static let postgres = OptionalPart<any WritableFormat>(
        "PostgreSQL", trait: "PostgreSQL")
}

/// A description of a file and its contents.
package protocol RowReport {
    /// The version of the file format.
    var format: Int { get }
    /// The number of classes of the app.
    var classCount: Int { get }
    /// The number of objects of the app's classes.
    var objectCount: Int { get }
    /// The report as text.
    var text: String { get }
    /// The report as JSON for programs.
    var json: String { get }
    /// Checks all values and counts, and whether links match backlinks.
    ///
    /// Returns a description of each fault.
    func check(progress: (Int) throws -> Void) throws -> [String]
}

/// The options for reading a Realm file.
package struct RealmOptions: Sendable {
    /// The key of an encrypted file: 128 hexadecimal digits, Base64, or `@` and the path of a file with the key.
    package var key: String?
    /// Whether to read a damaged file as far as possible.
    ///
    /// The report lists the missing parts.
    package var isRescue = false
    /// Whether UUIDs have the format of .NET until 2022, with the first three parts in reverse byte order.
    package var hasDotNetGUIDs = false

    /// Creates options; the default is an intact file without encryption.
    package init(key: String? = nil, isRescue: Bool = false, hasDotNetGUIDs: Bool = false) {
        self.key = key
        self.isRescue = isRescue
        self.hasDotNetGUIDs = hasDotNetGUIDs
    }
}

/// The options for exchanging data with a PostgreSQL database.
package struct PostgresOptions: Sendable, Equatable {
    /// The treatment of existing tables when classes are exported.
    package enum ExistingTables: Sendable {
        /// Throws an error if a table exists.
        case refuse
        /// Drops existing tables.
        case replace
        /// Updates rows whose key exists, and inserts the other rows.
        case upsert
        /// Empties existing tables, or drops them if the classes have changed since they were exported.
        case refill
    }

    /// The schema of the database with the tables; nil for `public`.
    package var schema: String?
    /// The name of the schema.
    package var schemaName: String { schema ?? "public" }
    /// The treatment of existing tables in an export.
    package var existingTables = ExistingTables.refuse
    /// The columns that identify objects in an import, by table; an empty table name applies to every table.
    package var keys: [String: String] = [:]

    /// Creates options for the schema `public`; an export throws an error if a table exists.
    package init() {}
}

/// Functions for the addresses of databases.
package enum PostgresAddress {
    /// Returns whether a text is the address of a PostgreSQL database.
    package static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// Returns the address without its password and parameters, for messages.
    package static func display(_ address: String) -> String {
        guard isAddress(address) else { return "the database" }
        let scheme = address.prefix { $0 != ":" } + "://"
        let rest = address.dropFirst(scheme.count).prefix { $0 != "?" }
        guard let at = rest.lastIndex(of: "@") else { return "\(scheme)\(rest)" }
        return "\(scheme)\(rest[..<at].prefix { $0 != ":" })\(rest[at...])"
    }
}

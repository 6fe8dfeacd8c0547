import ObjectStore

/// How a file is taken into a store.
public struct ImportOptions: Sendable {
    /// The class of all rows; nil where the file says it.
    public var className: String?
    /// Whether rows whose primary key exists update that object, instead of being an error.
    public var isUpsert = false
    /// Properties by the names that the file has for them; an empty name leaves a column of the file out.
    public var names: [String: String] = [:]
    /// Where bad rows go, as JSON Lines with line, reason and row; nil makes the first one end the import.
    public var rejects: String?
    /// How many rows are committed at a time; nil is all or nothing.
    public var batch: Int?
    /// Whether everything is rolled back at the end: to see what would happen.
    public var isDryRun = false

    /// All or nothing, into the classes that the file names.
    public init() {}
}

/// What an import did.
public struct ImportReport: Sendable, Equatable {
    /// Objects that were created.
    public var created = 0
    /// Objects that were updated.
    public var updated = 0
    /// Rows that were left out, with the first reasons.
    public var rejected = 0
    /// Line and reason of the first rows, and links, that were left out, at most ten.
    public var reasons: [String] = []
    /// Classes that the import created, with the types found for their properties.
    public var newClasses: [String] = []
}

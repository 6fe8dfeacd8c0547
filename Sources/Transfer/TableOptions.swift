import DataFormats
import ObjectStore

extension ImportOptions {
    /// Returns the class name for a table of a database; nil for a table that is omitted.
    func className(ofTable table: String, usually name: String) -> String? {
        if let given = classNames[table] { return given.isEmpty ? nil : given }
        let isWanted = tables.isEmpty || tables.contains(table) || tables.contains(name)
        return isWanted ? name : nil
    }

    /// Returns the names by which the options can map the columns of a table.
    static func fields(_ table: String, _ columns: [String]) -> [String] {
        columns.flatMap { [$0, "\(table).\($0)"] }
    }

    /// Throws `invalid_argument` if a table that the options name does not exist, or if no table is imported.
    ///
    /// `existing` are the names of all tables, `classNames` are the classes of the imported ones.
    func checkTables(
        _ existing: [String], importing classNames: [String], from database: String
    ) throws {
        let wanted = tables.filter { !classNames.contains($0) } + self.classNames.keys
        for name in wanted where !existing.contains(name) {
            throw StoreError(
                .invalidArgument,
                "there is no table '\(name)'\(NearestName.hint(for: name, among: existing))")
        }
        guard classNames.isEmpty else { return }
        throw StoreError(.invalidArgument, "\(database) has no table to import")
    }

    /// Returns the positions of the collections that have tables of their own: an updated object must not keep elements
    /// that are not in these tables.
    func collectionsToEmpty(
        _ collections: [Property], of table: String, in classSchema: ClassSchema
    ) -> [Int] {
        guard isUpsert else { return [] }
        return collections.filter { !$0.isMap }.compactMap {
            classSchema.position(of: property(of: $0.name, in: table) ?? $0.name)
        }
    }
}

extension Importer {
    /// Returns the fields of the class of a table.
    ///
    /// Throws ``FormatError`` for an embedded class.
    func fields(ofTableClass className: String) throws -> FieldTable {
        let fields = try fields(of: className)
        guard !fields.classSchema.isEmbedded else {
            throw FormatError("'\(className)' is embedded: its objects are part of their owners")
        }
        return fields
    }
}

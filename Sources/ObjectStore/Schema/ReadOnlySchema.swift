import ColumnStorage

/// The schema that a read-only store shows: that of its file, with what only its program declares and an empty file
/// would have as well.
///
/// A class that the file does not have has no objects. Backlinks are found through the links of the file.
enum ReadOnlySchema {
    /// Throws `migration_needed` if the file cannot be read with the classes that a program declares, and
    /// `version_too_low` or `migration_needed` for another schema version.
    ///
    /// A file may have more classes and properties, other indexes, defaults and another order of properties. Classes that it
    /// does not have are empty.
    static func check(_ current: Schema, _ wanted: [ClassSchema], version: UInt64) throws {
        guard version >= current.version else {
            throw StoreError(
                .versionTooLow,
                "the file has schema version \(current.version); version \(version) was requested; "
                    + "a file's version cannot go down")
        }
        guard version == current.version else {
            throw StoreError(
                .migrationNeeded,
                "the file has schema version \(current.version); version \(version) was requested, and a read-only "
                    + "store cannot be migrated")
        }
        let change = try SchemaChange(
            from: current, to: wanted, version: version, allowing: .newVersion)
        let refused = change.differences.filter { !$0.isReadable }
        guard refused.isEmpty else {
            let list = refused.map { "- \($0)" }.joined(separator: "\n")
            throw StoreError(
                .migrationNeeded,
                "the schema needs a migration, and a read-only store cannot be migrated:\n\(list)")
        }
    }

    /// Adds the classes and backlinks that only a program declares to the schema of a file.
    static func schema(_ current: Schema, with wanted: [ClassSchema]) -> Schema {
        let missing = wanted.filter { current.find($0.name) == nil }
        let classes = current.classes.map { stored in
            guard let declared = wanted.first(where: { $0.name == stored.name }) else {
                return stored
            }
            let backlinks = declared.properties.filter {
                $0.isBacklinks && stored.property(named: $0.name) == nil
            }
            if backlinks.isEmpty { return stored }
            return ClassSchema(
                stored.name, stored.properties + backlinks, table: stored.table,
                columnCount: stored.columnCount, isEmbedded: stored.isEmbedded,
                indexes: stored.indexes)
        }
        // These numbers of tables are out of the reach of the classes that others will add to the file.
        let firstTable = TableID.limit - 2 - UInt32(missing.count)
        let known = Schema(
            classes: classes, version: current.version,
            nextTable: missing.isEmpty ? current.nextTable : max(current.nextTable, firstTable))
        if missing.isEmpty { return known }
        // because: without numbers left, the classes are unknown, as before.
        let planned = try? SchemaChange(
            from: known, to: missing, version: current.version, allowing: .newVersion)
        return planned?.schema ?? known
    }
}

extension SchemaDifference {
    /// Whether objects can be read as declared, although the file differs.
    fileprivate var isReadable: Bool {
        switch self {
        case .classAdded, .classRemoved, .propertyRemoved, .indexAdded, .indexRemoved,
            .compositeIndexAdded, .compositeIndexRemoved, .fullTextAdded, .fullTextRemoved,
            .defaultChanged, .orderChanged:
            true
        default: false
        }
    }
}

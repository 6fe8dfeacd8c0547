import ColumnStorage

/// The schema of a read-only store: that of its file, with the classes and backlinks that only the program declares.
///
/// A class that the file does not have has no objects. Backlinks are computed from the links in the file.
enum ReadOnlySchema {
    /// Throws if the file cannot be read with the classes that a program declares.
    ///
    /// The codes are `migration_needed`, and `version_too_low` or `migration_needed` for another schema version. A file
    /// may have more classes and properties, other indexes, defaults and another order of properties. Classes that the
    /// file does not have are empty.
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

    /// Returns the schema of a file with the classes and backlinks that only a program declares.
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
        // These table numbers are so high that classes added to the file later do not use them.
        let firstTable = TableID.limit - 2 - UInt32(missing.count)
        let known = Schema(
            classes: classes, version: current.version,
            nextTable: missing.isEmpty ? current.nextTable : max(current.nextTable, firstTable))
        if missing.isEmpty { return known }
        // because: without free numbers, the additional classes remain unknown.
        let planned = try? SchemaChange(
            from: known, to: missing, version: current.version, allowing: .newVersion)
        return planned?.schema ?? known
    }
}

import ColumnStorage

/// The number of objects in a store, and the space that its parts use.
///
/// Byte counts include stored keys and values only. Pages are partly filled, so the file is larger than the sum.
package struct StoreStatistics: Sendable, Hashable {
    /// The statistics of one property.
    package struct PropertyStatistics: Sendable, Hashable {
        /// The name of the property.
        package let name: String
        /// The type of the property in the syntax of schemas.
        package let typeName: String
        /// The bytes of the values, of collection elements and of the indexes.
        package let usage: ColumnUsage
    }

    /// The statistics of an index over several properties.
    package struct IndexStatistics: Sendable, Hashable {
        /// The properties of the index, the most significant first.
        package let properties: [String]
        /// The bytes of the index.
        package let bytes: Int
    }

    /// The statistics of one class.
    package struct ClassStatistics: Sendable, Hashable {
        /// The name of the class.
        package let name: String
        /// Whether each object of the class belongs to a parent.
        package let isEmbedded: Bool
        /// The number of objects.
        package let objects: Int
        /// The stored properties, in schema order.
        package let properties: [PropertyStatistics]
        /// The indexes over several properties.
        package let indexes: [IndexStatistics]
        /// The bytes of the newest objects in the tail, which are not yet packed into columns.
        package let waitingBytes: Int
        /// All bytes of the class: values, indexes, the set of existing rows, and the remains of removed properties.
        package let bytes: Int

        /// The bytes of all indexes, including link indexes and full-text indexes.
        package var indexBytes: Int {
            properties.reduce(0) { $0 + $1.usage.index + $1.usage.fullText }
                + indexes.reduce(0) { $0 + $1.bytes }
        }
    }

    /// The described version.
    package let version: UInt64
    /// The schema version.
    package let schemaVersion: UInt64
    /// The classes in the order of their names.
    package let classes: [ClassStatistics]
    /// The versions in the change history; nil if it is empty.
    package let historyVersions: ClosedRange<UInt64>?
    /// The bytes of the change history.
    package let historyBytes: Int
    /// The size of the file.
    package let fileBytes: Int
    /// The bytes of the file that the newest version uses, in whole pages.
    package let usedBytes: Int
    /// The size of a page in bytes.
    package let pageBytes: Int
    /// The number of free pages, which later writes reuse and `compact` removes.
    package let freePages: Int
    /// The holders of old versions, whose pages cannot be reused.
    package let pins: [VersionPin]

    /// The number of objects in all classes.
    package var objects: Int { classes.reduce(0) { $0 + $1.objects } }
}

extension Store {
    /// Returns the statistics of the store.
    ///
    /// The statistics describe the store's version or, inside a write transaction, the version before. Only the sizes
    /// of stored blocks are read, not their contents, so this takes milliseconds for a million objects.
    ///
    /// Throws `closed`, `wrong_thread`, and `file_corrupt` if pages cannot be read.
    package func statistics() throws -> StoreStatistics {
        let pins = try pins()
        let usage = try StoreError.wrapping(view.snapshot.usage())
        let tables = Dictionary(usage.tables.map { ($0.id, $0) }, uniquingKeysWith: { a, _ in a })
        return StoreStatistics(
            version: version, schemaVersion: schema.version,
            classes: schema.classes.map { classSchema in
                Self.statistics(
                    of: classSchema, tables[classSchema.table] ?? TableUsage(id: classSchema.table))
            },
            historyVersions: usage.historyVersions, historyBytes: usage.history,
            fileBytes: usage.fileSize, usedBytes: usage.usedSize, pageBytes: usage.pageSize,
            freePages: usage.freePages, pins: pins)
    }

    private static func statistics(
        of classSchema: ClassSchema, _ table: TableUsage
    ) -> StoreStatistics.ClassStatistics {
        let stored = classSchema.properties.filter { !$0.isBacklinks }
        return StoreStatistics.ClassStatistics(
            name: classSchema.name, isEmbedded: classSchema.isEmbedded, objects: table.rows,
            properties: stored.map { property in
                let column = property.column.rawValue
                let usage =
                    table.columns.indices.contains(column) ? table.columns[column] : ColumnUsage()
                return StoreStatistics.PropertyStatistics(
                    name: property.name, typeName: property.typeName, usage: usage)
            },
            indexes: zip(classSchema.indexes, table.compositeIndexes).map {
                StoreStatistics.IndexStatistics(properties: $0.properties, bytes: $1)
            },
            waitingBytes: table.waitingRows, bytes: table.total)
    }
}

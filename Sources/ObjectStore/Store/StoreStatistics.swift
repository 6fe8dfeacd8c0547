import ColumnStorage

/// The number of a store's objects, and the space that its parts take.
///
/// Bytes are those of stored keys and values. Pages are filled to some part only, so the file is larger than their sum.
package struct StoreStatistics: Sendable, Hashable {
    /// One property.
    package struct PropertyStatistics: Sendable, Hashable {
        /// Its name.
        package let name: String
        /// Its type as a schema spells it.
        package let typeName: String
        /// The bytes of its values, of its elements and of its indexes.
        package let usage: ColumnUsage
    }

    /// An index over several properties.
    package struct IndexStatistics: Sendable, Hashable {
        /// The properties, the most significant first.
        package let properties: [String]
        /// Its bytes.
        package let bytes: Int
    }

    /// One class.
    package struct ClassStatistics: Sendable, Hashable {
        /// Its name.
        package let name: String
        /// Whether its objects belong to a parent each.
        package let isEmbedded: Bool
        /// How many objects there are.
        package let objects: Int
        /// The properties that are stored, in schema order.
        package let properties: [PropertyStatistics]
        /// The indexes over several properties.
        package let indexes: [IndexStatistics]
        /// The bytes of the newest objects, which wait to be packed into columns.
        package let waitingBytes: Int
        /// All bytes of the class: values, indexes, which rows exist, what removed properties have left.
        package let bytes: Int

        /// The bytes of all indexes, those of links backwards and of full text included.
        package var indexBytes: Int {
            properties.reduce(0) { $0 + $1.usage.index + $1.usage.fullText }
                + indexes.reduce(0) { $0 + $1.bytes }
        }
    }

    /// The version that is described.
    package let version: UInt64
    /// The number that migrations count.
    package let schemaVersion: UInt64
    /// The classes in the order of their names.
    package let classes: [ClassStatistics]
    /// The versions whose changes the file still knows; nil where there is none.
    package let historyVersions: ClosedRange<UInt64>?
    /// The bytes of those changes.
    package let historyBytes: Int
    /// The size of the file.
    package let fileBytes: Int
    /// The part of it that the newest version uses, in whole pages.
    package let usedBytes: Int
    /// The bytes of a page.
    package let pageBytes: Int
    /// The pages that nothing uses; the next writes take them, and `compact` gives them back to the disk.
    package let freePages: Int
    /// The holders of old versions, and with them of pages that cannot be reused.
    package let pins: [VersionPin]

    /// The objects of all classes.
    package var objects: Int { classes.reduce(0) { $0 + $1.objects } }
}

extension Store {
    /// The store in numbers.
    ///
    /// Of the version that the store shows; inside a write transaction of the one before. Looks at the size of every
    /// stored piece but not into it: milliseconds for a million objects.
    ///
    /// Throws `closed`, `wrong_thread`, and `file_corrupt` where pages cannot be read.
    package func statistics() throws -> StoreStatistics {
        let pins = try pins()
        let usage = try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.usage()
        }
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

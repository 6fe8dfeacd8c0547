/// The space of one column in the file, in bytes of keys and values, without the pages around them.
package struct ColumnUsage: Hashable, Sendable {
    /// The packed leaves; of a collection the number of its elements for each row.
    package var values = 0
    /// Values that are too long for a leaf.
    package var longValues = 0
    /// The elements of lists, sets and maps, and the keys of maps.
    package var elements = 0
    /// The index of the values, or of the links backwards.
    package var index = 0
    /// The full-text index.
    package var fullText = 0

    /// Nothing yet.
    package init() {}

    /// All of it.
    package var total: Int { values + longValues + elements + index + fullText }
}

/// The space of one table in the file, in bytes of keys and values.
package struct TableUsage: Hashable, Sendable {
    /// The table.
    package let id: TableID
    /// The rows that are present.
    package var rows = 0
    /// Which rows are present.
    package var presence = 0
    /// The newest rows, which wait to be packed into columns.
    package var waitingRows = 0
    /// By column.
    package var columns: [ColumnUsage] = []
    /// The indexes over several columns, in the order of the definition.
    package var compositeIndexes: [Int] = []

    /// Nothing yet.
    package init(id: TableID) { self.id = id }

    /// All of it.
    package var total: Int {
        presence + waitingRows + columns.reduce(0) { $0 + $1.total }
            + compositeIndexes.reduce(0, +)
    }
}

/// The parts of a version of a file.
package struct FileUsage: Hashable, Sendable {
    /// The tables that the snapshot knows, by number.
    package var tables: [TableUsage] = []
    /// The change sets of the versions that are kept, in bytes.
    package var history = 0
    /// The versions whose change sets are kept; nil where there is none.
    package var historyVersions: ClosedRange<UInt64>?
    /// The bytes of the file.
    package var fileSize = 0
    /// The bytes in pages that the newest version uses.
    package var usedSize = 0
    /// The bytes of a page.
    package var pageSize = 0

    /// Pages that nothing uses any more and the next writes can take.
    package var freePages: Int { pageSize > 0 ? max(0, fileSize - usedSize) / pageSize : 0 }
}

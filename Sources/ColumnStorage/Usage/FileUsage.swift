/// The space of one column in the file, in bytes of keys and values, without the overhead of pages.
package struct ColumnUsage: Hashable, Sendable {
    /// The packed leaves; for a collection, the number of elements of each row.
    package var values = 0
    /// The values that are too long for a leaf.
    package var longValues = 0
    /// The elements of lists, sets and maps, and the keys of maps.
    package var elements = 0
    /// The index of the values or, for links, of the backlinks.
    package var index = 0
    /// The full-text index.
    package var fullText = 0

    /// Creates a usage of zero bytes.
    package init() {}

    /// The sum of all parts.
    package var total: Int { values + longValues + elements + index + fullText }
}

/// The space of one table in the file, in bytes of keys and values.
package struct TableUsage: Hashable, Sendable {
    /// The table.
    package let id: TableID
    /// The number of existing rows.
    package var rows = 0
    /// The bitmaps of existing rows.
    package var presence = 0
    /// The newest rows in the tail, which are not packed into columns yet.
    package var waitingRows = 0
    /// The usage of each column.
    package var columns: [ColumnUsage] = []
    /// The indexes over several columns, in the order of the definition.
    package var compositeIndexes: [Int] = []

    /// Creates a usage of zero bytes.
    package init(id: TableID) { self.id = id }

    /// The sum of all parts.
    package var total: Int {
        presence + waitingRows + columns.reduce(0) { $0 + $1.total }
            + compositeIndexes.reduce(0, +)
    }
}

/// The space that the parts of a file's version take.
package struct FileUsage: Hashable, Sendable {
    /// The tables that the snapshot knows, ordered by number.
    package var tables: [TableUsage] = []
    /// The size of the kept change sets, in bytes.
    package var history = 0
    /// The versions whose change sets are kept; nil if there are none.
    package var historyVersions: ClosedRange<UInt64>?
    /// The size of the file in bytes.
    package var fileSize = 0
    /// The size in bytes of the pages that the newest version uses.
    package var usedSize = 0
    /// The size of a page in bytes.
    package var pageSize = 0

    /// The number of free pages, which the next writes can use.
    package var freePages: Int { pageSize > 0 ? max(0, fileSize - usedSize) / pageSize : 0 }
}

/// What one column takes in the file, in bytes of keys and values; the pages around them are not counted.
public struct ColumnUsage: Hashable, Sendable {
    /// The packed leaves; of a collection the number of its elements for each row.
    public var values = 0
    /// Values that are too long for a leaf.
    public var longValues = 0
    /// The elements of lists, sets and maps, and the keys of maps.
    public var elements = 0
    /// The index of the values, or of the links backwards.
    public var index = 0
    /// The full-text index.
    public var fullText = 0

    /// Nothing yet.
    public init() {}

    /// All of it.
    public var total: Int { values + longValues + elements + index + fullText }
}

/// What one table takes in the file, in bytes of keys and values.
public struct TableUsage: Hashable, Sendable {
    /// The table.
    public let id: TableID
    /// The rows that are present.
    public var rows = 0
    /// Which rows are present.
    public var presence = 0
    /// The newest rows, which wait to be packed into columns.
    public var waitingRows = 0
    /// By column.
    public var columns: [ColumnUsage] = []
    /// The indexes over several columns, in the order of the definition.
    public var compositeIndexes: [Int] = []

    /// Nothing yet.
    public init(id: TableID) { self.id = id }

    /// All of it.
    public var total: Int {
        presence + waitingRows + columns.reduce(0) { $0 + $1.total }
            + compositeIndexes.reduce(0, +)
    }
}

/// What a version of a file consists of.
public struct FileUsage: Hashable, Sendable {
    /// The tables that the snapshot knows, by number.
    public var tables: [TableUsage] = []
    /// The change sets of the versions that are kept, in bytes.
    public var history = 0
    /// The versions whose change sets are kept; nil where there is none.
    public var historyVersions: ClosedRange<UInt64>?
    /// The bytes of the file.
    public var fileSize = 0
    /// The bytes in pages that the newest version uses.
    public var usedSize = 0
    /// The bytes of a page.
    public var pageSize = 0

    /// Pages that nothing uses any more and the next writes can take.
    public var freePages: Int { pageSize > 0 ? max(0, fileSize - usedSize) / pageSize : 0 }
}

/// What a column holds.
///
/// Dates are `int` (microseconds). A `list` column holds the number of elements of a list, a set or a
/// map; see ``ColumnDefinition/collection``.
public enum ColumnKind: UInt8, Sendable, Hashable, CaseIterable {
    case bool = 1
    case int
    case float
    case double
    case string
    case data
    case bytes12
    case bytes16
    case link
    case list
}

/// What kind of collection a property holds.
public enum CollectionKind: UInt8, Sendable, Hashable, CaseIterable {
    /// Elements in the order that they were given.
    case list = 1
    /// Elements ordered by value, each once.
    case set
    /// Elements under keys, in byte order of the keys.
    case map
}

/// Which index a column has.
///
/// Links and collections of links always have theirs.
public enum IndexKind: UInt8, Sendable, Hashable {
    case none
    case ordered
    case unique
}

/// How two values are compared.
public enum Comparison: UInt8, Sendable, Hashable, CaseIterable {
    case equal
    case notEqual
    case less
    case lessOrEqual
    case greater
    case greaterOrEqual
}

/// One column of a table.
public struct ColumnDefinition: Hashable, Sendable {
    /// Its place in the table.
    public var id: ColumnID
    /// What it holds.
    public var kind: ColumnKind
    /// Whether it can be null.
    ///
    /// Links always can, and collections never.
    public var isOptional: Bool
    /// Which index it has.
    public var index: IndexKind
    /// Whether the terms of its strings are in a full-text index.
    public var isFullText: Bool
    /// Which collection a column of kind `list` holds; nil for all other kinds.
    public var collection: CollectionKind?
    /// What a collection's elements are.
    public var elementKind: ColumnKind?
    /// Whether a collection's elements can be null.
    public var elementIsOptional: Bool
    /// The table that a link, or a collection of links, points to.
    public var target: TableID?
    /// Whether the data, or the elements of the list, are mixed values: bytes as of ``MixedTag``, whose links are kept
    /// in an index.
    public var isMixed: Bool
    /// A hole: the column existed once.
    public var isDropped: Bool

    /// Describes a column.
    public init(
        id: ColumnID, kind: ColumnKind, isOptional: Bool = false, index: IndexKind = .none,
        collection: CollectionKind? = nil, elementKind: ColumnKind? = nil,
        elementIsOptional: Bool = false, target: TableID? = nil, isMixed: Bool = false,
        isDropped: Bool = false, isFullText: Bool = false
    ) {
        self.id = id
        self.kind = kind
        self.isOptional = isOptional
        self.index = index
        self.collection = collection ?? (kind == .list ? .list : nil)
        self.elementKind = elementKind
        self.elementIsOptional = elementIsOptional
        self.target = target
        self.isMixed = isMixed
        self.isDropped = isDropped
        self.isFullText = isFullText
    }
}

/// A table as storage knows it.
///
/// Names belong to the layer above.
public struct TableDefinition: Hashable, Sendable {
    /// Its number.
    public var id: TableID
    /// Its columns; `columns[i].id == ColumnID(i)`.
    public var columns: [ColumnDefinition]
    /// Its indexes over several columns.
    public var compositeIndexes: [CompositeIndexDefinition]

    /// Describes a table.
    public init(
        id: TableID, columns: [ColumnDefinition], compositeIndexes: [CompositeIndexDefinition] = []
    ) {
        self.id = id
        self.columns = columns
        self.compositeIndexes = compositeIndexes
    }
}

/// An ordered index over several columns, none of them a list.
public struct CompositeIndexDefinition: Hashable, Sendable {
    /// Its number in the table, below ``ColumnID/limit``.
    public var id: Int
    /// The columns, the most significant first.
    public var columns: [ColumnID]

    /// Describes an index.
    public init(id: Int, columns: [ColumnID]) {
        self.id = id
        self.columns = columns
    }
}

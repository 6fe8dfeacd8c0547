/// The type of a column's values.
///
/// Dates are `int` (microseconds). A `list` column holds the number of elements of a list, a set or a
/// map; see ``ColumnDefinition/collection``.
@usableFromInline
package enum ColumnKind: UInt8, Sendable, Hashable, CaseIterable {
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

/// The kind of collection that a property holds.
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
package enum IndexKind: UInt8, Sendable, Hashable {
    case none
    case ordered
    case unique
}

/// How two values are compared.
package enum Comparison: UInt8, Sendable, Hashable, CaseIterable {
    case equal
    case notEqual
    case less
    case lessOrEqual
    case greater
    case greaterOrEqual
}

/// One column of a table.
package struct ColumnDefinition: Hashable, Sendable {
    /// Its place in the table.
    package var id: ColumnID
    /// The type of the values.
    package var kind: ColumnKind
    /// Whether it can be null.
    ///
    /// Links always can, and collections never.
    package var isOptional: Bool
    /// Which index it has.
    package var index: IndexKind
    /// Whether the terms of its strings are in a full-text index.
    package var isFullText: Bool
    /// Which collection a column of kind `list` holds; nil for all other kinds.
    package var collection: CollectionKind?
    /// The type of a collection's elements.
    package var elementKind: ColumnKind?
    /// Whether a collection's elements can be null.
    package var elementIsOptional: Bool
    /// The table that a link, or a collection of links, points to.
    package var target: TableID?
    /// Whether the data, or the elements of the list, are mixed values: bytes as of ``MixedTag``, whose links are kept
    /// in an index.
    package var isMixed: Bool
    /// A hole: the column existed once.
    package var isDropped: Bool

    /// Describes a column.
    package init(
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
package struct TableDefinition: Hashable, Sendable {
    /// Its number.
    package var id: TableID
    /// Its columns; `columns[i].id == ColumnID(i)`.
    package var columns: [ColumnDefinition]
    /// Its indexes over several columns.
    package var compositeIndexes: [CompositeIndexDefinition]

    /// Describes a table.
    package init(
        id: TableID, columns: [ColumnDefinition], compositeIndexes: [CompositeIndexDefinition] = []
    ) {
        self.id = id
        self.columns = columns
        self.compositeIndexes = compositeIndexes
    }
}

/// An ordered index over several columns, none of them a list.
package struct CompositeIndexDefinition: Hashable, Sendable {
    /// Its number in the table, below ``ColumnID/limit``.
    package var id: Int
    /// The columns, the most significant first.
    package var columns: [ColumnID]

    /// Describes an index.
    package init(id: Int, columns: [ColumnID]) {
        self.id = id
        self.columns = columns
    }
}

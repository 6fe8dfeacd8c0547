import LMDBStorage

/// The type of a column's values.
///
/// Dates are `int` (microseconds). A `list` column contains the number of elements of a list, a set or a map; see
/// ``ColumnDefinition/collection``.
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

/// The kind of collection in a property.
public enum CollectionKind: UInt8, Sendable, Hashable, CaseIterable {
    /// Elements in the order in which they were added.
    case list = 1
    /// Elements ordered by value, without duplicates.
    case set
    /// Values with keys, in byte order of the keys.
    case map
}

/// The kind of index of a column.
///
/// Links and collections of links always have an index.
package enum IndexKind: UInt8, Sendable, Hashable {
    case none
    case ordered
    case unique
}

/// An operator that compares two values.
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
    /// The position of the column in the table.
    package var id: ColumnID
    /// The type of the values.
    package var kind: ColumnKind
    /// Whether the value can be null.
    ///
    /// Links always can, and collections never can.
    package var isOptional: Bool
    /// The kind of index.
    package var index: IndexKind
    /// Whether the strings have a full-text index.
    package var isFullText: Bool
    /// The kind of collection in a column of kind `list`; nil for all other kinds.
    package var collection: CollectionKind?
    /// The type of a collection's elements.
    package var elementKind: ColumnKind?
    /// Whether a collection's elements can be null.
    package var elementIsOptional: Bool
    /// The column with the elements of short collections; those of a map have their keys in the column after it.
    ///
    /// Nil for single values, and for collections of files in format 2, whose elements are all in chunks.
    package var contents: ColumnID?
    /// Whether the column has the elements of short collections of another column; it is not visible above the storage.
    package var isContents: Bool
    /// The target table of a link, or of a collection of links.
    package var target: TableID?
    /// Whether the data, or the elements of the list, are mixed values in the format of ``MixedTag``; their links are
    /// indexed.
    package var isMixed: Bool
    /// Whether the column was dropped, which leaves a hole.
    package var isDropped: Bool

    /// Describes a column.
    package init(
        id: ColumnID, kind: ColumnKind, isOptional: Bool = false, index: IndexKind = .none,
        collection: CollectionKind? = nil, elementKind: ColumnKind? = nil,
        elementIsOptional: Bool = false, contents: ColumnID? = nil, isContents: Bool = false,
        target: TableID? = nil, isMixed: Bool = false, isDropped: Bool = false,
        isFullText: Bool = false
    ) {
        self.id = id
        self.kind = kind
        self.isOptional = isOptional
        self.index = index
        self.collection = collection ?? (kind == .list ? .list : nil)
        self.elementKind = elementKind
        self.elementIsOptional = elementIsOptional
        self.contents = contents
        self.isContents = isContents
        self.target = target
        self.isMixed = isMixed
        self.isDropped = isDropped
        self.isFullText = isFullText
    }
}

extension ColumnDefinition {
    /// The column with the keys of short maps; nil for lists and sets.
    var keyContents: ColumnID? {
        collection == .map ? contents.map { ColumnID($0.rawValue + 1) } : nil
    }

    /// The definitions of the columns with the elements of short collections of this column.
    package var contentsColumns: [ColumnDefinition] {
        [contents, keyContents].compactMap { id in
            id.map { ColumnDefinition(id: $0, kind: .data, isContents: true) }
        }
    }
}

/// The definition of a table in the storage.
///
/// Names exist only in the layer above.
package struct TableDefinition: Hashable, Sendable {
    /// The number of the table.
    package var id: TableID
    /// The columns; `columns[i].id == ColumnID(i)`.
    package var columns: [ColumnDefinition]
    /// The indexes over several columns.
    package var compositeIndexes: [CompositeIndexDefinition]
    /// The tables that readers of mixed values do not know: links to their objects read as null.
    package var hiddenTables: Set<TableID> = []

    /// Describes a table.
    package init(
        id: TableID, columns: [ColumnDefinition], compositeIndexes: [CompositeIndexDefinition] = []
    ) {
        self.id = id
        self.columns = columns
        self.compositeIndexes = compositeIndexes
    }
}

/// A sorted index over several columns, none of which is a list.
package struct CompositeIndexDefinition: Hashable, Sendable {
    /// The number of the index in the table, below ``ColumnID/limit``.
    package var id: Int
    /// The columns, the most significant first.
    package var columns: [ColumnID]

    /// Describes an index.
    package init(id: Int, columns: [ColumnID]) {
        self.id = id
        self.columns = columns
    }
}

/// The stable key of a row; keys ascend and are not reused in a table.
///
/// The first key is 0.
@usableFromInline
package struct ObjectKey: RawRepresentable, Hashable, Comparable, Sendable {
    /// The key as a number.
    @usableFromInline
    package var rawValue: Int64

    /// Creates a key from its number.
    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Creates a key from its number.
    @inlinable
    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// Returns whether the first row is older than the second.
    @inlinable
    package static func < (left: ObjectKey, right: ObjectKey) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The number of a table in its file.
@usableFromInline
package struct TableID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The id as a number, below ``limit``.
    @usableFromInline
    package var rawValue: UInt32

    /// The upper bound of table ids, which take 16 bits in the keys of leaves.
    package static let limit: UInt32 = 1 << 16

    /// Creates an id from its number.
    @inlinable
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates an id from its number.
    @inlinable
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// Returns whether the first number is less than the second.
    @inlinable
    package static func < (left: TableID, right: TableID) -> Bool { left.rawValue < right.rawValue }
}

/// The position of a column in its table's array of columns.
///
/// A dropped column leaves a hole.
@usableFromInline
package struct ColumnID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The position, below ``limit``.
    @usableFromInline
    package var rawValue: Int

    /// The upper bound of column ids: keys of index blocks have 16 bits for them, of which two are the kind of index.
    package static let limit = 1 << 14

    /// Creates an id from its position.
    @inlinable
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Creates an id from its position.
    @inlinable
    package init(_ rawValue: Int) { self.rawValue = rawValue }

    /// Returns whether the first position is less than the second.
    @inlinable
    package static func < (left: ColumnID, right: ColumnID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The errors of the file, for modules above that do not import LMDBStorage.
@usableFromInline
package typealias StorageError = LMDBStorage.StorageError

/// The reader and the writer of encoded bytes.
package typealias ByteReader = LMDBStorage.ByteReader
package typealias ByteWriter = LMDBStorage.ByteWriter
package typealias DamagedEncoding = LMDBStorage.DamagedEncoding

/// A position in the queue for a file's write lock, which does not block a thread.
package typealias WriteLockTicket = LMDBStorage.WriteLockTicket
/// A store as a writer of its file.
package typealias LockUser = LMDBStorage.LockUser
/// A number with which this process uses a file.
package typealias FileMark = LMDBStorage.FileMark
package typealias FileExclusion = LMDBStorage.FileExclusion

extension StorageError {
    /// The check of an index block's content.
    static let indexBlock = "reading an index block"

    /// Whether a block of an index is damaged.
    var isOfIndex: Bool { code == .damaged && call == Self.indexBlock }
}

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

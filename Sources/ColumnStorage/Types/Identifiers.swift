/// The stable key of a row: ascending, never used again in its table.
///
/// The first is 0.
@usableFromInline
package struct ObjectKey: RawRepresentable, Hashable, Comparable, Sendable {
    /// The key as a number.
    @usableFromInline
    package var rawValue: Int64

    /// Makes a key from its number.
    @inlinable
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Makes a key from its number.
    @inlinable
    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// Older rows come first.
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

    /// Table ids are below this: keys of leaves have 16 bits for them.
    package static let limit: UInt32 = 1 << 16

    /// Makes an id from its number.
    @inlinable
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Makes an id from its number.
    @inlinable
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// Orders by number.
    @inlinable
    package static func < (left: TableID, right: TableID) -> Bool { left.rawValue < right.rawValue }
}

/// The place of a column in its table's array of columns.
///
/// A dropped column leaves a hole.
@usableFromInline
package struct ColumnID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The place, below ``limit``.
    @usableFromInline
    package var rawValue: Int

    /// Column ids are below this: keys of index blocks have 16 bits for them, of which two tell the kinds of
    /// indexes apart.
    package static let limit = 1 << 14

    /// Makes an id from its place.
    @inlinable
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Makes an id from its place.
    @inlinable
    package init(_ rawValue: Int) { self.rawValue = rawValue }

    /// Orders by place.
    @inlinable
    package static func < (left: ColumnID, right: ColumnID) -> Bool {
        left.rawValue < right.rawValue
    }
}

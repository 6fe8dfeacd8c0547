import ColumnStorage

/// The limits of a store that do not depend on its options.
package enum StoreLimits {
    /// The maximum number of properties of a class, backlinks included.
    package static let properties = 16_000
    /// The maximum number of classes of a store.
    package static let classes = 60_000
    /// The maximum length of the name of a class or property, in bytes.
    package static let nameBytes = 200
    /// The maximum size of a string, of data, of a map key and of an encoded mixed value, in bytes.
    ///
    /// A value is read and written as a whole, so larger ones would need several times their size in memory.
    package static let valueBytes = 256 << 20
    /// The maximum depth of nested objects in one value, of embedded objects, and of lists and maps in a mixed value.
    package static let nesting = 100

    /// Throws `limit_exceeded` if no numbers for tables or columns are left.
    ///
    /// These numbers are not reused, so removed classes and properties count.
    static func check(_ classes: [ClassSchema], nextTable: UInt32) throws {
        guard nextTable < TableID.limit - 1 else {
            throw StoreError(
                .limitExceeded,
                "a store has at most \(TableID.limit - 2) classes, removed ones included; "
                    + "copy the objects to a new store")
        }
        for classSchema in classes where classSchema.columnCount >= ColumnID.limit {
            throw StoreError(
                .limitExceeded,
                "'\(classSchema.name)' has \(classSchema.columnCount) properties, removed ones included; "
                    + "the maximum is \(ColumnID.limit - 1); copy its objects to a new class")
        }
    }

    /// Throws `limit_exceeded` for a string or data that is too large; `name` names it.
    static func check(bytes count: Int, _ name: @autoclosure () -> String) throws {
        guard count > valueBytes else { return }
        throw StoreError(
            .limitExceeded,
            "\(name()) has \(count) bytes; the maximum is \(valueBytes)")
    }
}

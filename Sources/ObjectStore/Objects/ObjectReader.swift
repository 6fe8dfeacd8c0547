import ColumnStorage
import Decimals

/// Reads single values of many objects of one class, without creating a ``Value`` for each.
///
/// Properties are identified by their position in ``ClassSchema/properties``. Nil means null, a missing object or a
/// property of another type. A reader reads the current version of its view, and is confined to the view's thread.
package struct ObjectReader {
    /// The class of the objects.
    package let classSchema: ClassSchema
    private let rows: TableReader
    private let columns: [ColumnID]

    /// Creates a reader of the objects of a class in a view.
    package init(_ view: StoreView, _ classSchema: ClassSchema) throws {
        self.classSchema = classSchema
        rows = try view.table(classSchema)
        columns = classSchema.properties.map { $0.isSingle ? $0.column : .unassigned }
    }

    /// Returns the value of an int property.
    package func int(_ position: Int, _ key: ObjectKey) throws -> Int64? {
        try StoreError.wrapping(rows.int(columns[position], key))
    }

    /// Returns the value of a double property.
    package func double(_ position: Int, _ key: ObjectKey) throws -> Double? {
        try StoreError.wrapping(rows.double(columns[position], key))
    }

    /// Returns the value of a bool property.
    package func bool(_ position: Int, _ key: ObjectKey) throws -> Bool? {
        try StoreError.wrapping(rows.bool(columns[position], key))
    }

    /// Returns the value of a date property.
    package func date(_ position: Int, _ key: ObjectKey) throws -> Timestamp? {
        try StoreError.wrapping(rows.int(columns[position], key).map(Timestamp.init(microseconds:)))
    }

    /// Returns the value of a decimal property.
    package func decimal(_ position: Int, _ key: ObjectKey) throws -> DecimalValue? {
        try StoreError.wrapping(
            rows.withBytes(columns[position], key, DecimalValue.init(bytes:)) ?? nil)
    }

    /// Calls `body` with the UTF-8 bytes of a string property; `body` must not write.
    package func withText<Result>(
        _ position: Int, _ key: ObjectKey, _ body: (RawSpan) -> Result
    ) throws -> Result? {
        try StoreError.wrapping(rows.withBytes(columns[position], key, body))
    }
}

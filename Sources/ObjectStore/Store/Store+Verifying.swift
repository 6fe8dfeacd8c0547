import ColumnStorage

/// An error in the data of a store's file, with its location.
package struct StoreFault: Hashable, Sendable, CustomStringConvertible {
    /// The class; nil if the error concerns the whole file.
    package let className: String?
    /// The property; nil if the error concerns whole objects.
    package let property: String?
    /// The object; nil if the error does not concern a single object.
    package let object: ObjectKey?
    /// The description of the error.
    package let what: String

    /// One line such as `'Dog.name' of the object in row 12: its value is missing in the index`.
    package var description: String {
        guard let className else { return what }
        let subject = property.map { "\(className).\($0)" } ?? className
        let row = object.map { " of the object in row \($0.rawValue)" } ?? ""
        return "'\(subject)'\(row): \(what)"
    }
}

extension Store {
    /// Verifies all data of the store's version, and returns the errors with their locations.
    ///
    /// The function checks every object, value, link, list, index entry, full-text posting and count, the order of sets
    /// and maps, and the change history. The array is empty for a valid file, and has at most `limit` errors. Takes
    /// about as long as reading every value.
    ///
    /// Throws `already_in_write` inside a write transaction, `file_corrupt` if pages cannot be read, `closed` and
    /// `wrong_thread`.
    package func verify(atMost limit: Int = 100) throws -> [StoreFault] {
        try check()
        guard !isInWrite else {
            throw alreadyInWrite(
                "a store cannot be verified inside a write transaction", "commit or cancel it first"
            )
        }
        let faults = try StoreError.wrapping(view.snapshot.verify(atMost: limit))
        return try faults.map { fault in
            let classSchema = fault.table.flatMap { view.schema.find(table: $0) }
            let property = fault.column.flatMap { column in
                classSchema.map { $0.property(in: column)?.name ?? "column \(column.rawValue)" }
            }
            return StoreFault(
                className: classSchema?.name, property: property, object: fault.key,
                what: fault.what)
        } + (faults.isEmpty ? OrderVerifier(view).faults(atMost: limit) : [])
    }
}

import ColumnStorage

/// Something in a store's file that cannot be right, and where it is.
package struct StoreFault: Hashable, Sendable, CustomStringConvertible {
    /// The class; nil where it concerns the whole file.
    package let className: String?
    /// The property; nil where it concerns whole objects.
    package let property: String?
    /// The object; nil where it concerns no single one.
    package let object: ObjectKey?
    /// The fault, in words.
    package let what: String

    /// One line: `'Dog.name' of the object in row 12: its value is missing in the index`.
    package var description: String {
        guard let className else { return what }
        let place = property.map { "\(className).\($0)" } ?? className
        let row = object.map { " of the object in row \($0.rawValue)" } ?? ""
        return "'\(place)'\(row): \(what)"
    }
}

extension Store {
    /// Verifies everything that the store's version contains, and reports faults with their locations.
    ///
    /// Every object, value, link, list, index entry and full-text posting, every count, the order of sets
    /// and maps, and the change history; an empty array for a sound file. Takes about as long as reading every value. At most
    /// `limit` faults are listed.
    ///
    /// Throws `already_in_write` inside a write transaction, `file_corrupt` where pages themselves
    /// cannot be read, `closed` and `wrong_thread`.
    package func verify(atMost limit: Int = 100) throws -> [StoreFault] {
        try check()
        guard !isInWrite else {
            throw StoreError(
                .alreadyInWrite, "a store is verified outside of write transactions")
        }
        let faults = try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.verify(atMost: limit)
        }
        return faults.map { fault in
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

import ColumnStorage

/// Finds sets and maps whose elements are out of order, so that lookups in them would fail.
///
/// The storage keeps sets and maps as sequences, and the object store defines their order, so the order is verified
/// here. The verifier is used only for files in which the storage has found no error.
struct OrderVerifier {
    private let view: StoreView

    init(_ view: StoreView) {
        self.view = view
    }

    /// Returns at most `limit` errors, ordered by class, property and object.
    func faults(atMost limit: Int) throws -> [StoreFault] {
        var found: [StoreFault] = []
        for classSchema in view.schema.classes {
            let rows = try view.table(classSchema)
            for property in classSchema.properties {
                guard let collection = property.collection, collection != .list else { continue }
                try view.forEachKey(of: classSchema) { key in
                    guard found.count < limit, try rows.listCount(property.column, key) > 1,
                        let what = fault(of: property, key, rows)
                    else { return }
                    found.append(
                        StoreFault(
                            className: classSchema.name, property: property.name, object: key,
                            what: what))
                }
            }
        }
        return found
    }

    private func fault(of property: Property, _ key: ObjectKey, _ rows: TableReader) -> String? {
        do {
            if property.collection == .map {
                let keys = try rows.map(property.column, key)?.keys.elements() ?? []
                return position(in: keys) { left, right in
                    guard case .bytes(let left) = left, case .bytes(let right) = right else {
                        return false
                    }
                    return left.lexicographicallyPrecedes(right)
                }.map { "its keys are not in order from number \($0) on" }
            }
            let order = ElementOrder(property)
            let elements = try rows.listElements(property.column, key)
            return position(in: elements) { order.compare($0, $1) < 0 }
                .map { "its elements are not in order from number \($0) on" }
        } catch {
            return "its elements cannot be read"
        }
    }

    /// Returns the 1-based position of the first element that does not follow the previous one.
    private func position(
        in elements: [ListElement], _ precedes: (ListElement, ListElement) -> Bool
    ) -> Int? {
        zip(elements, elements.dropFirst()).enumerated()
            .first { !precedes($0.element.0, $0.element.1) }
            .map { $0.offset + 2 }
    }
}

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

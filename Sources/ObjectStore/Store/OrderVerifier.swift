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

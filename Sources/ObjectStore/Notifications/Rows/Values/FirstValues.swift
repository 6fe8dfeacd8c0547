import ColumnStorage

/// The first element with each value, updated element by element.
///
/// All elements are kept, ordered by value, so the next one with a value is known when the first one leaves.
struct FirstValues {
    private var ordered: SortedKeys

    /// Creates the state from all elements.
    init(_ numbers: [ObjectKey], _ reader: ValueReader) throws {
        ordered = try SortedKeys(inOrder: reader.order(ascending: true).sorted(numbers))
    }

    /// Returns the first element with each value, ordered by value.
    func numbers(_ reader: ValueReader) -> [ObjectKey] {
        var firsts: [ObjectKey] = []
        for number in ordered.keys()
        where firsts.last.map({ reader.compare(reader.element($0), number) != 0 }) ?? true {
            firsts.append(number)
        }
        return firsts
    }

    /// Converts changes of all elements to changes of the first elements.
    mutating func advance(
        _ delta: RowDelta, before: ValueReader, after: ValueReader
    ) throws -> RowDelta {
        let olds = (delta.left + delta.stayed).map(before.element)
        let news = (delta.stayed + delta.entered).map(after.element)
        let oldFirsts = firsts(of: olds + news, before)
        let (orderBefore, orderAfter) = (
            before.order(ascending: true), after.order(ascending: true)
        )
        for number in delta.left + delta.stayed {
            // All elements are in the sequence; one can be missing only if the order is inconsistent.
            guard let position = try ordered.position(of: number, by: orderBefore) else { continue }
            ordered.remove(at: position)
        }
        for number in delta.stayed + delta.entered { try ordered.insert(number, by: orderAfter) }
        let newFirsts = firsts(of: olds + news, after)
        return RowDelta(
            left: oldFirsts.subtracting(newFirsts).sorted(),
            entered: newFirsts.subtracting(oldFirsts).sorted(),
            stayed: delta.stayed.filter { oldFirsts.contains($0) && newFirsts.contains($0) })
    }

    /// Returns the first element with each of the given values that occurs.
    private func firsts(of values: [ListElement], _ reader: ValueReader) -> Set<ObjectKey> {
        var found: Set<ObjectKey> = []
        for value in values {
            let position = ordered.partitioningPosition { reader.compare(value, $0) > 0 }
            guard position < ordered.count else { continue }
            let number = ordered.key(at: position)
            if reader.compare(value, number) == 0 { found.insert(number) }
        }
        return found
    }
}

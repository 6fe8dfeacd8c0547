import ColumnStorage

/// The positions of the elements of a sequence, each identified by a number.
///
/// Each element has a label, with gaps between labels, so inserting or removing an element changes no other
/// label. Element numbers are stored as object keys, because the ordered structures contain object keys.
struct ElementPositions {
    private var labels: [Int64] = []
    private var ordered = SortedKeys()
    private var lastLabel: Int64?

    private static let gap: Int64 = 1 << 32
    private static let step: Int64 = 1 << 8

    /// The number of elements that have a position.
    var count: Int { ordered.count }

    /// Returns the element at a position below `count`.
    func number(at position: Int) -> ObjectKey { ordered.key(at: position) }

    /// Returns all elements that have a position, in order.
    func numbers() -> [ObjectKey] { ordered.keys() }

    func label(of number: ObjectKey) -> Int64 { labels[Int(number.rawValue)] }

    /// Returns the label of the element at a position if all elements get their labels at once.
    static func firstLabel(at position: Int) -> Int64 { Int64(position) * gap }

    /// Sets the label of an existing element or of the next new one, without giving it a position.
    mutating func set(_ label: Int64, of number: ObjectKey) {
        let index = Int(number.rawValue)
        if index == labels.count { labels.append(label) } else { labels[index] = label }
    }

    /// Replaces the positions of all elements by the given elements, which are in the order of their labels.
    mutating func setOrder(_ numbers: [ObjectKey]) {
        lastLabel = nil
        ordered = SortedKeys(
            inOrder: numbers.map { CodedKey(code: SortCode.of(label(of: $0)), key: $0) })
    }

    /// Removes the element at a position from the sequence, and returns it.
    mutating func remove(at position: Int) -> ObjectKey {
        let number = ordered.key(at: position)
        ordered.remove(at: position)
        return number
    }

    /// Inserts an element at a label that ``label(at:)`` returned.
    mutating func insert(_ number: ObjectKey, label: Int64) throws {
        set(label, of: number)
        try ordered.insert(number, by: order())
        lastLabel = label
    }

    /// Returns the order of the elements; `labelsBefore` are labels in an earlier version.
    ///
    /// No two elements with a position have the same label.
    func order(labelsBefore: [ObjectKey: Int64] = [:]) -> CodedOrder {
        // The closure captures only the labels, so the order does not cause a copy of the positions.
        let labels = labels
        return CodedOrder(
            code: { SortCode.of(labelsBefore[$0] ?? labels[Int($0.rawValue)]) },
            precedesAmongEqual: { _, _ in false })
    }

    /// Returns a label for an element that is inserted at a position; nil if no label is free.
    func label(at position: Int) -> Int64? {
        func label(_ position: Int) -> Int64? {
            position >= 0 && position < count ? self.label(of: number(at: position)) : nil
        }
        let (before, after) = (label(position - 1), label(position))
        let found: Int64
        switch (before, after) {
        case (nil, nil): found = 0
        case (let before?, nil): found = before + Self.gap
        case (nil, let after?): found = after - Self.gap
        case (let before?, let after?):
            guard after - before > 1 else { return nil }
            // Otherwise each of many insertions at the same position would halve the gap.
            let isWide = after - before > 2 * Self.step
            found =
                isWide && before == lastLabel
                ? before + Self.step
                : isWide && after == lastLabel
                    ? after - Self.step : before + (after - before) / 2
        }
        return abs(found) < 1 << 61 ? found : nil
    }
}

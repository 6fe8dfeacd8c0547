import ColumnStorage

/// The positions of the elements of a sequence, each under a number of its own.
///
/// Each element has a label, with gaps between labels, so that inserting or removing an element changes no other label.
/// Labels are written as object keys, because the ordered structures hold object keys.
struct ElementPlaces {
    private var labels: [Int64] = []
    private var ordered = SortedKeys()
    private var lastLabel: Int64?

    private static let gap: Int64 = 1 << 32
    private static let step: Int64 = 1 << 8

    /// How many elements have a place.
    var count: Int { ordered.count }

    /// The element at a position below `count`.
    func number(at position: Int) -> ObjectKey { ordered.key(at: position) }

    /// All elements that have a place, in order.
    func numbers() -> [ObjectKey] { ordered.keys() }

    func label(of number: ObjectKey) -> Int64 { labels[Int(number.rawValue)] }

    /// The label of the element at a position among elements that are placed all together.
    static func firstLabel(at position: Int) -> Int64 { Int64(position) * gap }

    /// Gives an element, an old or the next new one, a label and no place.
    mutating func set(_ label: Int64, of number: ObjectKey) {
        let index = Int(number.rawValue)
        if index == labels.count { labels.append(label) } else { labels[index] = label }
    }

    /// Places elements that have labels, in their order, and no others.
    mutating func place(_ numbers: [ObjectKey]) {
        lastLabel = nil
        ordered = SortedKeys(
            inOrder: numbers.map { CodedKey(code: SortCode.of(label(of: $0)), key: $0) })
    }

    /// Takes the element at a position out.
    mutating func remove(at position: Int) -> ObjectKey {
        let number = ordered.key(at: position)
        ordered.remove(at: position)
        return number
    }

    /// Places an element under a label that ``label(at:)`` has given.
    mutating func insert(_ number: ObjectKey, label: Int64) {
        set(label, of: number)
        ordered.insert(number, by: order())
        lastLabel = label
    }

    /// The order of the elements; `labelsBefore` are those of an earlier version.
    ///
    /// No two elements that have places have the same label.
    func order(labelsBefore: [ObjectKey: Int64] = [:]) -> CodedOrder {
        // Captures only the labels: a holder of the order then does not copy the places.
        let labels = labels
        return CodedOrder(
            code: { SortCode.of(labelsBefore[$0] ?? labels[Int($0.rawValue)]) },
            precedesAmongEqual: { _, _ in false })
    }

    /// A label for an element that is inserted at a position; nil if no label is free.
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
            // Elements inserted one by one at the same position would halve the gap each time.
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

import ColumnStorage

/// The elements of an observed list or map inside a mixed value after filtering, sorting, `distinct` or limits.
///
/// A mixed value is stored as a whole, so the two versions of the collection are compared.
struct NestedRows: ObservedRows {
    /// The current address of the collection: changes of enclosing lists may move it.
    private(set) var address: NestedAddress
    private let property: Property
    private let steps: [CollectionValues.Step]
    private var content: Content
    /// Whether the collection no longer exists.
    private(set) var isRemoved = false
    /// The elements that the last step removed or moved, in the order of its deletions.
    private(set) var lostDetails: [ElementDetail] = []

    /// The elements of one version; each has a number that it keeps when its value is replaced.
    private struct Content {
        var keys: [String] = []
        var values: [Value] = []
        var numbers: [ObjectKey] = []
        /// The positions of the visible elements, in their order.
        var shown: [Int] = []
        var nextNumber: Int64 = 0

        mutating func addNumber() {
            numbers.append(ObjectKey(rawValue: nextNumber))
            nextNumber += 1
        }
    }

    init(
        _ address: NestedAddress, _ property: Property, _ steps: [CollectionValues.Step],
        in view: StoreView
    ) throws {
        self.address = address
        self.property = property
        self.steps = steps
        content = Content()
        (content.keys, content.values) = try address.value(in: view)?.nestedElements ?? ([], [])
        for _ in content.values { content.addNumber() }
        try arrange(&content)
    }

    private func arrange(_ content: inout Content) throws {
        content.shown = try CollectionValues.positions(of: content.values, by: steps, of: property)
    }

    var count: Int { content.shown.count }

    func values(at positions: [Int]) -> [Value]? {
        positions.map { content.values[content.shown[$0]] }
    }

    func mapKeys(at positions: [Int]) -> [String]? {
        content.keys.isEmpty ? nil : positions.map { content.keys[content.shown[$0]] }
    }

    /// All visible elements, to report them as deleted.
    var allDetails: [ElementDetail] { content.shown.map { detail($0, content) } }

    private func detail(_ position: Int, _ content: Content) -> ElementDetail {
        .value(
            content.values[position], mapKey: content.keys.isEmpty ? "" : content.keys[position])
    }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        lostDetails = []
        guard step.isChanged(address.owner.table, address.column, address.owner.key) else {
            return CollectionChangeSet()
        }
        guard let (moved, value) = try address.followed(along: step) else {
            isRemoved = true
            lostDetails = allDetails
            return CollectionChangeSet(deletions: Array(content.shown.indices))
        }
        address = moved
        let old = content
        let newPositions = try align(to: value.nestedElements)
        var modified: Set<ObjectKey> = []
        for case (let before, let after?) in newPositions.enumerated()
        where old.values[before] != content.values[after] { modified.insert(old.numbers[before]) }
        var changes = SequenceDifference.changes(
            from: old.shown.map { old.numbers[$0] },
            to: content.shown.map { content.numbers[$0] }, isTouched: modified.contains)
        lostDetails = changes.deletions.map { detail(old.shown[$0], old) }
        // The numbers of elements are not object keys.
        changes.deletedKeys = []
        changes.insertedKeys = []
        changes.modifiedKeys = []
        return changes
    }

    /// Replaces the elements; unchanged ones keep their numbers.
    ///
    /// Returns the new positions of the old elements.
    private mutating func align(to elements: (keys: [String], values: [Value])) throws -> [Int?] {
        let old = content
        let newPositions: [Int?]
        if address.kind == .map {
            let positions = Dictionary(
                elements.keys.enumerated().map { (TextKey($1), $0) },
                uniquingKeysWith: { first, _ in first }
            )
            newPositions = old.keys.map { positions[TextKey($0)] }
        } else {
            newPositions = ElementAlignment(from: old.values, to: elements.values).newPositions
        }
        var known = [ObjectKey?](repeating: nil, count: elements.values.count)
        for case (let before, let after?) in newPositions.enumerated() {
            known[after] = old.numbers[before]
        }
        content = Content(
            keys: elements.keys, values: elements.values, nextNumber: old.nextNumber)
        for number in known {
            if let number { content.numbers.append(number) } else { content.addNumber() }
        }
        try arrange(&content)
        return newPositions
    }
}

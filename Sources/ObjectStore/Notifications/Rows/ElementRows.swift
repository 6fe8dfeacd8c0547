import ColumnStorage

/// The rows of an observed list, set or map, in its order; an element may occur several times.
///
/// Changes of linked objects are also reported. The rows of a list or set of links are the objects, which the changes
/// name; those of a map or of plain values are elements.
struct ElementRows: ObservedRows {
    private let owner: ObjectReference
    private let column: ColumnID
    private let isMap: Bool
    private(set) var count: Int
    /// The linked objects in the order of the elements; nil if the elements are not links.
    private var objects: ListedKeys?

    /// The placeholder for the object of a null link.
    private static let noObject = ObjectKey(rawValue: -1)

    init(_ owner: ObjectReference, _ property: Property, in view: StoreView) throws {
        self.owner = owner
        column = property.column
        isMap = property.collection == .map
        count = try view.table(owner.table).listCount(column, owner.key)
        if property.type == .object { objects = try ListedKeys(linked(view)) }
    }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        var changes = CollectionChangeSet()
        guard step.isChanged(owner.table, column, owner.key) else {
            changes.modifications = modifiedPositions(modified)
            changes.modificationsNew = changes.modifications
            changes.modifiedKeys = rows(at: changes.modifications)
            return changes
        }
        let newCount = try step.new.table(owner.table).listCount(column, owner.key)
        defer { count = newCount }
        guard let edits = step.edits(owner.table, column, owner.key),
            let sequence = EditedSequence(count: count, edits), sequence.count == newCount
        else { return try readAgain(step, modified) }
        changes = sequence.changes()
        changes.deletedKeys = rows(at: changes.deletions)
        guard try follow(changes, in: step.new) else { return try readAgain(step, modified) }
        changes.insertedKeys = rows(at: changes.insertions)
        let positions = modifiedPositions(modified)
        if !positions.isEmpty {
            let kept = KeptPositions(sequence.kept())
            var olds = Dictionary(
                zip(changes.modificationsNew, changes.modifications), uniquingKeysWith: { $1 })
            for position in positions {
                if let old = kept.old(ofNew: position) { olds[position] = old }
            }
            changes.modificationsNew = olds.keys.sorted()
            changes.modifications = changes.modificationsNew.compactMap { olds[$0] }
        }
        changes.modifiedKeys = rows(at: changes.modificationsNew)
        return changes
    }

    /// Returns the rows at some positions; none if they are not objects.
    private func rows(at positions: [Int]) -> [ObjectKey] {
        guard let objects, !isMap else { return [] }
        return positions.map { objects[$0] }
    }

    /// Returns the objects of all elements.
    private func linked(_ view: StoreView) throws -> [ObjectKey] {
        let rows = try view.table(owner.table)
        guard isMap else { return try rows.linkedKeys(column, owner.key) }
        return try rows.listElements(column, owner.key).map { element in
            if case .int(let key) = element { ObjectKey(rawValue: key) } else { Self.noObject }
        }
    }

    /// Applies changes to the objects, if there are any; returns false if an element cannot be read.
    private mutating func follow(_ changes: CollectionChangeSet, in view: StoreView) throws -> Bool
    {
        guard var objects else { return true }
        self.objects = nil  // makes `objects` the only copy, which is then changed in place
        let list = try view.table(owner.table).list(column, owner.key)
        let isFollowed = try objects.follow(
            changes,
            key: { position in
                try list.flatMap { try $0.key(at: position) ?? (isMap ? Self.noObject : nil) }
            },
            all: { try linked(view) })
        self.objects = objects
        return isFollowed
    }

    /// Reads the collection again and compares both versions.
    private mutating func readAgain(_ step: VersionStep, _ modified: KeySet) throws
        -> CollectionChangeSet
    {
        guard objects != nil else { return try compared(step, []) }
        let after = try linked(step.new)
        objects = ListedKeys(after)
        if isMap { return try compared(step, Set(modifiedPositions(modified))) }
        return try SequenceDifference.changes(
            from: linked(step.old), to: after, isTouched: modified.contains)
    }

    /// Returns the positions of the elements whose objects were modified, ascending.
    private func modifiedPositions(_ modified: KeySet) -> [Int] {
        objects?.occurrences(of: modified).map(\.position) ?? []
    }

    /// Returns the differences between both versions: entries of a map are compared by their keys, other elements are
    /// compared by value.
    private func compared(
        _ step: VersionStep, _ modified: Set<Int>
    ) throws -> CollectionChangeSet {
        // Equal elements get equal numbers, so sequences of numbers can be compared.
        var numbers: [ListElement: ObjectKey] = [:]
        func number(_ element: ListElement) -> ObjectKey {
            if let known = numbers[element] { return known }
            let number = ObjectKey(rawValue: Int64(numbers.count))
            numbers[element] = number
            return number
        }
        var differing: Set<ObjectKey> = []
        var before: [ObjectKey]
        var after: [ObjectKey]
        if isMap {
            func entries(_ view: StoreView) throws -> [(key: ObjectKey, value: ListElement)] {
                try view.table(owner.table).mapEntries(column, owner.key).map {
                    (number(.bytes(Array($0.key.utf8))), $0.value)
                }
            }
            let (old, new) = try (entries(step.old), entries(step.new))
            let values = Dictionary(old.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
            for (position, entry) in new.enumerated()
            where values[entry.key] != entry.value || modified.contains(position) {
                differing.insert(entry.key)
            }
            (before, after) = (old.map(\.key), new.map(\.key))
        } else {
            before = try step.old.table(owner.table).listElements(column, owner.key).map(number)
            after = try step.new.table(owner.table).listElements(column, owner.key).map(number)
        }
        var changes = SequenceDifference.changes(
            from: before, to: after, isTouched: differing.contains)
        changes.deletedKeys = []
        changes.insertedKeys = []
        changes.modifiedKeys = []
        return changes
    }
}

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
        assert(
            zip(numbers, numbers.dropFirst()).allSatisfy { label(of: $0) < label(of: $1) },
            "the labels ascend")
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

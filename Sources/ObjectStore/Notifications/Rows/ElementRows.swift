import ColumnStorage

/// The elements of a list or set of plain values, or of a map: only positions are followed, no
/// values.
struct ElementRows: ObservedRows {
    private let owner: ObjectReference
    private let column: ColumnID
    private let isMap: Bool
    /// Whether elements are links, whose objects may be modified.
    private let isLinks: Bool
    private(set) var count: Int

    init(_ owner: ObjectReference, _ property: Property, in view: StoreView) {
        self.owner = owner
        column = property.column
        isMap = property.collection == .map
        isLinks = property.type == .object
        count = view.table(owner.table).listCount(column, owner.key)
    }

    var cost: String {
        isMap ? "follows the edits of the map" : "follows the edits of the collection"
    }

    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges {
        let rows = step.new.table(owner.table)
        let isChanged = step.isChanged(owner.table, column, owner.key)
        let links = isLinks && !modified.isEmpty ? rows.listElements(column, owner.key) : []
        func isModified(_ position: Int) -> Bool {
            guard links.indices.contains(position), case .int(let key) = links[position] else {
                return false
            }
            return modified.contains(ObjectKey(rawValue: key))
        }
        guard isChanged else {
            let places = links.indices.filter(isModified)
            return PositionChanges(modifications: places, modificationsNew: places)
        }
        let newCount = rows.listCount(column, owner.key)
        defer { count = newCount }
        guard let edits = step.edits(owner.table, column, owner.key),
            let sequence = EditedSequence(count: count, edits), sequence.count == newCount
        else { return compared(step, isModified) }
        var changes = sequence.changes()
        let kept = KeptPositions(sequence.kept())
        var olds = Dictionary(
            zip(changes.modificationsNew, changes.modifications), uniquingKeysWith: { $1 })
        for position in links.indices where isModified(position) {
            if let old = kept.old(ofNew: position) { olds[position] = old }
        }
        changes.modificationsNew = olds.keys.sorted()
        changes.modifications = changes.modificationsNew.compactMap { olds[$0] }
        return changes
    }

    /// Compares the two versions: entries of a map by their keys, other elements by value.
    private func compared(
        _ step: VersionStep, _ isModified: (Int) -> Bool
    ) -> PositionChanges {
        // Equal elements get the same number, so that sequences of numbers can be compared.
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
            func entries(_ view: StoreView) -> [(key: ObjectKey, value: ListElement)] {
                view.table(owner.table).mapEntries(column, owner.key).map {
                    (number(.bytes(Array($0.key.utf8))), $0.value)
                }
            }
            let (old, new) = (entries(step.old), entries(step.new))
            let values = Dictionary(old.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
            for (position, entry) in new.enumerated()
            where values[entry.key] != entry.value || isModified(position) {
                differing.insert(entry.key)
            }
            (before, after) = (old.map(\.key), new.map(\.key))
        } else {
            before = step.old.table(owner.table).listElements(column, owner.key).map(number)
            after = step.new.table(owner.table).listElements(column, owner.key).map(number)
        }
        var changes = SequenceDifference.changes(
            from: before, to: after, isTouched: differing.contains)
        changes.deletedKeys = []
        changes.insertedKeys = []
        changes.modifiedKeys = []
        return changes
    }
}

import ColumnStorage

/// The rows of an observed list or set of plain values, or of a map; changes of linked objects are also reported.
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
        let edits = Self.cost(of: property)
        let isOfObjects = property.type == .object
        cost = isOfObjects ? edits + ", and reads the objects that a commit changes" : edits
        if isOfObjects { objects = try ListedKeys(linked(view)) }
    }

    /// Returns a description of the cost of a commit that changes plain values.
    static func cost(of property: Property) -> String {
        property.collection == .map
            ? "follows the edits of the map" : "follows the edits of the collection"
    }
    let cost: String

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        guard step.isChanged(owner.table, column, owner.key) else {
            let positions = modifiedPositions(modified)
            return CollectionChangeSet(modifications: positions, modificationsNew: positions)
        }
        let rows = try step.new.table(owner.table)
        let newCount = try rows.listCount(column, owner.key)
        defer { count = newCount }
        guard let edits = step.edits(owner.table, column, owner.key),
            let sequence = EditedSequence(count: count, edits), sequence.count == newCount
        else {
            if objects != nil { objects = try ListedKeys(linked(step.new)) }
            return try compared(step, Set(modifiedPositions(modified)))
        }
        var changes = sequence.changes()
        try follow(changes, in: step.new)
        let positions = modifiedPositions(modified)
        if positions.isEmpty { return changes }
        let kept = KeptPositions(sequence.kept())
        var olds = Dictionary(
            zip(changes.modificationsNew, changes.modifications), uniquingKeysWith: { $1 })
        for position in positions {
            if let old = kept.old(ofNew: position) { olds[position] = old }
        }
        changes.modificationsNew = olds.keys.sorted()
        changes.modifications = changes.modificationsNew.compactMap { olds[$0] }
        return changes
    }

    /// Returns the objects of all elements.
    private func linked(_ view: StoreView) throws -> [ObjectKey] {
        try view.table(owner.table).listElements(column, owner.key).map { element in
            if case .int(let key) = element { ObjectKey(rawValue: key) } else { Self.noObject }
        }
    }

    private mutating func follow(_ changes: CollectionChangeSet, in view: StoreView) throws {
        guard var objects else { return }
        self.objects = nil  // makes `objects` the only copy, which is then changed in place
        let list = try view.table(owner.table).list(column, owner.key)
        let isFollowed = try objects.follow(
            changes,
            key: { position in try list.map { try $0.key(at: position) ?? Self.noObject } },
            all: { try linked(view) })
        self.objects = try isFollowed ? objects : ListedKeys(linked(view))
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

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

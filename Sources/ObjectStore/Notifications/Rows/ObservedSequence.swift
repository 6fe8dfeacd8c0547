import ColumnStorage

/// The elements of an observed list, set or map, of backlinks through lists, or of other observed rows, in their order.
///
/// An object may occur several times, so rows are identified by the numbers of elements. An element keeps its number
/// while its object stays in the sequence, even if it moves.
///
/// Each element takes about fifty bytes. A step takes time in proportion to its changes of the sequence, times the
/// logarithm of the length.
final class ObservedSequence {
    /// A list, a set or a map of an object.
    struct List {
        let table: TableID
        let column: ColumnID
        let owner: ObjectKey
        let kind: CollectionKind
    }

    /// The source of the elements.
    enum Source {
        case list(List)
        /// Observed rows, which report their changes.
        case rows
        /// The rows that link to a row of a table, once for each link.
        case backlinks(WatchGraph.Backlinks, target: ObjectKey, TableID)
    }

    /// The changes of a step, by the numbers of elements.
    struct Step {
        /// The removed elements; their objects can be read until `forget`.
        var removed: [ObjectKey] = []
        var added: [ObjectKey] = []
        /// The elements that moved, with their labels before the step.
        var labelsBefore: [ObjectKey: Int64] = [:]
    }

    let source: Source
    private var objects: [ObjectKey] = []
    /// The positions of all elements; backlinks need only the labels, not the positions.
    private var positions = ElementPositions()
    private var unused: [Int] = []
    /// The first element of each object; `next` has the one after each element, -1 at the end.
    private var first: [ObjectKey: Int32] = [:]
    private var next: [Int32] = []

    /// The placeholder for a nil value in a map: the entry has a position but is not a row.
    static let noObject = ObjectKey(rawValue: -1)

    init(_ source: Source, _ keys: some Sequence<ObjectKey>) {
        self.source = source
        var numbers: [ObjectKey] = []
        for key in keys {
            let label = ElementPositions.firstLabel(at: numbers.count)
            switch source {
            case .list, .rows: numbers.append(add(key, label: label))
            case .backlinks: numbers.append(add(key, label: Int64(self.numbers(of: key).count)))
            }
        }
        if case .backlinks = source { return }
        positions.setOrder(numbers)
    }

    /// Reads the elements of a source in a view; those of a map include its nil values.
    convenience init(_ source: Source, of query: Query, in view: StoreView) throws {
        if case .list(let list) = source, list.kind == .map {
            try self.init(source, Self.entries(of: list, in: view))
        } else {
            let base = Query(query.base, of: query.table)
            try self.init(source, QueryEvaluator.keys(of: base, in: view))
        }
    }

    /// Returns the entries of a map.
    private static func entries(of map: List, in view: StoreView) throws -> [ObjectKey] {
        try view.table(map.table).listElements(map.column, map.owner).map {
            if case .int(let key) = $0 { ObjectKey(rawValue: key) } else { noObject }
        }
    }

    /// Returns the object of an element.
    func object(_ number: ObjectKey) -> ObjectKey { objects[Int(number.rawValue)] }

    /// Returns all elements of a sequence with positions, in its order.
    func numbers() -> [ObjectKey] { positions.numbers() }

    /// Returns whether an element has an object.
    func isObject(_ number: ObjectKey) -> Bool { object(number) != Self.noObject }

    /// Returns the elements of an object.
    func numbers(of object: ObjectKey) -> [ObjectKey] {
        var found: [ObjectKey] = []
        var number = first[object] ?? -1
        while number >= 0 {
            found.append(ObjectKey(rawValue: Int64(number)))
            number = next[Int(number)]
        }
        return found
    }

    /// Returns the elements of some objects, in any order.
    func numbers(of wanted: KeySet) -> [ObjectKey] {
        guard wanted.count > first.count else { return wanted.flatMap(numbers) }
        return first.keys.filter(wanted.contains).flatMap(numbers)
    }

    /// Returns the elements of objects in the given order; elements of one object keep the order of the sequence.
    func numbers(inOrder keys: some Sequence<ObjectKey>) throws -> [ObjectKey] {
        // The remaining elements of objects that occur several times, the last one first.
        var several: [ObjectKey: [ObjectKey]] = [:]
        let order = order()
        return try keys.compactMap { key in
            guard let number = first[key] else { return nil }
            if next[Int(number)] < 0 { return ObjectKey(rawValue: Int64(number)) }
            var left = try several[key] ?? numbers(of: key).sorted { try order.precedes($1, $0) }
            defer { several[key] = left }
            return left.popLast()
        }
    }

    /// Returns the order of elements; `labelsBefore` are labels in an earlier version.
    func order(labelsBefore: [ObjectKey: Int64] = [:]) -> CodedOrder {
        guard case .backlinks = source else { return positions.order(labelsBefore: labelsBefore) }
        func label(_ number: ObjectKey) -> Int64 {
            labelsBefore[number] ?? positions.label(of: number)
        }
        return CodedOrder(code: { SortCode.of(self.object($0).rawValue) }) {
            label($0) < label($1)
        }
    }

    /// Updates the elements for a step; nil if the elements have to be read again.
    func advance(along step: VersionStep) throws -> Step? {
        switch source {
        case .list(let list):
            guard step.isChanged(list.table, list.column, list.owner) else { return Step() }
            return try advance(along: step, list)
        case .rows:
            return nil
        case .backlinks(let links, let target, let table):
            guard let changes = step.changes(of: links.table) else { return Step() }
            return try advance(along: step, changes, of: links, to: target, in: table)
        }
    }

    /// Makes the numbers of removed elements available again.
    func forget(_ removed: [ObjectKey]) {
        unused += removed.map { Int($0.rawValue) }
    }
}

// Sequences of list elements.
extension ObservedSequence {
    private func advance(along step: VersionStep, _ list: List) throws -> Step? {
        guard let reader = try step.new.table(list.table).list(list.column, list.owner),
            let changes = try changes(along: step, of: list)
        else { return nil }
        // A replaced element is removed, and another one is inserted at its position.
        let goes = (changes.deletions + changes.modifications).sorted()
        var comes: [(position: Int, key: ObjectKey)] = []
        for position in (changes.insertions + changes.modificationsNew).sorted() {
            let key = try reader.key(at: position)
            guard key != nil || list.kind == .map else { return nil }
            comes.append((position, key ?? Self.noObject))
        }
        return try move(goes, comes)
    }

    /// Applies the changes of the rows that are the elements; nil if the rows have to be read again.
    func advance(by changes: CollectionChangeSet) throws -> Step? {
        assert(changes.hasAllKeys, "the changes of rows have keys")
        return try move(changes.deletions, Array(zip(changes.insertions, changes.insertedKeys)))
    }

    private func move(_ goes: [Int], _ comes: [(position: Int, key: ObjectKey)]) throws -> Step? {
        // For very many changes, rebuilding the whole sequence is faster.
        guard goes.count + comes.count <= 64 + positions.count / 8 else { return nil }
        var removed: [ObjectKey: [ObjectKey]] = [:]
        for position in goes.reversed() {
            let number = positions.remove(at: position)
            removed[object(number), default: []].append(number)
        }
        var result = Step()
        for (position, key) in comes {
            guard let label = positions.label(at: position) else { return nil }
            let number: ObjectKey
            if let known = removed[key]?.popLast() {
                number = known
                result.labelsBefore[known] = positions.label(of: known)
            } else {
                number = add(key, label: label)
                result.added.append(number)
            }
            try positions.insert(number, label: label)
        }
        for number in removed.values.joined() {
            unlink(number)
            result.removed.append(number)
        }
        return result
    }

    /// Returns the insertions and deletions, from the edits of the list or, if they are unknown, by comparison.
    private func changes(along step: VersionStep, of list: List) throws -> CollectionChangeSet? {
        let rows = try step.new.table(list.table)
        let count = try rows.listCount(list.column, list.owner)
        if let edits = step.edits(list.table, list.column, list.owner),
            let sequence = EditedSequence(count: positions.count, edits), sequence.count == count
        {
            return sequence.changes()
        }
        let after =
            try list.kind == .map
            ? Self.entries(of: list, in: step.new)
            : rows.linkedKeys(list.column, list.owner)
        guard after.count == count else { return nil }
        return SequenceDifference.changes(
            from: positions.numbers().map(object), to: after, isTouched: { _ in false })
    }
}

// Sequences of backlinks.
extension ObservedSequence {
    private func advance(
        along step: VersionStep, _ changes: TableChanges, of links: WatchGraph.Backlinks,
        to target: ObjectKey, in table: TableID
    ) throws -> Step {
        var result = Step()
        let rows = try step.new.table(links.table)
        func set(_ row: ObjectKey, count wanted: Int) {
            let numbers = numbers(of: row)
            for label in numbers.count..<max(numbers.count, wanted) {
                result.added.append(add(row, label: Int64(label)))
            }
            for number in numbers where positions.label(of: number) >= Int64(wanted) {
                unlink(number)
                result.removed.append(number)
            }
        }
        for row in changes.deleted { set(row, count: 0) }
        for row in changes.inserted.union(changes.modified[links.column] ?? KeySet())
        where try rows.isPresent(row) {
            if !changes.inserted.contains(row), let counts = try step.editedTargets(row, links) {
                set(row, count: max(0, numbers(of: row).count + (counts[target] ?? 0)))
            } else {
                let targets = try LinkTargets.of(row, links.column, in: rows, to: table)
                set(row, count: targets.count { $0 == target })
            }
        }
        return result
    }
}

// The numbers of elements.
extension ObservedSequence {
    private func add(_ object: ObjectKey, label: Int64) -> ObjectKey {
        let number: Int
        if let known = unused.popLast() {
            number = known
            objects[number] = object
        } else {
            number = objects.count
            objects.append(object)
            next.append(-1)
        }
        assert(objects.count == next.count, "each element has an object and a next element")
        positions.set(label, of: ObjectKey(rawValue: Int64(number)))
        next[number] = -1
        // The positions of a map's nil values are never needed.
        if object != Self.noObject {
            next[number] = first[object] ?? -1
            first[object] = Int32(number)
        }
        return ObjectKey(rawValue: Int64(number))
    }

    /// Removes an element from the elements of its object.
    private func unlink(_ number: ObjectKey) {
        let object = object(number)
        guard object != Self.noObject else { return }
        let removed = Int32(number.rawValue)
        var current = first[object] ?? -1
        if current == removed {
            first[object] = next[Int(removed)] < 0 ? nil : next[Int(removed)]
            return
        }
        while current >= 0, next[Int(current)] != removed { current = next[Int(current)] }
        assert(current >= 0, "the elements of an object include each of them")
        if current >= 0 { next[Int(current)] = next[Int(removed)] }
    }
}

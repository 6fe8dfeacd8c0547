import ColumnStorage

/// The elements of an observed list, set or map, of backlinks through lists, or of other observed rows, in their order.
///
/// An object may occur several times, so each element has a number of its own, by which rows are kept. The number stays
/// while its object is an element, also when that moves.
///
/// Takes some fifty bytes for each element. A step costs what it has done to the sequence, times a
/// logarithm.
final class ObservedSequence {
    /// Where the elements come from.
    enum Source {
        case list(TableID, ColumnID, owner: ObjectKey, CollectionKind)
        /// Rows that are followed themselves, and report how they move.
        case rows
        /// The rows that link to a row of a table, as often as each does.
        case backlinks(WatchGraph.Backlinks, target: ObjectKey, TableID)
    }

    /// The changes of a step, in numbers of elements.
    struct Step {
        /// Elements that are gone; their objects can be read until `forget`.
        var removed: [ObjectKey] = []
        var added: [ObjectKey] = []
        /// Elements with another position, with the labels that they had.
        var labelsBefore: [ObjectKey: Int64] = [:]
    }

    let source: Source
    private var objects: [ObjectKey] = []
    /// Where all elements are; of backlinks, which need no positions, only their labels.
    private var places = ElementPlaces()
    private var unused: [Int] = []
    /// The elements of each object: the first one, and behind each the next; -1 at the end.
    private var first: [ObjectKey: Int32] = [:]
    private var next: [Int32] = []

    /// The object of an entry of a map whose value is nil: it has a place, and is no row.
    static let noObject = ObjectKey(rawValue: -1)

    init(_ source: Source, _ keys: some Sequence<ObjectKey>) {
        self.source = source
        var numbers: [ObjectKey] = []
        for key in keys {
            let label = ElementPlaces.firstLabel(at: numbers.count)
            switch source {
            case .list, .rows: numbers.append(add(key, label: label))
            case .backlinks: numbers.append(add(key, label: Int64(self.numbers(of: key).count)))
            }
        }
        if case .backlinks = source { return }
        places.place(numbers)
    }

    /// Reads the elements of a source in a view, those of a map with its nulls.
    convenience init(_ source: Source, of query: Query, in view: StoreView) {
        if case .list(let table, let column, let owner, .map) = source {
            self.init(source, Self.entries(of: owner, table, column, in: view))
        } else {
            let base = Query(query.base, of: query.table)
            self.init(source, QueryEvaluator.keys(of: base, in: view))
        }
    }

    /// The entries of a collection.
    private static func entries(
        of owner: ObjectKey, _ table: TableID, _ column: ColumnID, in view: StoreView
    ) -> [ObjectKey] {
        view.table(table).listElements(column, owner).map {
            if case .int(let key) = $0 { ObjectKey(rawValue: key) } else { noObject }
        }
    }

    /// The object that an element is.
    func object(_ number: ObjectKey) -> ObjectKey { objects[Int(number.rawValue)] }

    /// All elements of a sequence with positions, in its order.
    func numbers() -> [ObjectKey] { places.numbers() }

    /// Whether an element is an object at all.
    func isObject(_ number: ObjectKey) -> Bool { object(number) != Self.noObject }

    /// The elements that an object is.
    func numbers(of object: ObjectKey) -> [ObjectKey] {
        var found: [ObjectKey] = []
        var number = first[object] ?? -1
        while number >= 0 {
            found.append(ObjectKey(rawValue: Int64(number)))
            number = next[Int(number)]
        }
        return found
    }

    /// The elements that some objects are, in any order.
    func numbers(of wanted: KeySet) -> [ObjectKey] {
        guard wanted.count > first.count else { return wanted.flatMap(numbers) }
        return first.keys.filter(wanted.contains).flatMap(numbers)
    }

    /// The elements that objects in some order are, where equal ones keep the order of the sequence.
    func numbers(inOrder keys: some Sequence<ObjectKey>) -> [ObjectKey] {
        // What is left of the elements of objects that are several, the last one first.
        var several: [ObjectKey: [ObjectKey]] = [:]
        let order = order()
        return keys.compactMap { key in
            guard let number = first[key] else { return nil }
            if next[Int(number)] < 0 { return ObjectKey(rawValue: Int64(number)) }
            return several[key, default: numbers(of: key).sorted { order.precedes($1, $0) }]
                .popLast()
        }
    }

    /// Whether one element precedes another; `labelsBefore` are those of an earlier version.
    func order(labelsBefore: [ObjectKey: Int64] = [:]) -> CodedOrder {
        guard case .backlinks = source else { return places.order(labelsBefore: labelsBefore) }
        func label(_ number: ObjectKey) -> Int64 {
            labelsBefore[number] ?? places.label(of: number)
        }
        return CodedOrder(code: { SortCode.of(self.object($0).rawValue) }) {
            label($0) < label($1)
        }
    }

    /// Advances along a step; nil if the elements have to be read again.
    func advance(along step: VersionStep) -> Step? {
        switch source {
        case .list(let table, let column, let owner, let kind):
            guard step.isChanged(table, column, owner) else { return Step() }
            return advance(along: step, table, column, owner, kind)
        case .rows:
            return nil
        case .backlinks(let links, let target, let table):
            guard let changes = step.changes(of: links.table) else { return Step() }
            return advance(along: step, changes, links, target, table)
        }
    }

    /// Releases elements that were removed.
    func forget(_ removed: [ObjectKey]) {
        unused += removed.map { Int($0.rawValue) }
    }
}

// Lists.
extension ObservedSequence {
    private func advance(
        along step: VersionStep, _ table: TableID, _ column: ColumnID, _ owner: ObjectKey,
        _ kind: CollectionKind
    ) -> Step? {
        guard let list = step.new.table(table).list(column, owner),
            let changes = changes(along: step, table, column, owner, kind)
        else { return nil }
        // Elements that were replaced are gone, and others are in their places.
        let goes = (changes.deletions + changes.modifications).sorted()
        var comes: [(position: Int, key: ObjectKey)] = []
        for position in (changes.insertions + changes.modificationsNew).sorted() {
            do {
                let key = try list.key(at: position)
                guard key != nil || kind == .map else { return nil }
                comes.append((position, key ?? Self.noObject))
            } catch {
                // because: elements that cannot be read are found by reading all of them again.
                return nil
            }
        }
        return move(goes, comes)
    }

    /// Advances along the changes of the rows that the elements are; nil if they have to be read again.
    func advance(by changes: CollectionChangeSet) -> Step? {
        move(changes.deletions, Array(zip(changes.insertions, changes.insertedKeys)))
    }

    private func move(_ goes: [Int], _ comes: [(position: Int, key: ObjectKey)]) -> Step? {
        // Very many are done sooner all at once.
        guard goes.count + comes.count <= 64 + places.count / 8 else { return nil }
        var gone: [ObjectKey: [ObjectKey]] = [:]
        for position in goes.reversed() {
            let number = places.remove(at: position)
            gone[object(number), default: []].append(number)
        }
        var result = Step()
        for (position, key) in comes {
            guard let label = places.label(at: position) else { return nil }
            let number: ObjectKey
            if let known = gone[key]?.popLast() {
                number = known
                result.labelsBefore[known] = places.label(of: known)
            } else {
                number = add(key, label: label)
                result.added.append(number)
            }
            places.insert(number, label: label)
        }
        for number in gone.values.joined() {
            unlink(number)
            result.removed.append(number)
        }
        return result
    }

    /// Where elements came and went, by the edits of the list or, if they are not known, by comparing.
    private func changes(
        along step: VersionStep, _ table: TableID, _ column: ColumnID, _ owner: ObjectKey,
        _ kind: CollectionKind
    ) -> CollectionChangeSet? {
        let rows = step.new.table(table)
        let count = rows.listCount(column, owner)
        if let edits = step.edits(table, column, owner),
            let sequence = EditedSequence(count: places.count, edits), sequence.count == count
        {
            return sequence.changes()
        }
        let after =
            kind == .map
            ? Self.entries(of: owner, table, column, in: step.new)
            : rows.linkedKeys(column, owner)
        guard after.count == count else { return nil }
        return SequenceDifference.changes(
            from: places.numbers().map(object), to: after, isTouched: { _ in false })
    }
}

// Backlinks.
extension ObservedSequence {
    private func advance(
        along step: VersionStep, _ changes: TableChanges, _ links: WatchGraph.Backlinks,
        _ target: ObjectKey, _ table: TableID
    ) -> Step {
        var result = Step()
        let rows = step.new.table(links.table)
        func set(_ row: ObjectKey, count wanted: Int) {
            let numbers = numbers(of: row)
            for label in numbers.count..<max(numbers.count, wanted) {
                result.added.append(add(row, label: Int64(label)))
            }
            for number in numbers where places.label(of: number) >= Int64(wanted) {
                unlink(number)
                result.removed.append(number)
            }
        }
        for row in changes.deleted { set(row, count: 0) }
        for row in changes.inserted.union(changes.modified[links.column] ?? KeySet())
        where rows.isPresent(row) {
            if !changes.inserted.contains(row), let counts = step.editedTargets(row, links) {
                set(row, count: max(0, numbers(of: row).count + (counts[target] ?? 0)))
            } else {
                let targets = LinkTargets.of(row, links.column, in: rows, to: table)
                set(row, count: targets.count { $0 == target })
            }
        }
        return result
    }
}

// Numbers.
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
        places.set(label, of: ObjectKey(rawValue: Int64(number)))
        next[number] = -1
        // The positions of the nulls of a map are never needed.
        if object != Self.noObject {
            next[number] = first[object] ?? -1
            first[object] = Int32(number)
        }
        return ObjectKey(rawValue: Int64(number))
    }

    /// The object no longer has this element.
    private func unlink(_ number: ObjectKey) {
        let object = object(number)
        guard object != Self.noObject else { return }
        let gone = Int32(number.rawValue)
        var place = first[object] ?? -1
        if place == gone {
            first[object] = next[Int(gone)] < 0 ? nil : next[Int(gone)]
            return
        }
        while place >= 0, next[Int(place)] != gone { place = next[Int(place)] }
        if place >= 0 { next[Int(place)] = next[Int(gone)] }
    }
}

import ColumnStorage
import Synchronization

/// The reads of a reaction from one store.
struct StoreReads {
    /// The reads of one table.
    struct TableReads {
        /// The objects whose values were read, by column.
        var columns: [ColumnID: Set<ObjectKey>] = [:]
        /// The columns in which too many objects were read to list each of them.
        var wholeColumns: Set<ColumnID> = []
        /// The objects whose existence was read; the value is true if all properties of the object were read.
        var objects: [ObjectKey: Bool] = [:]
        /// Whether the deletion of any object counts as a change, because a whole column was read.
        var anyObject = false
    }

    /// An object that was looked up without a query.
    struct Lookup {
        let table: TableID
        let result: ObjectKey?
        let find: (StoreView) throws -> ObjectKey?
    }

    /// The maximum number of recorded objects of a column; with more, the whole column counts as read.
    private static let maxObjects = 10_000
    /// The maximum number of objects under which an observer is registered; with more, it is registered under their
    /// columns.
    private static let maxFiledObjects = 64

    private(set) var tables: [TableID: TableReads] = [:]
    private(set) var nodes: [LiveNodeKey: LiveNodeHold] = [:]
    private(set) var lookups: [Lookup] = []

    /// Adds a property of an object; nil for all of its properties.
    mutating func add(_ table: TableID, _ key: ObjectKey, _ column: ColumnID?) {
        guard let column else {
            tables[table, default: TableReads()].objects[key] = true
            return
        }
        var reads = tables[table] ?? TableReads()
        tables[table] = nil  // makes the copy the only one, which is then changed in place
        if !reads.wholeColumns.contains(column) {
            reads.columns[column, default: []].insert(key)
            if reads.columns[column]?.count ?? 0 > Self.maxObjects {
                reads.columns[column] = nil
                reads.wholeColumns.insert(column)
                reads.anyObject = true
            }
        }
        tables[table] = reads
    }

    /// Adds a property of all objects.
    mutating func add(_ table: TableID, wholeColumn column: ColumnID) {
        tables[table, default: TableReads()].wholeColumns.insert(column)
        tables[table]?.anyObject = true
    }

    /// Adds a read of whether an object exists.
    mutating func add(existenceOf key: ObjectKey, in table: TableID) {
        if tables[table]?.objects[key] == nil {
            tables[table, default: TableReads()].objects[key] = false
        }
    }

    mutating func add(_ hold: LiveNodeHold, _ key: LiveNodeKey) { nodes[key] = hold }

    mutating func add(_ lookup: Lookup) { lookups.append(lookup) }

    /// The changes after which the reaction runs again.
    var interests: ObserverInterests {
        var interests = ObserverInterests()
        for (table, reads) in tables {
            assert(reads.wholeColumns.isEmpty || reads.anyObject, "a column includes all objects")
            var keys = Set(reads.objects.keys)
            for read in reads.columns.values { keys.formUnion(read) }
            if keys.count <= Self.maxFiledObjects, !reads.anyObject {
                for key in keys { interests.add(row: ObjectReference(table: table, key: key)) }
                continue
            }
            interests.add(membershipOf: table)
            if reads.objects.values.contains(true) { interests.add(everythingOf: table) }
            for column in reads.columns.keys { interests.add(column: column, of: table) }
            for column in reads.wholeColumns { interests.add(column: column, of: table) }
        }
        for hold in nodes.values { interests.formUnion(hold.node.interests) }
        for lookup in lookups { interests.add(membershipOf: lookup.table) }
        return interests
    }

    /// Returns whether both have the same dependencies, so that an observer need not be registered again.
    func hasSameInterests(as other: StoreReads) -> Bool {
        guard tables.count == other.tables.count, nodes.count == other.nodes.count,
            lookups.count == other.lookups.count
        else { return false }
        for (key, hold) in nodes where other.nodes[key] !== hold { return false }
        for (table, reads) in tables {
            guard let others = other.tables[table], reads.columns == others.columns,
                reads.wholeColumns == others.wholeColumns, reads.objects == others.objects
            else { return false }
        }
        return zip(lookups, other.lookups).allSatisfy { $0.table == $1.table }
    }
}

extension StoreReads {
    /// Returns whether a read value has changed since a version; true if that cannot be determined.
    func hasChanged(since version: UInt64, in store: Store) -> Bool {
        if nodes.values.contains(where: { $0.node.changedAt > version }) { return true }
        // because: if the history cannot be read, the changes are unknown.
        let changes = try? store.view.snapshot.changes(from: version, to: store.version)
        guard let changes = changes ?? nil else { return true }
        let step = VersionStep(from: store.view, to: store.view, changes: changes)
        return (try? change(in: step, comparingValues: false) == nil) != true
    }

    /// Returns the read objects and lookups that a step has changed; nil if there are none.
    ///
    /// If values are compared, a value that was set to an equal one does not count as changed.
    func change(in step: VersionStep, comparingValues: Bool = true) throws -> ChangeCauses? {
        if step.changes.schemaChanged { return ChangeCauses() }
        var change = ChangeCauses()
        var isChanged = false
        for (table, reads) in tables {
            guard let changes = step.changes(of: table) else { continue }
            let deleted =
                reads.anyObject ? Array(changes.deleted) : reads.objects(in: changes.deleted)
            // A read of a deleted object has failed, and succeeds after an undo.
            for key in deleted + reads.objects(in: changes.inserted) {
                isChanged = true
                if !change.isFull { change.add(ObjectReference(table: table, key: key), nil) }
            }
            for (column, keys) in changes.modified where !keys.isEmpty {
                for key in reads.hits(column, keys)
                where !comparingValues || isAnother(column, of: key, in: table, step: step) {
                    isChanged = true
                    if !change.isFull {
                        change.add(ObjectReference(table: table, key: key), column)
                    }
                }
            }
        }
        for lookup in lookups {
            guard let changes = step.changes(of: lookup.table),
                !changes.inserted.isEmpty || !changes.deleted.isEmpty
            else { continue }
            if try lookup.find(step.new) != lookup.result { isChanged = true }
        }
        return isChanged ? change : nil
    }

    /// Returns whether the value of a property differs; an edited collection always counts as different.
    private func isAnother(
        _ column: ColumnID, of key: ObjectKey, in table: TableID, step: VersionStep
    ) -> Bool {
        guard let classSchema = step.new.schema.find(table: table),
            let property = classSchema.property(in: column), property.collection == nil
        else { return true }
        guard
            let new = try? step.new.value(property, of: key, in: classSchema),
            let old = try? step.old.value(property, of: key, in: classSchema)
        else { return true }
        return new != old
    }
}

extension StoreReads.TableReads {
    /// Returns the objects of a set of which something was read.
    func objects(in keys: KeySet) -> [ObjectKey] {
        let count = columns.values.reduce(objects.count) { $0 + $1.count }
        if keys.count <= count {
            return keys.filter { key in
                objects[key] != nil || columns.values.contains { $0.contains(key) }
            }
        }
        let found = columns.values.reduce(into: Set(objects.keys.filter(keys.contains))) {
            $0.formUnion($1.filter(keys.contains))
        }
        return Array(found)
    }

    /// Returns the changed objects of a column that were read.
    func hits(_ column: ColumnID, _ keys: KeySet) -> [ObjectKey] {
        if wholeColumns.contains(column) { return keys.prefix(1).map { $0 } }
        let read = columns[column] ?? []
        let wholes = objects.filter(\.value)
        if keys.count <= read.count + wholes.count {
            return keys.filter { read.contains($0) || wholes[$0] != nil }
        }
        return read.filter(keys.contains) + wholes.keys.filter(keys.contains)
    }
}

/// The running reaction of a thread, to which stores report reads.
///
/// All stores of a script share one scope, which is confined to their thread.
package final class ReadScope {
    /// The innermost running reaction; nil while reads are not tracked.
    package private(set) var reaction: Reaction? {
        didSet { tracks.store(reaction != nil, ordering: .relaxed) }
    }
    /// Whether a reaction is running; an atomic, because its loads need no check for exclusive access.
    private let tracks = Atomic(false)

    /// Whether a reaction is running.
    ///
    /// Equals `reaction != nil`, at the cost of one load; used when scripts read properties.
    package var isTracking: Bool { tracks.load(ordering: .relaxed) }

    /// The recorder of reads outside of reactions; nil for none.
    package var subscriptions: ReadSubscriptions?

    /// The recorder of the next read; nil for none.
    fileprivate var recorder: ReadRecorder? {
        if let reaction { return reaction }
        guard let subscriptions, subscriptions.areWanted else { return nil }
        return subscriptions
    }

    /// Creates a scope without a running reaction.
    package init() {}

    /// Runs a body with a reaction as the innermost one; with nil, its reads are not tracked.
    package func tracking<Result>(
        _ reaction: Reaction?, _ body: () throws -> Result
    ) rethrows -> Result {
        let outer = self.reaction
        self.reaction = reaction
        defer { self.reaction = outer }
        return try body()
    }
}

extension Store {
    /// The recorder of the next read.
    ///
    /// The value is nil if no reads are tracked, and inside a write transaction with changes, because its reads cannot
    /// be tracked.
    package var reader: ReadRecorder? {
        guard let recorder = readScope?.recorder, notifications.isUnchanged else { return nil }
        return recorder
    }
}

extension Store {
    /// Whether the open write transaction has changed data, so that reads do not see a committed version.
    package var isChanging: Bool { !notifications.isUnchanged }
}

extension NotificationDispatcher {
    /// Whether the store shows a committed version.
    var isUnchanged: Bool {
        !store.isInWrite || (depth > 0 && store.view.generation == cleanGeneration)
    }
}

extension ObjectSource {
    /// The store and the recorder of its reads, if reads are tracked.
    var tracked: (store: Store, reader: ReadRecorder)? {
        guard case .store(let store) = self, let reader = store.reader else { return nil }
        return (store, reader)
    }

    /// Records that a property is read, if reads are tracked; nil for all properties.
    package func recordRead(_ classSchema: ClassSchema, _ key: ObjectKey, _ column: ColumnID?) {
        guard let (store, reader) = tracked else { return }
        reader.recordRead(of: store, classSchema.table, key, column)
    }
}

/// Records the reads of a store.
package class ReadRecorder {
    /// Records that a property of an object is read; nil for all properties.
    package func recordRead(
        of store: Store, _ table: TableID, _ key: ObjectKey, _ column: ColumnID?
    ) {}

    /// Records a read of whether an object exists.
    func recordRead(of store: Store, existenceOf reference: ObjectReference) {}

    /// Records that an object was looked up by a value.
    func recordLookup(of store: Store, _ lookup: StoreReads.Lookup, by value: Value) {}

    /// Records that a node is read.
    func recordRead(of store: Store, _ hold: LiveNodeHold, _ key: LiveNodeKey) {}
}

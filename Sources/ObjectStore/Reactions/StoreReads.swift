import ColumnStorage

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
    private static let mostObjects = 10_000
    /// The maximum number of objects under which an observer is registered; with more, it is registered under their
    /// columns.
    private static let mostFiledObjects = 64

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
            if reads.columns[column]?.count ?? 0 > Self.mostObjects {
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
            var keys = Set(reads.objects.keys)
            for read in reads.columns.values { keys.formUnion(read) }
            if keys.count <= Self.mostFiledObjects, !reads.anyObject {
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
            for key in deleted(reads, changes) {
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

    private func deleted(_ reads: TableReads, _ changes: TableChanges) -> [ObjectKey] {
        changes.deleted.filter { key in
            reads.anyObject || reads.objects[key] != nil
                || reads.columns.values.contains { $0.contains(key) }
        }
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

import ColumnStorage

/// The reads of a reaction from one store.
struct StoreReads {
    /// The reads of one table.
    struct TableReads {
        /// The objects whose values were read, by column.
        var columns: [ColumnID: Set<ObjectKey>] = [:]
        /// Columns that were read of too many objects to remember them.
        var wholeColumns: Set<ColumnID> = []
        /// Objects of which it matters that they exist, or all their properties.
        var objects: [ObjectKey: Bool] = [:]
        /// Whether the deletion of any object matters.
        var anyObject = false
    }

    /// An object that was looked up by something else than a query.
    struct Lookup {
        let table: TableID
        let result: ObjectKey?
        let find: (StoreView) -> ObjectKey?
    }

    /// Above this many objects of a column, the column counts as a whole.
    private static let mostObjects = 10_000
    /// Above this many objects, an observer is filed under their columns instead of each object.
    private static let mostFiledObjects = 64

    private(set) var tables: [TableID: TableReads] = [:]
    private(set) var nodes: [LiveNodeKey: LiveNodeHold] = [:]
    private(set) var lookups: [Lookup] = []

    var isEmpty: Bool { tables.isEmpty && nodes.isEmpty && lookups.isEmpty }

    /// Adds a property of an object; nil for all of its properties.
    mutating func add(_ table: TableID, _ key: ObjectKey, _ column: ColumnID?) {
        guard let column else {
            tables[table, default: TableReads()].objects[key] = true
            return
        }
        var reads = tables[table] ?? TableReads()
        tables[table] = nil  // so that the copy is the only one and is changed in place
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

    /// Adds that an object exists or does not.
    mutating func add(existenceOf key: ObjectKey, in table: TableID) {
        if tables[table]?.objects[key] == nil {
            tables[table, default: TableReads()].objects[key] = false
        }
    }

    mutating func add(_ hold: LiveNodeHold, _ key: LiveNodeKey) { nodes[key] = hold }

    mutating func add(_ lookup: Lookup) { lookups.append(lookup) }

    /// The changes that make the reaction run again.
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

    /// Whether both depend on the same, so that an observer need not be filed again.
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

/// The reads of a reaction that a step has changed.
struct ReadChange {
    /// The first objects that were changed, at most a hundred.
    var objects: [ObjectReference] = []
    /// The properties of those objects, in no order.
    var columns: Set<ColumnID> = []

    private static let mostObjects = 100

    mutating func add(_ table: TableID, _ key: ObjectKey) {
        if objects.count < Self.mostObjects {
            objects.append(ObjectReference(table: table, key: key))
        }
    }
}

extension StoreReads {
    /// Whether anything that was read has changed since a version, as far as the history is known.
    func hasChanged(since version: UInt64, in store: Store) -> Bool {
        if nodes.values.contains(where: { $0.node.changedAt > version }) { return true }
        // because: a history that cannot be read is unknown.
        let changes = try? store.view.snapshot.changes(from: version, to: store.version)
        guard let changes = changes ?? nil else { return true }
        let step = VersionStep(from: store.view, to: store.view, changes: changes)
        return change(in: step, comparingValues: false) != nil
    }

    /// The objects and lookups that a step has changed; nil if none.
    ///
    /// A value that was set to an equal one is not a change, unless values are not compared.
    func change(in step: VersionStep, comparingValues: Bool = true) -> ReadChange? {
        if step.changes.schemaChanged { return ReadChange() }
        var change = ReadChange()
        var isChanged = false
        for (table, reads) in tables {
            guard let changes = step.changes(of: table) else { continue }
            for key in deleted(reads, changes) {
                isChanged = true
                change.add(table, key)
            }
            for (column, keys) in changes.modified where !keys.isEmpty {
                for key in reads.hits(column, keys)
                where !comparingValues || isAnother(column, key, table, step) {
                    isChanged = true
                    change.columns.insert(column)
                    change.add(table, key)
                }
            }
        }
        for lookup in lookups {
            guard let changes = step.changes(of: lookup.table),
                !changes.inserted.isEmpty || !changes.deleted.isEmpty
            else { continue }
            if lookup.find(step.new) != lookup.result { isChanged = true }
        }
        return isChanged ? change : nil
    }

    private func deleted(_ reads: TableReads, _ changes: TableChanges) -> [ObjectKey] {
        changes.deleted.filter { key in
            reads.anyObject || reads.objects[key] != nil
                || reads.columns.values.contains { $0.contains(key) }
        }
    }

    /// Whether the value of a property differs; collections that were edited always do.
    private func isAnother(
        _ column: ColumnID, _ key: ObjectKey, _ table: TableID, _ step: VersionStep
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
    /// The objects of a change of a column that were read.
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

import ColumnStorage

/// The reason for a call of an observer.
package struct DeliveryReason: Sendable {
    /// An object whose change caused the call.
    package struct Cause: Sendable {
        package let object: ObjectReference
        /// The names of the changed properties, in schema order; empty for an object that was created or deleted.
        package let properties: [String]
    }

    /// The version that the observer had seen before the call.
    package let previousVersion: UInt64
    /// The version that the observer has seen with the call.
    package let version: UInt64
    /// The changed objects: observed ones and, at most a hundred, those that paths and conditions lead to.
    package let causes: [Cause]
    /// The number of objects that the call reported.
    package let rowCount: Int
    /// The first key path of the observer that matched; nil without key paths, or if only rows entered or left.
    package let keyPath: String?

    /// Creates the reason for the last call after the owner of a collection was deleted, or its class was removed.
    init(ending owner: ObjectReference?, rowCount: Int = 0, in step: VersionStep) {
        (previousVersion, version) = (step.old.version, step.new.version)
        causes = owner.map { [Cause(object: $0, properties: [])] } ?? []
        (self.rowCount, keyPath) = (rowCount, nil)
    }

    /// Creates the reason for a report.
    init(
        previousVersion: UInt64, version: UInt64, causes: [Cause], rowCount: Int,
        keyPath: String? = nil
    ) {
        self.previousVersion = previousVersion
        self.version = version
        self.causes = causes
        self.rowCount = rowCount
        self.keyPath = keyPath
    }

    /// The names of the changed properties of all objects, without duplicates.
    package var properties: [String] {
        var known: Set<String> = []
        return causes.flatMap(\.properties).filter { known.insert($0).inserted }
    }
}

/// The objects and columns whose changes cause a call.
struct ChangeCauses: Sendable {
    private var columns: [ObjectReference: Set<ColumnID>] = [:]

    /// The maximum number of objects behind links, so that a call for many rows does not read all of them.
    static let maxLinked = 100

    var isEmpty: Bool { columns.isEmpty }
    var isFull: Bool { columns.count >= Self.maxLinked }

    /// Adds a changed column, or with nil the creation or deletion of an object.
    mutating func add(_ object: ObjectReference, _ column: ColumnID?) {
        if let column {
            columns[object, default: []].insert(column)
        } else {
            columns[object, default: []] = []
        }
    }

    /// Returns the causes with the names of a schema, in the order of classes and keys.
    func named(in schema: Schema) -> [DeliveryReason.Cause] {
        columns.sorted { left, right in
            left.key.table == right.key.table
                ? left.key.key < right.key.key : left.key.table < right.key.table
        }.map { object, columns in
            let properties = schema.find(table: object.table)?.properties ?? []
            return DeliveryReason.Cause(
                object: object,
                properties: properties.filter { !$0.isBacklinks && columns.contains($0.column) }
                    .map(\.name))
        }
    }
}

/// Finds the changes that cause the reports of a collection's rows.
///
/// A row is explained by its own columns or, if none of these changed, by the objects that the paths of the observer
/// lead to.
struct RowCauses {
    private let table: TableID
    /// The dependencies of the rows' values.
    private let values: WatchedPaths?
    /// The dependencies of membership and order.
    private let membership: WatchGraph
    /// The owner of a list whose objects are the rows, and the list's column.
    private let list: (owner: ObjectReference, column: ColumnID)?

    /// Creates the causes for the rows of a query; `others` are further paths that decide whether a row is reported.
    init(
        _ query: Query, values: WatchedPaths?, and others: [PropertyPath] = [], schema: Schema
    ) {
        table = query.table
        self.values = values
        var paths = query.dependencies + others
        var list: (owner: ObjectReference, column: ColumnID)?
        switch query.base {
        case .table: break
        case .list(let table, let column, let owner):
            list = (ObjectReference(table: table, key: owner), column)
        case .backlinks(let table, let column, _):
            if let source = schema.find(table: table), let link = source.property(in: column) {
                paths.append(PropertyPath([.init(link, of: source, in: schema)]))
            }
        }
        self.list = list
        membership = WatchGraph(paths, of: query.table)
    }

    /// Returns a function that creates the reason for a report of rows, when a caller first asks for it.
    ///
    /// The function captures the change set but no version, because versions keep pages in the file.
    func reason(
        moved: [ObjectKey], modified: [ObjectKey], keyPath: String? = nil, in step: VersionStep
    ) throws -> () -> DeliveryReason {
        let changes = step.changes(of: table) ?? TableChanges()
        let (valueColumns, membershipColumns) = (values?.ownColumns, membership.ownColumns)
        var linked = ChangeCauses()
        let missed = unexplained(modified, changes, valueColumns)
        if let values, !missed.isEmpty {
            try values.addCauses(of: missed, in: step, to: &linked)
        }
        let strayed = unexplained(moved, changes, membershipColumns)
        if !strayed.isEmpty {
            if let list, step.isChanged(list.owner.table, list.column, list.owner.key) {
                linked.add(list.owner, list.column)
            }
            try membership.addCauses(of: strayed, in: step, to: &linked)
        }
        if linked.isEmpty, !strayed.isEmpty || !missed.isEmpty,
            strayed.count == Set(moved).count, missed.count == modified.count
        {
            // Another row left or entered, so that these rows moved, as before a limit.
            try membership.addCauses(of: nil, in: step, to: &linked)
            for key in changes.inserted.prefix(ChangeCauses.maxLinked) {
                linked.add(ObjectReference(table: table, key: key), nil)
            }
            for key in changes.deleted.prefix(ChangeCauses.maxLinked) {
                linked.add(ObjectReference(table: table, key: key), nil)
            }
        }
        let (table, schema, version) = (table, step.new.schema, step.new.version)
        let previousVersion = step.old.version
        return {
            var causes = linked
            func add(_ keys: [ObjectKey], _ columns: Set<ColumnID>?) {
                for key in keys {
                    let object = ObjectReference(table: table, key: key)
                    if changes.inserted.contains(key) || changes.deleted.contains(key) {
                        causes.add(object, nil)
                        continue
                    }
                    for (column, rows) in changes.modified
                    where columns?.contains(column) ?? true && rows.contains(key) {
                        causes.add(object, column)
                    }
                }
            }
            add(modified, valueColumns)
            add(moved, membershipColumns)
            return DeliveryReason(
                previousVersion: previousVersion, version: version,
                causes: causes.named(in: schema),
                rowCount: Set(moved).union(modified).count, keyPath: keyPath)
        }
    }

    /// Returns the first rows that no change of their own explains.
    private func unexplained(
        _ keys: [ObjectKey], _ changes: TableChanges, _ columns: Set<ColumnID>?
    ) -> KeySet {
        var found: [ObjectKey] = []
        for key in keys where !changes.inserted.contains(key) && !changes.deleted.contains(key) {
            let isOwn = changes.modified.contains { column, rows in
                (columns?.contains(column) ?? true) && rows.contains(key)
            }
            if !isOwn { found.append(key) }
            if found.count == ChangeCauses.maxLinked { break }
        }
        return KeySet(unordered: found)
    }
}

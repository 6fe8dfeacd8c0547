import ColumnStorage
import MemoryAccounts

/// A schema and a snapshot, which all reads use.
///
/// The live view belongs to a ``Store``, moves with it and shows the changes of its open write transaction; frozen
/// views show one version permanently. A view is confined to one thread.
package final class StoreView {
    /// The classes in this version.
    package internal(set) var schema: Schema {
        get { currentSchema }
        set { currentSchema = newValue }
    }
    // The stored schema and the number of changes below are private, so that the compiler sees all code that changes
    // them and need not guard every read.
    private var currentSchema: Schema

    /// The data of this version.
    package let snapshot: Snapshot

    /// Whether the view shows one version permanently.
    package let isFrozen: Bool

    /// The number of changes inside write transactions; 0 for a frozen view.
    package var generation: UInt64 { changeCount }
    private var changeCount: UInt64 = 0
    /// The number of the last change that may have been of several objects.
    private var lastOtherChange: UInt64 = 0
    /// The properties that have changed since then.
    private var propertyChanges: [ObjectChanges] = []
    /// The creations, deletions and changes of whole objects of one class since then, if there were any.
    private var objectChanges = ObjectChanges(
        column: nil, table: TableID(rawValue: 0), last: 0, row: ObjectKey(rawValue: 0), lastOther: 0
    )

    /// The changes of one property, or of whole objects of one class, since the last change that may have been of several
    /// objects.
    private struct ObjectChanges {
        /// The property; nil for whole objects.
        let column: ColumnID?
        let table: TableID
        /// The number of the last change.
        var last: UInt64
        /// The object of the last change.
        var row: ObjectKey
        /// The number of the last change that may have been of another object.
        var lastOther: UInt64

        mutating func add(_ change: UInt64, of row: ObjectKey) {
            if row != self.row { (self.row, lastOther) = (row, last) }
            last = change
        }
    }

    /// The mixed value that was used last.
    var recentMixed: RecentMixedValue?
    /// The backlinks that were read last: a loop over the elements creates their results for each one.
    var recentBacklinks: (base: Query.Base, stamp: ViewStamp, keys: ResultKeys)?

    /// The threads that read many objects of this view.
    var threads = ScanThreads.one

    /// Whether a frozen view was closed, so that it cannot be read.
    package private(set) var isClosed = false
    /// The pin that names the holder of a frozen view.
    private var pin: VersionRegistry.Pin?
    /// The version of the original file, if the snapshot is of a copy of its data.
    let originalVersion: UInt64?

    init(
        schema: Schema, snapshot: Snapshot, isFrozen: Bool, pin: VersionRegistry.Pin? = nil,
        originalVersion: UInt64? = nil
    ) {
        assert(
            isFrozen || pin == nil && originalVersion == nil,
            "a live view shows the file itself, and its store has the pin")
        currentSchema = schema
        self.snapshot = snapshot
        self.isFrozen = isFrozen
        self.pin = pin
        self.originalVersion = originalVersion
    }

    /// Records a change, or the rollback of changes, inside a write transaction.
    func recordChange() {
        assert(!isFrozen, "a frozen view does not change")
        changeCount &+= 1
        lastOtherChange = changeCount
        if !propertyChanges.isEmpty { propertyChanges.removeAll(keepingCapacity: true) }
    }

    /// Records a change of one object's property inside a write transaction, which creates and deletes no object.
    func recordChange(of column: ColumnID, in table: TableID, _ row: ObjectKey) {
        assert(!isFrozen, "a frozen view does not change")
        changeCount &+= 1
        let known = propertyChanges.firstIndex { $0.column == column && $0.table == table }
        if let known {
            propertyChanges[known].add(changeCount, of: row)
        } else if propertyChanges.count < Self.maxPropertyChanges {
            propertyChanges.append(
                ObjectChanges(
                    column: column, table: table, last: changeCount, row: row,
                    lastOther: lastOtherChange))
        } else {
            recordChange()
        }
    }

    /// Records that one object was created, deleted or changed inside a write transaction, and no other object.
    func recordChange(of row: ObjectKey, in table: TableID) {
        assert(!isFrozen, "a frozen view does not change")
        if objectChanges.last > lastOtherChange {
            guard objectChanges.table == table else { return recordChange() }
            changeCount &+= 1
            objectChanges.add(changeCount, of: row)
        } else {
            changeCount &+= 1
            objectChanges = ObjectChanges(
                column: nil, table: table, last: changeCount, row: row, lastOther: lastOtherChange)
        }
    }

    /// The list is searched at each change.
    private static let maxPropertyChanges = 8

    /// Returns whether what was read at a stamp is the same now; `reads` returns whether it depends on a property or, with
    /// nil, on anything else of the objects of a class.
    func isCurrent(_ stamp: ViewStamp, reading reads: (ColumnID?, TableID) -> Bool) -> Bool {
        assert(
            propertyChanges.allSatisfy { $0.last > lastOtherChange },
            "the listed properties have changed since the last other change")
        guard stamp.version == version else { return false }
        if stamp.generation == changeCount { return true }
        guard stamp.generation >= lastOtherChange else { return false }
        func isRead(_ change: ObjectChanges) -> Bool {
            change.last > stamp.generation && reads(change.column, change.table)
        }
        return !isRead(objectChanges) && !propertyChanges.contains(where: isRead)
    }

    /// Returns the only object that was created, deleted or changed since a stamp, as far as `reads` selects the changes;
    /// nil if there may be others, or none.
    func onlyChange(
        since stamp: ViewStamp, in table: TableID, reading reads: (ColumnID?, TableID) -> Bool
    ) -> ObjectKey? {
        guard stamp.version == version, stamp.generation >= lastOtherChange else { return nil }
        var row: ObjectKey?
        for change in propertyChanges + [objectChanges]
        where change.last > stamp.generation && reads(change.column, change.table) {
            guard change.table == table, change.lastOther <= stamp.generation,
                row == nil || row == change.row
            else { return nil }
            row = change.row
        }
        return row
    }

    /// Releases a frozen version now, instead of with the last reference to its objects.
    ///
    /// A live view is closed with its store.
    package func close() {
        guard isFrozen, !isClosed else { return }
        isClosed = true
        pin = nil
        snapshot.close()
    }

    /// A number that identifies the file in this process, also when it is opened again.
    package var fileNumber: UInt64 { snapshot.file.number }

    /// Throws `file_replaced` if another program has changed the file, so that what was read may be wrong.
    func requireUnchanged() throws {
        try StoreError.wrapping { () throws(StorageError) in try snapshot.requireUnchanged() }
    }

    /// Returns the identity of the commit of a version up to that of the view, as hexadecimal digits.
    ///
    /// It is empty if the history no longer contains the version, or an older build has committed it. Throws
    /// `file_corrupt`, `closed`.
    package func commitIdentity(of version: UInt64) throws -> String {
        try StoreError.wrapping { () throws(StorageError) in
            try snapshot.identity(of: version)?.description ?? ""
        }
    }

    /// The version of the view; an open write transaction changes data on top of it.
    package var version: UInt64 { originalVersion ?? snapshot.version }

    /// Returns the reader of a class's rows.
    ///
    /// Each call returns the same reader, which follows the view.
    ///
    /// Throws `file_corrupt` if the table cannot be read.
    package func table(_ classSchema: ClassSchema) throws -> TableReader {
        try table(classSchema.table)
    }

    /// Returns the reader of a table's rows.
    ///
    /// Each call returns the same reader, which follows the view.
    ///
    /// Throws `file_corrupt` if the table cannot be read.
    package func table(_ table: TableID) throws -> TableReader {
        try StoreError.wrapping(snapshot.table(table))
    }

    /// Returns the reader of a table's rows, for callers that keep it and use ``table(_:)-(TableID)`` for missing rows.
    ///
    /// If the table cannot be read, the reader is closed, and reads an empty table.
    package func reader(of table: TableID) -> TableReader {
        (try? snapshot.table(table)) ?? snapshot.reader(table)
    }

    /// Returns the number of objects of a class.
    ///
    /// Throws `file_corrupt` if the table cannot be read.
    package func count(of classSchema: ClassSchema) throws -> Int { try table(classSchema).count }

    /// Returns whether the object exists in this view.
    package func isPresent(_ reference: ObjectReference) throws -> Bool {
        try StoreError.evaluating {
            try schema.find(table: reference.table) != nil
                && table(reference.table).isPresent(reference.key)
        }
    }

    /// Returns the value of one property.
    ///
    /// Collections are read completely: maps as `.dictionary`; lists, sets and backlinks as `.list`. Use handles and
    /// results to read only parts.
    ///
    /// Throws `invalid_object` if the object does not exist in this view.
    package func value(
        _ property: Property, of key: ObjectKey, in classSchema: ClassSchema
    ) throws -> Value {
        try StoreError.evaluating {
            let rows = try table(classSchema)
            if !property.isSingle {
                guard try rows.isPresent(key) else {
                    throw StoreError.deleted(classSchema.name)
                }
                let value: Value =
                    switch property.collection {
                    case nil: try .list(backlinks(property, of: key).map(Value.object))
                    case .list, .set: try .list(listValues(property, of: key, in: rows))
                    case .map:
                        try .dictionary(
                            ValueMap(mapEntries(property, of: key, in: rows)))
                    }
                return value
            }
            if property.type == .mixed { try requireMemory(toDecode: property, of: key, in: rows) }
            if let value = try single(property, of: key, in: rows) { return value }
            guard try rows.isPresent(key) else { throw StoreError.deleted(classSchema.name) }
            return .null
        }
    }

    /// Returns the objects that link to an object through the origin of a backlinks property, in the order of their
    /// creation; an object occurs once for each of its links.
    package func backlinks(_ property: Property, of key: ObjectKey) throws -> [ObjectReference] {
        try StoreError.evaluating {
            guard let origin = property.origin, let source = schema.find(origin.className),
                let link = source.property(named: origin.property)
            else { return [] }
            return try table(source).sources(of: key, through: link.column).map {
                ObjectReference(table: source.table, key: $0)
            }
        }
    }

    /// Returns a single value; nil for a null value and for a missing row.
    private func single(_ property: Property, of key: ObjectKey, in rows: TableReader) throws
        -> Value?
    {
        let column = property.column
        switch property.type {
        case .bool: return try rows.bool(column, key).map(Value.bool)
        case .int: return try rows.int(column, key).map(Value.int)
        case .float: return try rows.float(column, key).map(Value.float)
        case .double: return try rows.double(column, key).map(Value.double)
        case .string: return try rows.string(column, key).map(Value.string)
        case .data: return try rows.bytes(column, key).map(Value.data)
        case .date: return try rows.int(column, key).map { Value(.int($0), of: .date) }
        case .object:
            guard let target = schema.target(of: property), let linked = try rows.link(column, key)
            else { return nil }
            return .object(ObjectReference(table: target.table, key: linked))
        case .fixed, .decimal, .mixed:
            return try rows.bytes(column, key).map { decoded(.bytes($0), property) }
        case .backlinks: return nil
        }
    }

    /// Throws `limit_exceeded` if the script does not have enough memory for a decoded mixed value.
    private func requireMemory(
        toDecode property: Property, of key: ObjectKey, in rows: TableReader
    ) throws {
        guard let account = MemoryAccount.current,
            let count = try rows.withBytes(property.column, key, { $0.byteCount }), count > 1 << 16
        else { return }
        // The bytes, the values, and arrays that grow; small numbers take much more space than their bytes.
        try account.requireSpace(for: 8 * count)
    }

    /// Returns all entries of a map, in byte order of the keys.
    func mapEntries(
        _ property: Property, of key: ObjectKey, in rows: TableReader
    ) throws -> [(key: String, value: Value)] {
        try StoreError.evaluating {
            let target = schema.target(of: property)?.table
            return try rows.mapEntries(property.column, key).map {
                ($0.key, decoded($0.value, property, target))
            }
        }
    }

    /// Returns all elements of a list or a set in its order; for a map, the values in the order of the keys.
    func listValues(_ property: Property, of key: ObjectKey, in rows: TableReader) throws -> [Value]
    {
        try StoreError.evaluating {
            let target = schema.target(of: property)?.table
            return try rows.listElements(property.column, key).map {
                decoded($0, property, target)
            }
        }
    }

    /// Returns one element of a list or a set; nil past the end.
    func listElement(_ property: Property, _ list: ListReader, _ index: Int) throws -> Value? {
        let element = try StoreError.wrapping(list.element(at: index))
        return element.map { decoded($0, property, schema.target(of: property)?.table) }
    }

    /// Decodes a value; in mixed values, a link to a class that only the other version of the schema has is null.
    private func decoded(
        _ element: ListElement, _ property: Property, _ target: TableID? = nil
    ) -> Value {
        let value = Value(element, of: property.type, target: target)
        return property.type == .mixed
            ? value.hidingLinks { schema.find(table: $0) == nil } : value
    }
}

/// The version of a view and the number of its changes: a value computed from a view is current while its stamp is.
package struct ViewStamp: Equatable {
    fileprivate let version: UInt64
    fileprivate let generation: UInt64

    package init(_ view: StoreView) {
        version = view.version
        generation = view.generation
    }
}

extension Value {
    /// Returns a mixed value in which links to the objects of some tables are null, also inside of lists and maps.
    fileprivate func hidingLinks(to isHidden: (TableID) -> Bool) -> Value {
        guard hasLink(to: isHidden) else { return self }
        return switch self {
        case .object: .null
        case .list(let elements): .list(elements.map { $0.hidingLinks(to: isHidden) })
        case .dictionary(let entries):
            .dictionary(ValueMap(entries.map { ($0.key, $0.value.hidingLinks(to: isHidden)) }))
        default: self
        }
    }

    /// Whether a mixed value is a link to an object of some tables, or has one.
    func hasLink(to isHidden: (TableID) -> Bool) -> Bool {
        switch self {
        case .object(let reference): isHidden(reference.table)
        case .list(let elements): elements.contains { $0.hasLink(to: isHidden) }
        case .dictionary(let entries): entries.values.contains { $0.hasLink(to: isHidden) }
        default: false
        }
    }
}

extension TableReader {
    /// Returns a mixed value of the table as its readers see it.
    func known(_ value: Value) -> Value {
        let hidden = definition.hiddenTables
        return hidden.isEmpty ? value : value.hidingLinks(to: hidden.contains)
    }
}

import ColumnStorage

/// A report to an observer of a collection.
///
/// Positions start at 0 and ascend. Applied in this order, `deletions` (positions before) and `insertions` (positions
/// after) turn the old collection into the new one. A row that moved is deleted and inserted. `modifications`
/// (positions before) and `modificationsNew` (positions after) are the modified rows that did not move.
public struct CollectionChange {
    /// The kind of call.
    public enum Kind {
        /// The first call, with the current collection and no changes.
        case initial
        /// A call after the collection or its rows changed.
        case update
        /// The collection could not be read in a version; the next call reports the changes since the last good one.
        ///
        /// If the error ends the observation, this is the last call.
        case error(StoreError)
    }

    /// The kind of call.
    public let kind: Kind
    /// Whether the object that owns the list or the backlinks still exists.
    ///
    /// If false, this is the last call.
    public let isCollectionValid: Bool

    let positions: CollectionChangeSet
    /// The deleted elements, in the order of `deletions`; nonempty only if ``versionBefore`` does not have all of them.
    private let lost: [ElementDetail]
    let table: TableID
    /// The key paths that limit what the observer receives; nil for plain values.
    private let filter: KeyPathFilter?
    /// The changed collection of plain values; nil for objects.
    let values: ChangedCollection?
    /// The values at `insertions`; nil if these are positions in the collection itself.
    private let inserted: [Value]?
    /// The values at `modificationsNew`; nil if these are positions in the collection itself.
    private let modified: [Value]?
    /// The map keys of the entries in `insertions` and `modificationsNew`; nil if the map itself can be read.
    private let mapKeys: (inserted: [String], modified: [String])?
    private let step: VersionStep?
    var oldView: StoreView? { step?.old }
    var newView: StoreView? { step?.new }

    init(
        _ kind: Kind, isCollectionValid: Bool = true, positions: CollectionChangeSet = .init(),
        lost: [ElementDetail] = [], table: TableID, filter: KeyPathFilter? = nil,
        values: ChangedCollection? = nil,
        inserted: [Value]? = nil, modified: [Value]? = nil,
        mapKeys: (inserted: [String], modified: [String])? = nil, step: VersionStep? = nil
    ) {
        assert(
            positions.modifications.count == positions.modificationsNew.count,
            "each modification has an old and a new position")
        self.mapKeys = mapKeys
        self.values = values
        self.inserted = inserted
        self.modified = modified
        self.kind = kind
        self.isCollectionValid = isCollectionValid
        self.positions = positions
        self.lost = lost
        self.table = table
        self.filter = filter
        self.step = step
    }

    /// The positions before the change of the rows that left or moved.
    public var deletions: [Int] { positions.deletions }
    /// The positions after the change of the rows that entered or moved.
    public var insertions: [Int] { positions.insertions }
    /// The positions before the change of the modified rows.
    public var modifications: [Int] { positions.modifications }
    /// The positions after the change of the modified rows.
    public var modificationsNew: [Int] { positions.modificationsNew }

    /// The objects that left or moved, in the order of `deletions`; read them in ``versionBefore``.
    public var deletedObjects: [ObjectReference] { positions.deletedKeys.map(reference) }
    /// The objects that entered or moved, in the order of `insertions`.
    public var insertedObjects: [ObjectReference] { positions.insertedKeys.map(reference) }
    /// The modified objects, in the order of `modifications`.
    public var modifiedObjects: [ObjectReference] { positions.modifiedKeys.map(reference) }

    /// The plain values that left or moved, in the order of `deletions`; empty for objects.
    public var deletedValues: [Value] {
        get throws {
            let known = lost.compactMap { if case .value(let value, _) = $0 { value } else { nil } }
            return try known.isEmpty ? plainValues(oldView, deletions) : known
        }
    }
    /// The plain values that entered or moved, in the order of `insertions`.
    ///
    /// Read them while the observer runs: afterward the store may show a later version.
    public var insertedValues: [Value] {
        get throws {
            try inserted ?? plainValues(newView, insertions)
        }
    }
    /// The new values of the replaced plain values, in the order of `modifications`.
    public var modifiedValues: [Value] {
        get throws {
            try modified ?? plainValues(newView, modificationsNew)
        }
    }

    /// Whether the collection contains plain values, not objects.
    public var isOfValues: Bool { values != nil }

    /// Whether the collection is a map, whose entries have keys instead of positions.
    public var isOfMap: Bool {
        if let nested = values?.nested { return nested.kind == .map && values?.isArranged == false }
        return values?.isArranged == false && valuesProperty(newView ?? oldView)?.collection == .map
    }

    /// The keys removed from a map, in the order of `deletions`; empty for other collections.
    public var deletedKeys: [String] {
        get throws {
            let known = lost.compactMap { if case .value(_, let key) = $0 { key } else { nil } }
            return try isOfMap && !known.isEmpty ? known : mapKeys(oldView, deletions)
        }
    }
    /// The keys added to a map, in the order of `insertions`.
    public var insertedKeys: [String] {
        get throws { try mapKeys?.inserted ?? mapKeys(newView, insertions) }
    }
    /// The keys of a map whose values were replaced or modified, in the order of `modifications`.
    public var modifiedKeys: [String] {
        get throws { try mapKeys?.modified ?? mapKeys(newView, modificationsNew) }
    }

    /// The steps from the property to an observed list or map inside a mixed value, after the change; nil for other
    /// collections.
    ///
    /// Changes of the enclosing lists may move the collection.
    var nestedPath: [NestedCollection.Step]? { values?.nested?.path }

    /// The deleted elements, for ``CoalescedChanges``, which may report them when no readable version has them.
    var deletedDetails: [ElementDetail] {
        get throws {
            guard isOfValues else { return [] }
            let keys = try deletedKeys
            return try deletedValues.enumerated().map { index, value in
                .value(value, mapKey: keys.indices.contains(index) ? keys[index] : "")
            }
        }
    }

    private func valuesProperty(_ view: StoreView?) -> Property? {
        guard let values else { return nil }
        return view?.schema.find(table: values.owner.table)?.property(in: values.column)
    }

    private func plainValues(_ view: StoreView?, _ positions: [Int]) throws -> [Value] {
        guard let view, let values, values.nested == nil, let property = valuesProperty(view),
            let list = try view.table(values.owner.table).list(values.column, values.owner.key)
        else { return [] }
        return try positions.map { try view.listElement(property, list, $0) ?? .null }
    }

    private func mapKeys(_ view: StoreView?, _ positions: [Int]) throws -> [String] {
        guard let view, let values, values.nested == nil, isOfMap,
            let map = try view.table(values.owner.table).map(values.column, values.owner.key)
        else { return [] }
        return try positions.map { String(decoding: try map.key(at: $0) ?? [], as: UTF8.self) }
    }

    /// The version before the change, where deleted objects can be read; nil for the first call.
    ///
    /// Holding it, or the change, keeps that version's pages in the file.
    package var versionBefore: StoreView? { oldView }

    /// Returns the changed properties of a modified row: those of the row in schema order or, if only a linked object
    /// changed, the links that lead to it.
    ///
    /// `index` is an index into `modifications`.
    ///
    /// The result is empty for plain values, which have no properties. Throws `out_of_range`.
    public func properties(ofModification index: Int) throws -> [PropertyChange] {
        guard positions.modifications.indices.contains(index) else {
            throw StoreError.outside(index, of: "the \(modifications.count) modifications")
        }
        guard let step, let object = try modifiedObject(index, step.new),
            let classSchema = step.new.schema.find(table: object.table)
        else { return [] }
        func entry(_ property: Property) -> PropertyChange {
            PropertyChange(
                property: property, object: object, oldView: step.old, newView: step.new)
        }
        let own = classSchema.properties.filter { property in
            !property.isBacklinks
                && step.changes(of: object.table)?.modified[property.column]?.contains(object.key)
                    == true
        }
        guard own.isEmpty else { return own.map(entry) }
        let paths = filter?.paths ?? []
        return try classSchema.properties.filter { property in
            if paths.isEmpty {
                return try step.rows(touchedThrough: property, of: classSchema).contains(object.key)
            }
            return try paths.contains { path in
                try step.rows(touchedThrough: property, of: classSchema, on: path)
                    .contains(object.key)
            }
        }.map(entry)
    }

    /// Returns the object of the modified row at an index of `modifications`; nil for a plain value.
    private func modifiedObject(_ index: Int, _ view: StoreView) throws -> ObjectReference? {
        if values == nil { return reference(positions.modifiedKeys[index]) }
        let value = try modified?[index] ?? plainValues(view, [modificationsNew[index]]).first
        guard case .object(let object)? = value else { return nil }
        return object
    }

    private func reference(_ key: ObjectKey) -> ObjectReference {
        ObjectReference(table: table, key: key)
    }
}

/// The collection of plain values that a change belongs to.
struct ChangedCollection {
    let owner: ObjectReference
    let column: ColumnID
    /// Whether positions count the values after filtering, sorting or limiting, not the elements of the collection.
    let isArranged: Bool
    /// The address of a list or map inside a mixed value; nil for the collection of a property.
    var nested: NestedAddress?
}

/// A report to an observer of an object.
public struct ObjectChange {
    /// The kind of change.
    public enum Kind {
        /// Properties of the object changed; `properties` lists them in schema order, backlinks last.
        case change
        /// The last call: the object was deleted.
        ///
        /// `properties` lists the changes before the deletion whose call was delayed.
        case deleted
        /// The object could not be read in a version; the next call reports the changes since the last good one.
        ///
        /// If the class was removed, this is the last call.
        case error(StoreError)
    }

    /// The kind of change.
    public let kind: Kind
    /// The observed object.
    public let object: ObjectReference
    /// The changed properties.
    public let properties: [PropertyChange]
    /// For a deletion, the last known version with the object; nil if it is unknown.
    package var viewBefore: StoreView?
}

/// One property of an object that changed, with the value before and after.
///
/// Values are read on access. A change keeps the previous version readable, and its pages in the file, so release it
/// soon.
public struct PropertyChange {
    /// The property.
    ///
    /// For a change of a linked object, it is the link, list or backlinks property that leads to that object.
    public let property: Property
    /// The object that has the property.
    public let object: ObjectReference

    let oldView: StoreView
    let newView: StoreView

    /// The version after the change, for reading.
    package var viewAfter: StoreView { newView }

    /// The property's name.
    public var name: String { property.name }

    /// The value before the change; null for lists and backlinks, which only report that they changed.
    public var old: Value { get throws { try value(in: oldView) } }

    /// The value after the change; null for lists and backlinks.
    ///
    /// Read it while the observer runs: afterward the store may show a later version.
    public var new: Value { get throws { try value(in: newView) } }

    private func value(in view: StoreView) throws -> Value {
        // After a change of type the property has another column, and after a rename the column has another name.
        guard property.isSingle, let classSchema = view.schema.find(table: object.table),
            let seen = classSchema.property(in: property.column)
                ?? classSchema.property(named: property.name),
            seen.isSingle, try view.isPresent(object)
        else { return .null }
        return try view.value(seen, of: object.key, in: classSchema)
    }
}

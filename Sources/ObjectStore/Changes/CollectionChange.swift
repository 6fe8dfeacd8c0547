import ColumnStorage

/// A report to an observer of a collection.
///
/// Positions start at 0 and ascend. Applied in this order they lead from the collection before to
/// the collection after: `deletions` (positions before), `insertions` (positions after). Rows
/// that moved are deleted and inserted; `modifications` names rows that kept their place, by
/// their position before, and `modificationsNew` the same rows by their position after.
public struct CollectionChange {
    /// Which call it is.
    public enum Kind {
        /// The first call: the collection as it is.
        case initial
        /// Something changed.
        case update
        /// The collection cannot be followed any more. This is the last call.
        case error(StoreError)
    }

    /// Which call it is.
    public let kind: Kind
    /// False once the object whose list or backlinks these are is gone.
    ///
    /// Then this is the last call.
    public let isCollectionValid: Bool

    let positions: CollectionChangeSet
    /// The elements of `deletions`, if ``versionBefore`` does not have all of them.
    private let lost: [ElementDetail]
    let table: TableID
    /// The changes that the observer receives; nil for plain values.
    private let filter: KeyPathFilter?
    /// The collection of plain values that this is about; nil for objects.
    let values: ChangedCollection?
    /// The elements of `insertions`, if they are not positions of the collection itself.
    private let inserted: [Value]?
    /// The same of `modificationsNew`.
    private let modified: [Value]?
    /// The keys of the map entries in `insertions` and in `modificationsNew`, where the collection cannot be asked.
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

    /// Where the rows were that left, or moved away.
    public var deletions: [Int] { positions.deletions }
    /// Where the rows are that entered, or moved here.
    public var insertions: [Int] { positions.insertions }
    /// Where the modified rows were.
    public var modifications: [Int] { positions.modifications }
    /// Where the modified rows are.
    public var modificationsNew: [Int] { positions.modificationsNew }

    /// The objects that left or moved, as `deletions` lists them; read them in ``versionBefore``.
    public var deletedObjects: [ObjectReference] { positions.deletedKeys.map(reference) }
    /// The objects that entered or moved, as `insertions` lists them.
    public var insertedObjects: [ObjectReference] { positions.insertedKeys.map(reference) }
    /// The modified objects, as `modifications` lists them.
    public var modifiedObjects: [ObjectReference] { positions.modifiedKeys.map(reference) }

    /// The plain values that left or moved, as `deletions` lists them; empty for objects.
    public var deletedValues: [Value] {
        let known = lost.compactMap { if case .value(let value, _) = $0 { value } else { nil } }
        return known.isEmpty ? plainValues(oldView, deletions) : known
    }
    /// The plain values that entered or moved, as `insertions` lists them.
    ///
    /// Read them while the observer runs, as all that shows the version after the change.
    public var insertedValues: [Value] {
        inserted ?? plainValues(newView, insertions)
    }
    /// The plain values that were replaced, as they are now; as `modifications` lists them.
    public var modifiedValues: [Value] {
        modified ?? plainValues(newView, modificationsNew)
    }

    /// Whether the collection holds plain values, not objects.
    public var isOfValues: Bool { values != nil }

    /// Whether the collection is a map, whose entries are named by their keys.
    public var isOfMap: Bool {
        if let nested = values?.nested { return nested.kind == .map && values?.isArranged == false }
        return values?.isArranged == false && valuesProperty(newView ?? oldView)?.collection == .map
    }

    /// The keys that left a map, as `deletions` lists them; empty for other collections.
    public var deletedKeys: [String] {
        let known = lost.compactMap { if case .value(_, let key) = $0 { key } else { nil } }
        return isOfMap && !known.isEmpty ? known : mapKeys(oldView, deletions)
    }
    /// The keys that came to a map, as `insertions` lists them.
    public var insertedKeys: [String] { mapKeys?.inserted ?? mapKeys(newView, insertions) }
    /// The keys of a map whose values were set or modified, as `modifications` lists them.
    public var modifiedKeys: [String] { mapKeys?.modified ?? mapKeys(newView, modificationsNew) }

    /// The steps from the property to an observed list or map inside a mixed value, after the change; nil for other
    /// collections.
    ///
    /// Changes of the lists around the collection may move it.
    package var nestedPath: [NestedCollection.Step]? { values?.nested?.path }

    /// The deleted elements, to be described once no version has them.
    var deletedDetails: [ElementDetail] {
        guard isOfValues else { return [] }
        let keys = deletedKeys
        return deletedValues.enumerated().map { index, value in
            .value(value, mapKey: keys.indices.contains(index) ? keys[index] : "")
        }
    }

    private func valuesProperty(_ view: StoreView?) -> Property? {
        guard let values else { return nil }
        return view?.schema.find(table: values.owner.table)?.property(in: values.column)
    }

    private func plainValues(_ view: StoreView?, _ positions: [Int]) -> [Value] {
        guard let view, let values, values.nested == nil, let property = valuesProperty(view),
            let list = view.table(values.owner.table).list(values.column, values.owner.key)
        else { return [] }
        // because: positions come from the list itself; one that cannot be read shows as nil.
        return positions.map { ((try? view.listElement(property, list, $0)) ?? nil) ?? .null }
    }

    private func mapKeys(_ view: StoreView?, _ positions: [Int]) -> [String] {
        guard let view, let values, values.nested == nil, isOfMap,
            let map = view.table(values.owner.table).map(values.column, values.owner.key)
        else { return [] }
        // because: as above; the key of an entry that cannot be read shows as empty.
        return positions.map { String(decoding: (try? map.key(at: $0)) ?? [], as: UTF8.self) }
    }

    /// The version before the change, where deleted objects can be read; nil for the first call.
    ///
    /// Holding it, or the change, keeps that version's pages in the file.
    package var versionBefore: StoreView? { oldView }

    /// The changed properties of a modified row: its own in schema order or, if only a linked object changed, the links
    /// that lead to it.
    ///
    /// `index` counts as in `modifications`.
    ///
    /// The result is empty for plain values, which have no properties. Throws `out_of_range`.
    public func properties(ofModification index: Int) throws -> [PropertyChange] {
        guard positions.modifications.indices.contains(index) else {
            throw StoreError.outside(index, of: "the \(modifications.count) modifications")
        }
        guard let step, let object = modifiedObject(index, step.new),
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
        return classSchema.properties.filter { property in
            if paths.isEmpty {
                return step.rows(touchedThrough: property, of: classSchema).contains(object.key)
            }
            return paths.contains { path in
                step.rows(touchedThrough: property, of: classSchema, on: path)
                    .contains(object.key)
            }
        }.map(entry)
    }

    /// The object of the i-th modified row; nil for a plain value.
    private func modifiedObject(_ index: Int, _ view: StoreView) -> ObjectReference? {
        if values == nil { return reference(positions.modifiedKeys[index]) }
        let value = modified?[index] ?? plainValues(view, [modificationsNew[index]]).first
        guard case .object(let object)? = value else { return nil }
        return object
    }

    private func reference(_ key: ObjectKey) -> ObjectReference {
        ObjectReference(table: table, key: key)
    }
}

/// The collection of plain values that a change is about.
struct ChangedCollection {
    let owner: ObjectReference
    let column: ColumnID
    /// Whether positions are those of values that were filtered, ordered or cut, not of the collection's elements.
    let isArranged: Bool
    /// The list or map inside a mixed value that it is; nil for a property's own collection.
    var nested: NestedAddress?
}

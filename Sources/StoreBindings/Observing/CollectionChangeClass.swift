import LuaHost
import ObjectStore

/// The change that an observer of a collection receives.
///
/// Its tables are created on first use.
final class ChangeHandle {
    /// The observed collection, as a script value.
    enum Collection {
        case results(ResultsHandle)
        case collection(any CollectionHandle)
        case values(ValuesHandle)
        case projected(ProjectedResultsHandle)
        case nested(NestedHandle)

        var handle: StoreHandle {
            switch self {
            case .results(let results): results.handle
            case .collection(let collection): collection.handle
            case .values(let values): values.handle
            case .projected(let results): results.handle
            case .nested(let nested): nested.handle
            }
        }
    }

    private let collection: Collection
    private var handle: StoreHandle { collection.handle }
    private let kind: CollectionChange.Kind
    private let positions: ChangedPositions
    private let rows: ProjectedRows?
    private var change: CollectionChange?
    private let schema: SchemaEvent?
    private var tables = InlineArray<4, LuaTable?>(repeating: nil)
    private var space: FrozenSpace?

    /// Creates the change; with `rows`, the change of projections, which contains only the modifications in `rows`.
    init(_ change: CollectionChange, _ collection: Collection, rows: ProjectedRows? = nil) throws {
        self.rows = rows
        self.change = change
        self.collection = collection
        kind = change.kind
        schema = collection.handle.store.notifications.deliveredSchema
        positions = try ChangedPositions(change, rows)
    }

    /// Calls the observer with the change.
    func pass(to call: ([LuaValue]) throws -> Void, _ state: LuaState) throws {
        // A change that is still referenced keeps the previous version in the file.
        defer {
            change = nil
            space = nil
        }
        try call([state.userdata(self, ChangeHandle.type)])
    }

    private func present() throws -> CollectionChange {
        guard let change else {
            throw StoreError(
                .invalidObject,
                "the objects of a change are available only while its observer runs; copy the values that you need"
            )
        }
        return change
    }

    private static func indexProperty(_ list: ChangedPositions.List) -> LuaProperty<ChangeHandle> {
        LuaProperty(list.name) { change, result in
            let table =
                try change.tables[list.rawValue] ?? change.positions.table(list, result.state)
            change.tables[list.rawValue] = table
            result.set(.table(table))
        }
    }

    static let type: LuaClass<ChangeHandle> = LuaClass(
        name: "change",
        methods: [
            LuaMethod("inserted") { change, call in
                let present = try change.present()
                return call.answer(
                    .table(
                        try change.table(present.insertedObjects, present.insertedValues, nil)))
            },
            LuaMethod("modified") { change, call in
                let present = try change.present()
                let objects = change.rows?.rows.map(\.reference) ?? present.modifiedObjects
                return call.answer(
                    .table(try change.table(objects, present.modifiedValues, nil)))
            },
            LuaMethod("deleted") { change, call in
                let present = try change.present()
                guard let before = present.versionBefore else {
                    return call.answer(.table(call.state.makeTable()))
                }
                let space = change.space ?? FrozenSpace(change.handle, before)
                change.space = space
                return call.answer(
                    .table(
                        try change.table(present.deletedObjects, present.deletedValues, space)))
            },
            LuaMethod("properties") { change, call in
                let index = try call.integer(2)
                guard index >= 1 else {
                    throw call.argumentError(2, "expected a row number of at least 1, got \(index)")
                }
                let present = try change.present()
                let count = change.positions.count(.modifications)
                guard index <= count else {
                    throw StoreError.outside(Int(index) - 1, of: "the \(count) modifications")
                }
                if let properties = try change.projected(Int(index) - 1, present) {
                    return call.answer(.table(call.state.makeTable(properties)))
                }
                let entries = try present.properties(ofModification: Int(index) - 1)
                let tables = ObjectChangeTable(change.handle)
                return try call.answer(.table(tables.properties(entries)))
            },
        ],
        properties: [
            LuaProperty("type") { change, result in
                switch change.kind {
                case .initial: result.set("initial")
                case .update: result.set("update")
                case .error: result.set("error")
                }
            },
            LuaProperty("collection") { change, result in
                switch change.collection {
                case .results(let results): result.set(results, ResultsHandle.type)
                case .collection(let list as ListHandle): result.set(list, ListHandle.type)
                case .collection(let set as SetHandle): result.set(set, SetHandle.type)
                case .collection(let map as MapHandle): result.set(map, MapHandle.type)
                case .collection: result.setNil()
                case .values(let values): result.set(values, ValuesHandle.type)
                case .projected(let results): result.set(results, ProjectedResultsHandle.type)
                case .nested(let nested): result.set(nested, nested.luaClass)
                }
            },
            LuaProperty("schema") { change, result in
                result.set(change.schema?.lua(result.state) ?? .nil)
            },
            LuaProperty("error") { change, result in
                if case .error(let error) = change.kind {
                    result.set(result.state.value(of: error))
                } else {
                    result.setNil()
                }
            },
            indexProperty(.deletions),
            indexProperty(.insertions),
            indexProperty(.modifications),
            indexProperty(.modificationsNew),
        ],
        metamethods: [
            LuaMethod("__tostring") { change, call in
                if case .initial = change.kind { return call.answer("change { initial }") }
                if case .error(let error) = change.kind {
                    return call.answer(.text("change { error: \(error.scriptMessage) }"))
                }
                let lists: [ChangedPositions.List] = [.deletions, .insertions, .modifications]
                let counts = lists.map { "\($0.name) = \(change.positions.count($0))" }
                return call.answer(.text("change { \(counts.joined(separator: ", ")) }"))
            }
        ])

    /// Returns a table of the objects or, for a collection of plain values, of the values; live, or at the version
    /// before the change.
    private func table(
        _ objects: [ObjectReference], _ values: [Value], _ space: FrozenSpace?
    ) throws -> LuaTable {
        guard objects.isEmpty else {
            return try handle.state.makeTable(of: objects) { userdata($0, space) }
        }
        return try handle.state.makeTable(of: values, ValueBridge(handle, space).copied)
    }

    /// Returns an element of the collection, either live or at the version before the change.
    private func userdata(_ object: ObjectReference, _ space: FrozenSpace?) -> LuaValue {
        guard case .projected(let results) = collection else {
            return space?.userdata(object) ?? handle.userdata(object)
        }
        return handle.state.userdata(
            ProjectionHandle(results.shape, of: object, in: handle, at: space),
            ProjectionHandle.type)
    }

    /// Returns the changed values of a modified projection; nil for other collections.
    private func projected(_ index: Int, _ present: CollectionChange) throws -> [LuaValue]? {
        guard let rows, case .projected(let results) = collection,
            let before = present.versionBefore
        else { return nil }
        let space = self.space ?? FrozenSpace(handle, before)
        self.space = space
        let row = rows.rows[index]
        let object = results.base.results.source.object(row.reference)
        return try ProjectedProperties(rows.fields, handle, space).changes(
            from: row.old, to: row.new
        ) { field in
            try object.map { try results.shape.value(field, of: $0, handle, nil) } ?? .nil
        }
    }
}

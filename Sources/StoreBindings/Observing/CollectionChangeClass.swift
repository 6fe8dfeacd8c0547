import LuaHost
import ObjectStore

/// What an observer of a collection gets.
///
/// Its tables are made when they are asked for.
final class ChangeHandle {
    /// The observed collection as the script knows it.
    enum Collection {
        case results(ResultsHandle)
        case collection(any CollectionHandle)
        case values(ValuesHandle)

        var handle: StoreHandle {
            switch self {
            case .results(let results): results.handle
            case .collection(let collection): collection.handle
            case .values(let values): values.handle
            }
        }
    }

    private let collection: Collection
    private var handle: StoreHandle { collection.handle }
    private let kind: CollectionChange.Kind
    private let places: ChangedPlaces
    private var change: CollectionChange?
    private var tables = InlineArray<4, LuaTable?>(repeating: nil)
    private var space: FrozenSpace?

    init(_ change: CollectionChange, _ collection: Collection) {
        self.change = change
        self.collection = collection
        kind = change.kind
        places = ChangedPlaces(change)
    }

    /// Calls the observer.
    func pass(to call: ([LuaValue]) throws -> Void, _ state: LuaState) throws {
        // What the change can be asked for keeps the version before it in the file.
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

    private static func indexProperty(_ list: ChangedPlaces.List) -> LuaProperty<ChangeHandle> {
        LuaProperty(list.name) { change, result in
            let table = change.tables[list.rawValue] ?? result.state.makeTable(change.places[list])
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
                        change.live(present.insertedObjects, present.insertedValues, call.state)))
            },
            LuaMethod("modified") { change, call in
                let present = try change.present()
                return call.answer(
                    .table(
                        change.live(present.modifiedObjects, present.modifiedValues, call.state)))
            },
            LuaMethod("deleted") { change, call in
                let present = try change.present()
                guard let before = present.versionBefore else {
                    return call.answer(.table(call.state.makeTable()))
                }
                let space = change.space ?? FrozenSpace(change.handle, before)
                change.space = space
                let bridge = ValueBridge(change.handle, space)
                return call.answer(
                    .table(
                        call.state.makeTable(
                            present.deletedObjects.map(space.userdata)
                                + present.deletedValues.map(bridge.lua))))
            },
            LuaMethod("properties") { change, call in
                let index = try call.integer(2)
                guard index >= 1 else { throw call.argumentError(2, "rows are counted from 1") }
                let present = try change.present()
                guard index <= present.modifications.count else {
                    throw StoreError(
                        .outOfRange,
                        "index \(index) is out of range; the change has \(present.modifications.count) modifications"
                    )
                }
                let entries = try present.properties(ofModification: Int(index) - 1)
                let tables = ObjectChangeTable(change.handle)
                return call.answer(.table(tables.properties(entries)))
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
                }
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
                    return call.answer(.text("change { error: \(error.message) }"))
                }
                let lists: [ChangedPlaces.List] = [.deletions, .insertions, .modifications]
                let counts = lists.map { "\($0.name) = \(change.places.count($0))" }
                return call.answer(.text("change { \(counts.joined(separator: ", ")) }"))
            }
        ])

    /// The objects as they are; of a collection of plain values, those.
    private func live(
        _ objects: [ObjectReference], _ values: [Value], _ state: LuaState
    ) -> LuaTable {
        let bridge = ValueBridge(handle, nil)
        return state.makeTable(objects.map { handle.userdata($0) } + values.map(bridge.lua))
    }
}

import LuaHost
import ObjectStore

/// A list of an object, for scripts.
final class ListHandle: CollectionHandle, PositionsHandle {
    let handle: StoreHandle
    let frozen: FrozenSpace?
    var kept: ResultsHandle?
    // Most handles only read a few elements. They need the following values, and neither the property nor the list.
    private let source: ObjectSource
    private let classSchema: ClassSchema
    private let position: Int
    private let owner: ObjectKey
    private let rows: TableReader
    private let column: ColumnID
    private let type: PropertyType

    private var created: Made?

    /// A list with its property, which are large.
    private final class Made {
        let list: LiveList
        init(_ list: LiveList) { self.list = list }
    }

    var collection: LiveList {
        if let created { return created.list }
        let list = source.object(classSchema, owner).list(in: classSchema.properties[position])
        created = Made(list)
        return list
    }

    init(_ list: LiveList, _ handle: StoreHandle, _ frozen: FrozenSpace?) {
        self.handle = handle
        self.frozen = frozen
        source = list.source
        classSchema = list.classSchema
        position = -1
        owner = list.owner
        rows = list.source.view.reader(of: list.classSchema.table)
        column = list.property.column
        type = list.property.type
        created = Made(list)
    }

    /// Creates the handle of the list in a property of an object.
    init(_ owner: ObjectKey, _ slot: PropertySlot, in type: ObjectClass) {
        handle = type.handle
        frozen = type.frozen
        source = type.source
        classSchema = type.classSchema
        position = slot.index
        self.owner = owner
        rows = type.rows
        column = slot.column
        self.type = classSchema.properties[position].type
    }

    static let type: LuaClass<ListHandle> = LuaClass(
        name: "list",
        methods: positions + own + versions + querying { try $0.results() } + observations,
        metamethods: commonMetamethods + [
            iterating
        ],
        index: { list, index, result in
            if try list.read(ScriptIndex.position(index), result) { return }
            if list.type == .mixed {
                let item = try NestedCollection.item(
                    at: .element(list.collection, ScriptIndex.position(index)))
                return list.bridge.pass(item, to: result)
            }
            guard index >= 1,
                let value = try list.collection.element(at: ScriptIndex.position(index))
            else {
                return result.setNil()
            }
            result.set(list.lua(value))
        },
        setIndex: { try $0.set($2, at: $1) })

    /// Reads an element of a type that needs no conversion; returns false for others, and if there is none.
    private func read(_ position: Int, _ result: borrowing LuaResult) throws -> Bool {
        if handle.readScope.isTracking { return false }
        do throws(StorageError) {
            switch type {
            case .string, .data:
                return try rows.withListBytes(column, owner, at: position) { result.set($0) }
                    != nil
            case .int:
                guard let value = try rows.listInt(column, owner, at: position) else {
                    return false
                }
                result.set(value)
            case .double:
                guard let value = try rows.listDouble(column, owner, at: position) else {
                    return false
                }
                result.set(value)
            default: return false
            }
            return true
        } catch { throw StoreError(error) }
    }

    var elements: LiveList { collection }

    private static let own: [LuaMethod<ListHandle>] = [
        LuaMethod("clear") { list, _ in
            try list.collection.removeAll()
            return .none
        },
        LuaMethod("to_table") { list, call in
            let values = try list.collection.values()
            guard !call.isNil(2) else {
                return call.answer(.table(try call.state.makeTable(of: values, list.copied)))
            }
            var copy = TableCopy(list.handle, list.frozen)
            let depth = Int(clamping: try call.integer(2))
            return call.answer(
                .table(try copy.array(values, list.collection.source, max(depth, 1))))
        },
    ]
}

import LuaHost
import ObjectStore

/// The change that an observer of an object receives: a plain table.
struct ObjectChangeTable {
    private let handle: StoreHandle
    /// The last version with the object, if its deletion reports changes before it.
    private let last: FrozenSpace?

    init(_ handle: StoreHandle, _ change: ObjectChange? = nil) {
        self.handle = handle
        last = change?.lastView.map { FrozenSpace(handle, $0) }
    }

    func table(_ change: ObjectChange) throws -> LuaTable {
        let state = handle.state
        let table = state.makeTable(fields: 5)
        table["object"] = handle.userdata(change.object)
        switch change.kind {
        case .change: table["type"] = "change"
        case .deleted: table["type"] = "deleted"
        case .error(let error):
            table["type"] = "error"
            table["error"] = state.value(of: error)
        }
        table["schema"] = handle.store.notifications.deliveredSchema?.lua(state) ?? .nil
        table["properties"] = try .table(properties(change.properties))
        // The error is ignored: it occurs only after the script has ended, when no code prints the table.
        table.metatable = try? handle.module.changeMetatables.ofObjects
        return table
    }

    func properties(_ changes: [PropertyChange]) throws -> LuaTable {
        try handle.state.makeTable(
            changes.map { change in
                let entry = handle.state.makeTable(fields: 3)
                entry["name"] = .text(change.name)
                entry["old"] = try old(change)
                entry["new"] = try new(change)
                return .table(entry)
            })
    }

    func old(_ change: PropertyChange) throws -> LuaValue {
        try ValueBridge(handle, nil).lua(change.old)
    }

    /// Returns the new value; for a list or backlinks, the collection itself.
    func new(_ change: PropertyChange) throws -> LuaValue {
        let source = last.map { .frozen($0.view) } ?? ObjectSource.store(handle.store)
        guard !change.property.isSingle, let object = source.object(change.object) else {
            return try ValueBridge(handle, nil).lua(change.new)
        }
        return try current(change.property, of: object)
    }

    /// Returns the present value of a property, or its collection.
    func current(_ property: Property, of object: LiveObject) throws -> LuaValue {
        if property.isBacklinks {
            guard let results = try? Results(backlinks: property, of: object) else { return .nil }
            return handle.state.userdata(ResultsHandle(results, handle, last), ResultsHandle.type)
        }
        if property.collection != nil {
            return (try? ValueBridge(handle, last).collection(property, of: object)) ?? .nil
        }
        return try ValueBridge(handle, nil).lua(object.value(property.name))
    }
}

extension ObjectChange {
    /// The last version with the object, if its deletion reports changes before it; nil for other changes.
    var lastView: StoreView? {
        guard case .deleted = kind, !properties.isEmpty else { return nil }
        return viewBefore
    }

    /// Returns the source of the values after the reported changes of an object.
    func source(of object: LiveObject) -> ObjectSource {
        lastView.map { .frozen($0) } ?? object.source
    }
}

extension SchemaEvent {
    /// Returns the table that observers receive for a change of the schema.
    func lua(_ state: LuaState) -> LuaValue {
        let table = state.makeTable(fields: 4)
        table["event"] = .text(kind.rawValue)
        table["number"] = number.map { .integer(Int64($0)) } ?? .nil
        table["name"] = name.map { .text($0) } ?? .nil
        table["version"] = .integer(Int64(clamping: version))
        return .table(table)
    }
}

/// The metatables of the tables that observers receive, so that printing a table shows the change:
/// `dog:observe(print)`.
///
/// In all other respects these are plain tables, and workers receive them as such.
final class ChangeMetatables {
    /// The metatable for changes of an object.
    let ofObjects: LuaTable
    /// The metatable for changes of sections.
    let ofSections: LuaTable

    /// The maximum number of properties printed with their values.
    private static let shownProperties = 4

    init(_ state: LuaState) {
        func make(_ text: @escaping (LuaTable) throws -> String) -> LuaTable {
            let metatable = state.makeTable(fields: 1)
            metatable["__tostring"] = .function(
                state.makeFunction("tostring") { call in
                    call.answer(.text("change { \(try text(call.table(1))) }"))
                })
            return metatable
        }
        ofObjects = make { [unowned state] in try Self.text(ofObjectChange: $0, state) }
        ofSections = make { [unowned state] in try Self.text(ofSections: $0, state) }
    }

    /// Returns whether a metatable is one of these two.
    func contains(_ metatable: LuaTable) -> Bool {
        metatable == ofObjects || metatable == ofSections
    }

    private static func text(ofObjectChange table: LuaTable, _ state: LuaState) throws -> String {
        switch table["type"].text {
        case "error": return try failure(table, state)
        case "deleted": return "deleted"
        default: break
        }
        let properties = table["properties"].table?.array ?? []
        var texts = try properties.prefix(shownProperties).compactMap(\.table).map { entry in
            let values = try [entry["old"], entry["new"]].map { try state.describe($0).description }
            return "\(try state.describe(entry["name"])): \(values.joined(separator: " -> "))"
        }
        if properties.count > shownProperties {
            texts.append("… \(properties.count - shownProperties) more")
        }
        return texts.joined(separator: ", ")
    }

    private static func text(ofSections table: LuaTable, _ state: LuaState) throws -> String {
        switch table["type"].text {
        case "error": return try failure(table, state)
        case "initial": return "initial"
        default: break
        }
        return ["section_deletions", "section_insertions", "sections"]
            .map { "\($0) = \(table[$0].table?.array.count ?? 0)" }.joined(separator: ", ")
    }

    private static func failure(_ table: LuaTable, _ state: LuaState) throws -> String {
        "error: \(try state.describe(table["error"]))"
    }
}

/// The change that an observer of a collection receives.
///
/// Its tables are created on first use.
final class ChangeHandle {
    /// The observed collection.
    private let collection: any LiveHandle
    private var handle: StoreHandle { collection.handle }
    private let kind: CollectionChange.Kind
    private let positions: ChangedPositions
    private let rows: ProjectedRows?
    private var change: CollectionChange?
    private let schema: SchemaEvent?
    private var tables = InlineArray<4, LuaTable?>(repeating: nil)
    private var space: FrozenSpace?

    /// Creates the change; with `rows`, the change of projections, which contains only the modifications in `rows`.
    init(_ change: CollectionChange, _ collection: any LiveHandle, rows: ProjectedRows? = nil)
        throws
    {
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
            LuaProperty("collection") { $0.collection.pass(to: $1) },
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
        guard let results = collection as? ProjectedResultsHandle else {
            return space?.userdata(object) ?? handle.userdata(object)
        }
        return handle.state.userdata(
            ProjectionHandle(results.shape, of: object, in: handle, at: space),
            ProjectionHandle.type)
    }

    /// Returns the changed values of a modified projection; nil for other collections.
    private func projected(_ index: Int, _ present: CollectionChange) throws -> [LuaValue]? {
        guard let rows, let results = collection as? ProjectedResultsHandle,
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

/// The changed indexes of a collection, or the changed keys of a map.
///
/// The indexes are converted only when read, because most observers read one of the lists, or none.
enum ChangedPositions {
    enum List: Int {
        case deletions, insertions, modifications, modificationsNew

        /// The name of the list in scripts.
        var name: String {
            switch self {
            case .deletions: "deletions"
            case .insertions: "insertions"
            case .modifications: "modifications"
            case .modificationsNew: "modifications_new"
            }
        }
    }

    case positions(InlineArray<4, [Int]>)
    case keys(InlineArray<4, [String]>)

    /// Creates the indexes of a change; with `rows`, only those modifications that are in `rows`.
    init(_ change: CollectionChange, _ rows: ProjectedRows? = nil) throws {
        if rows == nil, change.isOfMap {
            let modified = try change.modifiedKeys
            self = try .keys([change.deletedKeys, change.insertedKeys, modified, modified])
            return
        }
        let modifications = [change.modifications, change.modificationsNew]
            .map { rows?.positions($0) ?? $0 }
        self = .positions(
            [change.deletions, change.insertions, modifications[0], modifications[1]])
    }

    /// Returns a table of the values of a list; indexes are counted from 1.
    ///
    /// Throws `MemoryLimitReached` if the script does not have enough memory for it.
    func table(_ list: List, _ state: LuaState) throws -> LuaTable {
        switch self {
        case .positions(let lists): try state.makeTable(ofPositions: lists[list.rawValue])
        case .keys(let lists): try state.makeTable(of: lists[list.rawValue], LuaValue.text)
        }
    }

    /// Returns the length of a list.
    func count(_ list: List) -> Int {
        switch self {
        case .positions(let lists): lists[list.rawValue].count
        case .keys(let lists): lists[list.rawValue].count
        }
    }
}

extension LuaState {
    /// Creates a table of positions, which are counted from 1.
    ///
    /// Throws `MemoryLimitReached` if the script does not have enough memory for it.
    func makeTable(ofPositions positions: [Int]) throws -> LuaTable {
        try makeTable(of: positions) { .integer(Int64($0 + 1)) }
    }
}

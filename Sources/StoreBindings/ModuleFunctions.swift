import LuaHost
import ObjectStore

/// The functions of the `moonpool` table.
struct ModuleFunctions {
    private unowned let module: StoreModule

    init(_ module: StoreModule) { self.module = module }

    func install() {
        let (state, table, dates) = (module.state, module.table, module.dates)
        let weak = Weak(module)
        func add(_ name: String, _ body: @escaping (borrowing LuaCall) throws -> LuaAnswer) {
            table[name] = .function(state.makeFunction(name, of: "moonpool", body))
        }
        let open = state.makeFunction("open", of: "moonpool") { call in
            let module = try weak.module()
            var (configuration, schema, migration) = try OpenOptions.configuration(call, module)
            module.rights.limit(&configuration)
            let handle = try module.open(
                configuration, shouldCompact: OpenOptions.shouldCompact(call),
                migration: migration, defaults: schema)
            if let schema { try handle.take(schema) }
            return call.answer(handle, StoreHandle.type)
        }
        table["open"] = .function(open)
        add("default") { call in
            call.answer(try weak.module().defaultStore(open), StoreHandle.type)
        }
        Self.addValues(to: table, dates, state)
        add("type_of", TypeFunctions.typeOf)
        add("new", UnmanagedObject.make)
        add("class_of") { call in
            if let (type, _) = call.liveObject(1)?.stored {
                return call.answer(.text(type.classSchema.name))
            }
            if let unmanaged = call.optionalObject(1, UnmanagedObject.type) {
                return call.answer(.text(unmanaged.className))
            }
            throw call.typeError(1, "object")
        }
        add("id_of") { call in
            guard let object = call.liveObject(1), object.stored != nil else {
                throw call.typeError(1, "object of a store")
            }
            return call.answer(.integer(object.key))
        }
        add("store_of") { call in
            guard let held = call[1].userdata?.held else {
                throw call.typeError(1, "object, Results or collection")
            }
            return held.frozen.map { call.answer($0, FrozenSpace.type) }
                ?? call.answer(held.handle, StoreHandle.type)
        }
        add("svg") { call in
            guard let chart = try weak.module().chart(of: call[1]) else {
                throw call.typeError(1, "plot, histogram or Sections")
            }
            return call.answer(.text(chart.svg))
        }
        add("observers") { call in
            let module = try weak.module()
            return call.answer(
                .table(call.state.makeTable(module.activeTokens.map(module.value(of:)))))
        }
        EffectFunctions(module).install()
        add("reference") { call in try weak.module().makeReference(call) }
        table["null"] = module.null
        TransferModule(state: state, json: module.json).install(in: table)
        addMethodsAsFunctions(add)
    }

    /// Adds the constructors of values.
    static func addValues(to table: LuaTable, _ dates: DateClass, _ state: LuaState) {
        func add(_ name: String, _ body: @escaping (borrowing LuaCall) throws -> LuaAnswer) {
            table[name] = .function(state.makeFunction(name, of: "moonpool", body))
        }
        add("date") { try dates.make($0) }
        for type in FixedType.all { add(type.traits.name) { try FixedBox.make(type, $0) } }
        add("decimal", DecimalBox.make)
        add("data") { call in call.answer(DataBox(try call.string(1).bytes), DataBox.type) }
        add("float", FloatBox.make)
    }

    /// Adds each method as a function, for receivers with a property of the same name: `moonpool.observe(dog, …)`.
    private func addMethodsAsFunctions(
        _ add: (String, @escaping (borrowing LuaCall) throws -> LuaAnswer) -> Void
    ) {
        let own = Set(
            ["open", "default", "date", "decimal", "data", "float", "new"]
                + FixedType.all.map(\.traits.name))
        let names =
            ObjectClass.methods.members.map(\.name) + ResultsHandle.type.members.map(\.name)
            + ListHandle.type.members.map(\.name) + SetHandle.type.members.map(\.name)
            + MapHandle.type.members.map(\.name)
        for name in Set(names).subtracting(own) {
            add(name) { call in
                guard let function = Self.method(name, of: call) else {
                    throw call.typeError(1, "object, Results or collection")
                }
                return try call.answer(function.call(call.rest(from: 1)))
            }
        }
    }

    private static func method(_ name: String, of call: borrowing LuaCall) -> LuaFunction? {
        let state = call.state
        if call.liveObject(1)?.stored != nil {
            return state.function(name, of: ObjectClass.methods)
        }
        if let live = call[1].userdata?.swiftObject as? any LiveHandle { return live.method(name) }
        if call.optionalObject(1, StoreHandle.type) != nil {
            return state.function(name, of: StoreHandle.type)
        }
        if call.optionalObject(1, FrozenSpace.type) != nil {
            return state.function(name, of: FrozenSpace.type)
        }
        if call.optionalObject(1, UnmanagedObject.type) != nil {
            return state.function(name, of: UnmanagedObject.type)
        }
        return nil
    }

    /// A weak reference to the module, which is nil after the script has ended.
    private final class Weak {
        private weak var owner: StoreModule?
        init(_ module: StoreModule) { owner = module }
        func module() throws -> StoreModule {
            guard let owner else { throw StoreError(.closed, "the script has ended") }
            return owner
        }
    }
}

/// A member that a host program adds to the objects of a class.
package enum HostMember {
    /// A method, whose first argument is the object.
    case method(LuaFunction)
    /// A property that is computed when it is read.
    case property((LiveObject) throws -> LuaValue)
}

// Conversions of values between a host program and its scripts.
extension StoreModule {
    /// Adds a member to the objects of a class, in every store of the script.
    ///
    /// Properties of the class and methods of all objects take precedence.
    package func add(_ member: HostMember, named name: String, toObjectsOf className: String) {
        hostMembers[className, default: [:]][name] = member
    }

    /// Returns the value of a Lua scalar, text, date, identifier, decimal or data; nil for objects and other values.
    package func plainValue(_ value: LuaValue) -> Value? {
        switch value {
        case .nil: return .null
        case .boolean(let flag): return .bool(flag)
        case .integer(let number): return .int(number)
        case .number(let number): return .double(number)
        case .string(let string): return string.text.map(Value.string) ?? .data(string.bytes)
        case .userdata(let userdata): return json.value(userdata)
        default: return nil
        }
    }

    /// Returns the Lua value of a value that contains no objects.
    package func luaValue(plain value: Value) -> LuaValue { json.lua(value) }

    private func handle(of source: ObjectSource) throws -> StoreHandle {
        guard case .store(let store) = source else {
            throw StoreError(.frozen, "a frozen value cannot be passed to a script")
        }
        guard let handle = handles.first(where: { $0.store === store }) else {
            throw StoreError(
                .invalidArgument, "this belongs to a store that the script has not opened")
        }
        return handle
    }

    /// Returns the Lua value of an object of one of the script's stores.
    ///
    /// Throws `invalid_argument` for an object of another store.
    package func luaValue(of object: LiveObject) throws -> LuaValue {
        try handle(of: object.source).userdata(object.reference)
    }

    /// Returns the elements of results, a list, a set or their values; nil for another value.
    ///
    /// Throws the errors of reading them.
    package func elements(of value: LuaValue) throws -> [LuaValue]? {
        guard let held = value.userdata?.held else { return nil }
        if case .nested = held.value { return nil }
        return try held.elements()?.map(held.bridge.copied)
    }

    /// Returns the store that a live or frozen object of the script was read from; nil for other values.
    package func store(of value: LuaValue) -> Store? {
        value.userdata?.liveObject?.stored?.type.handle.store
    }

    /// Returns the Lua value of a frozen object; `store` is the script's store that contains the view of the object.
    package func luaValue(frozen object: LiveObject, of store: Store) throws -> LuaValue {
        guard case .frozen(let view) = object.source else { return try luaValue(of: object) }
        return try handle(of: .store(store)).frozenSpace(of: view).userdata(object.reference)
    }

    /// Returns the Lua value of the object with this class and key; `file` is the number of its file.
    ///
    /// Throws `invalid_object` if no store of the script has the file and the class, and `invalid_argument` for an
    /// unknown file (0) if several have the class.
    package func luaValue(
        of key: ObjectKey, ofClass name: String, in file: UInt64
    ) throws -> LuaValue {
        let candidates = handles.filter { handle in
            (file == 0 || handle.store.view.fileNumber == file)
                && handle.store.schema.find(name) != nil
        }
        guard let handle = candidates.first, let classSchema = handle.store.schema.find(name) else {
            throw StoreError(
                .invalidObject, "this '\(name)' belongs to a store that the script has not opened")
        }
        guard candidates.count == 1 || file != 0 else {
            throw StoreError(
                .invalidArgument,
                "\(candidates.count) stores of the script have the class '\(name)'; an identifier needs exactly one"
            )
        }
        return handle.userdata(ObjectReference(table: classSchema.table, key: key))
    }

    /// Returns the Lua value of results or of a collection of one of the script's stores.
    ///
    /// Throws `invalid_argument` for those of another store.
    package func luaValue(of value: ReferencedValue) throws -> LuaValue {
        try handle(of: value.source).userdata(value, at: nil)
    }
}

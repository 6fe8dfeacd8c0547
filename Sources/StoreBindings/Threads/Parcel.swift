import Decimals
import LuaHost
import ObjectStore

/// Values that a script sends to another script: the arguments of a worker, or a message.
///
/// The values are packed on the sender's thread and unpacked once on the receiver's thread. Plain values are copied,
/// and a table that occurs several times remains one table. Values of a store are sent as thread-safe references. The
/// receiver resolves them in its own store of the same file, which is opened if necessary. Live values show the
/// receiver's version, or become nil if they were deleted in the meantime; frozen values keep their version.
package struct Parcel: Sendable {
    enum Item: Sendable {
        case `nil`
        case string(LuaString)
        /// A value that is neither nil nor a string of Lua; null for `moonpool.null`.
        case value(Value)
        /// A table, as an index into `tables`.
        case table(Int)
        case stored(ThreadSafeReference)
        /// A reference that a script has created and resolves itself.
        case reference(ThreadSafeReference)
    }

    struct Entry: Sendable {
        let key: Item
        let value: Item
    }

    struct Table: Sendable {
        /// Whether the table is a JSON object even if it is empty.
        let isObject: Bool
        var entries: [Entry] = []
    }

    var items: [Item] = []
    var tables: [Table] = []

    /// Packs values.
    ///
    /// `name` returns the name of the value at an index, counted from 0, for messages: `argument 2`.
    ///
    /// Throws `invalid_argument` with the path of a value that cannot be sent to another thread, such as `argument 2,
    /// field 'x'`. Throws the errors of ``Store/reference(to:)``.
    package init(_ values: [LuaValue], of module: StoreModule, name: (Int) -> String) throws {
        var packer = ParcelPacker(module)
        for (index, value) in values.enumerated() {
            items.append(try packer.item(value, name(index), depth: 0))
        }
        tables = packer.tables
    }

    /// Unpacks the values into the receiver's state.
    ///
    /// Call it on the receiver's thread.
    ///
    /// Throws errors of opening a store. A second call throws `invalid_argument` if the values include a value of a
    /// store.
    package func open(in module: StoreModule) throws -> [LuaValue] {
        let state = module.state
        let created = try tables.map { table in
            try state.checkMemory()
            let created = state.makeTable(fields: table.entries.count)
            if table.isObject { created.metatable = module.json.objects }
            return created
        }
        func value(_ item: Item) throws -> LuaValue {
            switch item {
            case .nil: .nil
            case .string(let text): .string(text)
            case .value(let value): module.json.exact(value)
            case .table(let index): .table(created[index])
            case .stored(let reference):
                try module.handle(for: reference).resolve(reference)
            case .reference(let reference):
                state.userdata(ReferenceBox(reference), ReferenceBox.type)
            }
        }
        for (table, sent) in zip(created, tables) {
            try state.checkMemory()
            for entry in sent.entries { table.setRaw(try value(entry.key), try value(entry.value)) }
        }
        return try items.map(value)
    }
}

/// Converts Lua values to parcel items.
private struct ParcelPacker {
    let module: StoreModule
    var tables: [Parcel.Table] = []
    private var indices: [LuaTable: Int] = [:]
    private var unfinished: Set<LuaTable> = []
    private static let deepest = 100

    init(_ module: StoreModule) { self.module = module }

    mutating func item(_ value: LuaValue, _ path: String, depth: Int) throws -> Parcel.Item {
        switch value {
        case .nil: return .nil
        case .boolean(let flag): return .value(.bool(flag))
        case .integer(let number): return .value(.int(number))
        case .number(let number): return .value(.double(number))
        case .string(let text): return .string(text)
        case .table(let table): return try .table(index(of: table, path, depth))
        case .userdata(let userdata): return try item(userdata, path)
        case .function: throw refusal(path, "a function", "only the worker's own function does")
        case .thread: throw refusal(path, "a coroutine", nil)
        }
    }

    private mutating func index(of table: LuaTable, _ path: String, _ depth: Int) throws -> Int {
        if unfinished.contains(table) {
            throw StoreError(
                .invalidArgument,
                "\(path): the table contains itself; only trees of tables can be sent to another thread"
            )
        }
        if let known = indices[table] { return known }
        let isObject = LuaJSON.isObject(table)
        guard isObject || table.metatable.map(module.changeMetatables.contains) ?? true else {
            throw refusal(path, "a table with a metatable", "send a plain copy of its fields")
        }
        guard depth < Self.deepest else {
            let start = path.split(separator: ",").prefix(3).joined(separator: ",")
            throw StoreError(
                .invalidArgument,
                "\(start), …: tables are nested more than \(Self.deepest) deep")
        }
        try table.requireSpace()
        unfinished.insert(table)
        let index = tables.count
        indices[table] = index
        tables.append(Parcel.Table(isObject: isObject))
        assert(tables.count == indices.count, "each packed table has one index")
        var entries: [Parcel.Entry] = []
        for (key, value) in table.pairs {
            try module.state.checkMemory()
            let inner = "\(path), \(try name(of: key, path))"
            entries.append(
                Parcel.Entry(
                    key: try item(key, inner, depth: depth + 1),
                    value: try item(value, inner, depth: depth + 1)))
        }
        tables[index].entries = entries
        unfinished.remove(table)
        assert(depth > 0 || unfinished.isEmpty, "a packed value has no unfinished tables")
        return index
    }

    /// Returns the path of a value in a table, for messages.
    ///
    /// Throws for a key that is not a plain value, because the receiver could not find it.
    private func name(of key: LuaValue, _ path: String) throws -> String {
        switch key {
        case .string(let text): return "field '\(text)'"
        case .integer(let number): return "element \(number)"
        case .number(let number): return "element \(number)"
        case .boolean(let flag): return "field \(flag)"
        default:
            throw StoreError(
                .invalidArgument,
                "\(path): a \(key.typeName) as a key cannot be sent to another thread; use strings or numbers as keys"
            )
        }
    }

    private func item(_ userdata: LuaUserdata, _ path: String) throws -> Parcel.Item {
        if let (type, object) = userdata.liveObject?.stored {
            return try stored(.object(object), type.handle, path)
        }
        if let value = module.json.value(userdata) { return .value(value) }
        if let box = userdata.object(as: ReferenceBox.type) { return .reference(box.reference) }
        if let (value, handle) = module.referenced(userdata) {
            return try stored(value, handle, path)
        }
        let (what, advice) =
            module.host?.inspect(userdata).map { ($0.text, nil) } ?? Self.description(of: userdata)
        throw refusal(path, what, advice)
    }

    private func stored(
        _ value: ReferencedValue, _ handle: StoreHandle, _ path: String
    ) throws -> Parcel.Item {
        do {
            let reference = try handle.store.reference(to: value, for: module.holder)
            // The receiver could read the reference before the write has ended.
            guard !reference.isOfOpenWrite else {
                throw StoreError(
                    .alreadyInWrite,
                    "this was created in the open write transaction; send it after the commit, or "
                        + "send moonpool.reference(…) of it")
            }
            return .stored(reference)
        } catch let error as StoreError {
            throw error.at(path)
        }
    }

    private func refusal(_ path: String, _ what: String, _ advice: String?) -> StoreError {
        StoreError(
            .invalidArgument,
            "\(path): \(what) cannot be sent to another thread" + (advice.map { "; \($0)" } ?? ""))
    }

    /// Returns a description of a userdata, and a suggestion of what to send instead.
    private static func description(of userdata: LuaUserdata) -> (String, String?) {
        if userdata.object(as: TokenHandle.type) != nil { return ("an observer's token", nil) }
        if userdata.object(as: UnmanagedObject.type) != nil {
            return ("an unmanaged object", "add it to a store with store:add first")
        }
        if userdata.object(as: ChangeHandle.type) != nil {
            return ("a change", "send the values that you need")
        }
        if userdata.object(as: SectionsHandle.type) != nil {
            return ("sections", "send their Results")
        }
        if userdata.object(as: ProjectionHandle.type) != nil
            || userdata.object(as: ProjectedResultsHandle.type) != nil
        {
            return ("a projection", "send the objects, and project them there")
        }
        return ("a userdata", nil)
    }
}

/// A Lua function that is sent to the state of another thread: its code, without its environment.
package struct SentFunction: Sendable {
    private let code: [UInt8]
    private let upvalues: [Upvalue]

    /// A variable of the enclosing code that a sent function may use.
    private enum Upvalue: Sendable {
        /// The global environment.
        case environment
        /// A local that holds the module `moonpool`; the receiver uses its own module.
        case module
    }

    /// Copies the code of a function.
    ///
    /// `role` is the name of the function in messages: `the function of worker 'cache'`. Throws `invalid_argument` for
    /// a function that is not written in Lua, and for one that uses a local of the enclosing code other than the module
    /// `moonpool`; the message contains the name of the local.
    package init(_ function: LuaFunction, of module: StoreModule, role: String) throws {
        do throws(LuaError) {
            code = try function.dump()
        } catch {
            throw StoreError(
                .invalidArgument,
                "\(role) is not written in Lua; wrap it in function() … end to use it on another thread"
            )
        }
        upvalues = try function.upvalues.map { name, value in
            if name == "_ENV" { return .environment }
            if value == .table(module.table) { return .module }
            let shown =
                name.isEmpty || name.hasPrefix("(")
                ? "a local of the enclosing code" : "the local '\(name)' of the enclosing code"
            throw StoreError(
                .invalidArgument,
                "\(role) uses \(shown), which another thread cannot access; pass it as an argument, or create it "
                    + "inside the function")
        }
    }

    /// Loads the function into the receiver's state, with the globals of that state.
    package func load(in module: StoreModule) throws(LuaError) -> LuaFunction {
        let state = module.state
        let function = try state.load(LuaString(bytes: code), name: "=function", mode: .binary)
        for (index, upvalue) in upvalues.enumerated() {
            switch upvalue {
            case .environment: function.setUpvalue(index, .table(state.globals))
            case .module: function.setUpvalue(index, .table(module.table))
            }
        }
        return function
    }
}

/// A thread-safe reference that a script has created itself: `moonpool.reference(x)`.
final class ReferenceBox {
    let reference: ThreadSafeReference
    init(_ reference: ThreadSafeReference) { self.reference = reference }

    var text: String { reference.isResolved ? "reference (resolved)" : "reference" }

    static let type: LuaClass<ReferenceBox> = LuaClass(
        name: "reference",
        properties: [
            LuaProperty("is_resolved") { $1.set($0.reference.isResolved) }
        ],
        metamethods: [
            LuaMethod("__tostring") { box, call in
                call.answer(.text(box.text))
            }
        ])
}

extension StoreModule {
    /// Returns the thread-safe form of a value and its store; nil for values that cannot be sent to another thread.
    func referenced(_ userdata: LuaUserdata) -> (ReferencedValue, StoreHandle)? {
        if let held = userdata.held { return (held.value, held.handle) }
        if let handle = userdata.object(as: StoreHandle.type) {
            return (.store(.store(handle.store)), handle)
        }
        if let space = userdata.object(as: FrozenSpace.type) {
            return (.store(.frozen(space.view)), space.handle)
        }
        return nil
    }

    /// Returns the script's own store for a reference's file, and opens it if necessary.
    func handle(for reference: ThreadSafeReference) throws -> StoreHandle {
        let location = reference.configuration.location
        if let known = handles.first(where: { $0.isAt(location) }) { return known }
        return try open(reference.configuration)
    }

    /// Implements `moonpool.reference(x)`.
    func makeReference(_ call: borrowing LuaCall) throws -> LuaAnswer {
        guard let userdata = call[1].userdata, let (value, handle) = referenced(userdata) else {
            if call.optionalObject(1, UnmanagedObject.type) != nil {
                throw call.argumentError(
                    1,
                    "an unmanaged object cannot be referenced; add it to a store with store:add first"
                )
            }
            throw call.typeError(1, "object, Results, collection or store")
        }
        return call.answer(
            ReferenceBox(try handle.store.reference(to: value, for: holder)), ReferenceBox.type)
    }
}

extension StoreHandle {
    /// Resolves a reference in this store; returns nil if the object was deleted.
    func resolve(_ reference: ThreadSafeReference) throws -> LuaValue {
        let holder = try module.holder
        guard let value = try store.resolve(reference, for: holder) else { return .nil }
        var space: FrozenSpace?
        if case .frozen(let view) = value.source { space = frozenSpace(of: view) }
        return userdata(value, at: space)
    }

    /// The method `store:resolve(reference)`.
    static let resolving: LuaMethod<StoreHandle> = LuaMethod("resolve") { handle, call in
        let box = try call.object(2, ReferenceBox.type)
        return call.answer(try handle.resolve(box.reference))
    }
}

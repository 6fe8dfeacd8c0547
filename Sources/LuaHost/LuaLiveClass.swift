// Live objects: userdata of a key and a class, made without a finalizer, so that walking over millions of them costs
// what Lua's allocator costs. Names are resolved in C; one virtual call answers a read.

import CLuaShims

/// A live object as Lua holds it.
package struct LuaLiveObject {
    /// Its class in this state.
    package let type: LuaLiveClass
    /// Its key.
    package let key: Int64

    /// An object of this class with this key.
    package init(type: LuaLiveClass, key: Int64) {
        self.type = type
        self.key = key
    }
}

/// The Swift side of a class of live objects in one state.
///
/// Subclass it, then `register` the instance.
///
/// The state keeps it until it closes (a frozen one until its last object is collected). What a method throws is
/// raised in Lua.
open class LuaLiveClass {
    // Because register sets it before anything can use the class.
    fileprivate(set) var pointer: OpaquePointer!

    /// For subclasses.
    public init() {}

    /// Reads the property of that slot.
    ///
    /// Slot -1: the key is none of the properties or methods; see `LuaResult.key`.
    open func get(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        result.setNil()
    }
    /// Assigns the property of that slot; -1 as in `get`.
    open func set(_ key: Int64, _ slot: Int, _ value: borrowing LuaField) throws {}
    /// Answers an integer key; by itself as `get` does with slot -1.
    open func element(_ key: Int64, _ index: Int64, _ result: borrowing LuaResult) throws {
        try get(key, -1, result)
    }
    /// Assigns an integer key; by itself as `set` does with slot -1.
    open func setElement(_ key: Int64, _ index: Int64, _ value: borrowing LuaField) throws {
        try set(key, -1, value)
    }
    /// Makes an object from the fields of a table; nil declines, and the general `create` does it.
    open func create(_ fields: borrowing LuaFields) throws -> Int64? { nil }
    /// The members that a script can name on every object of the class, as far as the class itself knows.
    var members: [LuaMember] { [] }
    /// The class behind a name; see `LuaClass.init`.
    func resolve(_ key: Int64, _ name: UInt, _ text: () -> String) -> LuaLiveClass? { nil }

    /// The address of a name interned by this class: equal to what `resolve` gets for that name.
    package internal(set) var internedName: UInt = 0
}

extension LuaResult {
    /// The requested key, when the slot is -1.
    package var key: LuaValue { state.value(at: 2, on: L) }
}

extension LuaField {
    /// The key that is assigned, when the slot is -1.
    package var key: LuaValue { state.value(at: 2, on: L) }
}

/// The methods that all live classes of a kind share.
///
/// Declare it once, as a global constant.
package final class LuaLiveMethods: Sendable {
    let methods: [LuaMethod<LuaLiveObject>]
    let metamethods: [LuaMethod<LuaLiveObject>]
    /// The names of the methods, sorted.
    package let members: [LuaMember]

    /// A set of methods.
    package init(
        methods: [LuaMethod<LuaLiveObject>], metamethods: [LuaMethod<LuaLiveObject>] = []
    ) {
        self.methods = methods
        self.metamethods = metamethods
        members = methods.map { LuaMember(name: $0.name, isMethod: true) }
            .sorted { $0.name < $1.name }
    }
}

/// Keeps the classes of one frozen version alive while Swift needs them.
///
/// Objects in Lua keep them alive by themselves.
package final class LuaFrozenAnchor {
    let reference: LuaReference
    let first: OpaquePointer

    init(reference: LuaReference, first: OpaquePointer) {
        self.reference = reference
        self.first = first
    }
}

extension LuaState {
    /// Makes a class known.
    ///
    /// `properties` are names with their slots; a property hides a method of the same name.
    package func register(
        _ type: LuaLiveClass, name: String, methods: LuaLiveMethods,
        properties: [(name: String, slot: Int)]
    ) {
        let L = stack
        _ = shim_reserve(L, 16)
        let pointer = makeClass(type, kind: SHIM_CLASS_LIVE, name: name, on: L)
        type.internedName = UInt(bitPattern: shim_class_name(pointer))
        let functions = functions(of: methods)
        for (method, function) in zip(methods.methods, functions) {
            push(function, on: L)
            shim_class_add_method(L, pointer, method.name, method.name.utf8.count)
        }
        for (method, function) in zip(
            methods.metamethods, functions.dropFirst(methods.methods.count))
        {
            push(function, on: L)
            shim_class_add_metamethod(L, pointer, method.name)
        }
        setProperties(properties, of: pointer, on: L)
    }

    /// Replaces the names of a registered class's properties.
    ///
    /// Objects that scripts hold follow at once.
    package func setProperties(_ properties: [(name: String, slot: Int)], of type: LuaLiveClass) {
        setProperties(properties, of: type.pointer, on: stack)
    }

    /// Registers the class that represents `live` at one version, with the present names of `live`.
    ///
    /// Classes of the same version pass the same anchor, and lose their Swift side together when
    /// nothing holds the anchor any more.
    package func registerFrozen(
        _ type: LuaLiveClass, like live: LuaLiveClass, sharing anchor: LuaLiveClass? = nil
    ) -> LuaFrozenAnchor {
        let L = stack
        _ = shim_reserve(L, 16)
        var calls = dispatchCalls
        let pointer = shim_class_freeze(
            L, live.pointer, Unmanaged.passRetained(type).toOpaque(), &calls, anchor?.pointer)!
        type.pointer = pointer
        return LuaFrozenAnchor(reference: popReference(L), first: pointer)
    }

    /// The anchor of a frozen class, while something else still holds it.
    package func anchor(of frozen: LuaLiveClass) -> LuaFrozenAnchor? {
        let L = stack
        guard shim_push_anchor(L, frozen.pointer) else { return nil }
        return LuaFrozenAnchor(reference: popReference(L), first: frozen.pointer)
    }

    /// The userdata of a live object.
    package func userdata(_ object: LuaLiveObject) -> LuaValue {
        let L = stack
        shim_push_object(L, object.type.pointer, object.key)
        return pop(L)
    }

    /// A method of a live class as a plain function.
    package func function(_ name: String, of methods: LuaLiveMethods) -> LuaFunction? {
        guard let index = methods.methods.firstIndex(where: { $0.name == name }) else { return nil }
        return LuaFunction(reference: functions(of: methods)[index])
    }

    private func functions(of set: LuaLiveMethods) -> [LuaReference] {
        if let known = methodSets[ObjectIdentifier(set)] { return known }
        let L = stack
        let made = (set.methods + set.metamethods).map { method in
            let body: (borrowing LuaCall) throws -> LuaAnswer =
                method.free ?? { call in
                    guard let object = call.liveObject(1) else { throw call.badReceiver("object") }
                    return try method.body(object, call)
                }
            push(FunctionBox(home: home, name: method.name, isMethod: true, body: body), on: L)
            return popReference(L)
        }
        methodSets[ObjectIdentifier(set)] = made
        return made
    }

    func makeClass(_ type: LuaLiveClass, kind: Int, name: String, on L: OpaquePointer)
        -> OpaquePointer
    {
        var calls = dispatchCalls
        let pointer = shim_class_new(
            L, Int32(kind), name, Unmanaged.passRetained(type).toOpaque(), &calls)!
        type.pointer = pointer
        return pointer
    }

    func setProperties(
        _ properties: [(name: String, slot: Int)], of pointer: OpaquePointer, on L: OpaquePointer
    ) {
        _ = shim_reserve(L, 16)
        let texts = properties.map { Array($0.name.utf8CString) }
        let lengths = properties.map { $0.name.utf8.count }
        let slots = properties.map { Int32($0.slot) }
        // One block for all names, so that their addresses are stable during the call.
        var block: [CChar] = []
        var offsets: [Int] = []
        for text in texts {
            offsets.append(block.count)
            block += text
        }
        block.append(0)
        block.withUnsafeBufferPointer { block in
            let base = block.baseAddress!  // because the block holds at least its end
            let names: [UnsafePointer<CChar>?] = offsets.map { base + $0 }
            shim_class_set_properties(L, pointer, names, lengths, slots, Int32(names.count))
        }
    }
}

private func dispatch(_ context: UnsafeRawPointer?) -> Unmanaged<LuaLiveClass> {
    Unmanaged<LuaLiveClass>.fromOpaque(context!)  // because every class is made with its Swift side
}

private func answer(_ L: OpaquePointer?, _ error: any Error) -> Int32 {
    let home = Unmanaged<LuaHome>.fromOpaque(shim_owner(L)).takeUnretainedValue()
    _ = home.state?.raise(error, on: L!)  // because the shims pass the stack they were called with
    return 1
}

/// The shims' way into a class.
///
/// Constant, and the same for all.
private let dispatchCalls = shim_class_calls(
    get: { context, L, payload, slot, out in
        dispatch(context)._withUnsafeGuaranteedRef { type in
            do {
                try type.get(payload, Int(slot), LuaResult(out!, L!))
                return 0
            } catch {
                return answer(L, error)
            }
        }
    },
    set: { context, L, payload, slot, value in
        dispatch(context)._withUnsafeGuaranteedRef { type in
            do {
                try type.set(payload, Int(slot), LuaField(value!, L!, index: 3))
                return 0
            } catch {
                return answer(L, error)
            }
        }
    },
    index: { context, L, payload, index, out in
        dispatch(context)._withUnsafeGuaranteedRef { type in
            do {
                try type.element(payload, index, LuaResult(out!, L!))
                return 0
            } catch {
                return answer(L, error)
            }
        }
    },
    set_index: { context, L, payload, index, value in
        dispatch(context)._withUnsafeGuaranteedRef { type in
            do {
                try type.setElement(payload, index, LuaField(value!, L!, index: 3))
                return 0
            } catch {
                return answer(L, error)
            }
        }
    },
    create: { context, L, values, count, key in
        dispatch(context)._withUnsafeGuaranteedRef { type in
            do {
                guard let made = try type.create(LuaFields(values!, Int(count), L!)) else {
                    return 2
                }
                key!.pointee = made
                return 0
            } catch {
                return answer(L, error)
            }
        }
    },
    resolve: { context, L, payload, name, length in
        dispatch(context)._withUnsafeGuaranteedRef { type in
            type.resolve(payload, UInt(bitPattern: name)) {
                String(decoding: UnsafeRawBufferPointer(start: name, count: length), as: UTF8.self)
            }?.pointer
        }
    }
)

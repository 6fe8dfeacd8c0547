// Live objects: userdata with a key and a class. They have no finalizer, so iterating over millions of them costs
// little more than Lua's allocations. Names are resolved in C; one virtual call reads a property.

import CLuaShims

/// A live object in Lua.
package struct LuaLiveObject {
    /// The class of the object in this state.
    package let type: LuaLiveClass
    /// The key of the object.
    package let key: Int64

    /// Creates an object of this class with this key.
    package init(type: LuaLiveClass, key: Int64) {
        self.type = type
        self.key = key
    }
}

/// The Swift side of a class of live objects in one state.
///
/// Subclass it, then `register` the instance.
///
/// The state retains the instance until it closes; a frozen one, until its last object is collected. Errors that a
/// method throws are raised in Lua.
open class LuaLiveClass {
    // because register sets it before anything can use the class; nil after the release, so that its objects become nil
    fileprivate(set) var pointer: OpaquePointer!

    /// Creates the base of a subclass.
    public init() {}

    /// Reads the property with this slot.
    ///
    /// Slot -1 means that the key is neither a property nor a method; see `LuaResult.key`.
    open func get(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        result.setNil()
    }
    /// Assigns the property with this slot; slot -1 has the same meaning as in `get`.
    open func set(_ key: Int64, _ slot: Int, _ value: borrowing LuaField) throws {}
    /// Reads the element at an integer index; by default, calls `get` with slot -1.
    open func element(_ key: Int64, _ index: Int64, _ result: borrowing LuaResult) throws {
        try get(key, -1, result)
    }
    /// Assigns the element at an integer index; by default, calls `set` with slot -1.
    open func setElement(_ key: Int64, _ index: Int64, _ value: borrowing LuaField) throws {
        try set(key, -1, value)
    }
    /// Creates an object from the fields of a table; returns nil to leave the creation to the general `create`.
    open func create(_ fields: borrowing LuaFields) throws -> Int64? { nil }
    /// The members of every object of the class, as far as the class itself knows them.
    var members: [LuaMember] { [] }
    /// Returns the class with a name; see `LuaClass.init`.
    func resolve(_ key: Int64, _ name: UInt, _ text: () -> String) -> LuaLiveClass? { nil }

    /// The address of a name interned by this class, which `resolve` receives for this name.
    package internal(set) var internedName: UInt = 0
}

extension LuaResult {
    /// The requested key, when the slot is -1.
    package var key: LuaValue { state.memberName(at: 2, on: L) }
    /// The userdata that is read, when the slot is -1.
    package var receiver: LuaValue { state.value(at: 1, on: L) }
}

extension LuaField {
    /// The key that is assigned, when the slot is -1.
    package var key: LuaValue { state.memberName(at: 2, on: L) }
    /// The userdata that is changed, when the slot is -1.
    package var receiver: LuaValue { state.value(at: 1, on: L) }
}

/// The methods that all live classes of one kind share.
///
/// Declare it once, as a global constant.
package final class LuaLiveMethods: Sendable {
    let methods: [LuaMethod<LuaLiveObject>]
    let metamethods: [LuaMethod<LuaLiveObject>]
    /// The names of the methods, sorted.
    package let members: [LuaMember]

    /// Creates a set of methods.
    package init(
        methods: [LuaMethod<LuaLiveObject>], metamethods: [LuaMethod<LuaLiveObject>] = []
    ) {
        self.methods = methods
        self.metamethods = metamethods
        members = methods.map { LuaMember(name: $0.name, isMethod: true) }
            .sorted { $0.name < $1.name }
    }
}

/// Keeps the classes of one frozen version alive while Swift code uses them.
///
/// Objects in Lua keep their classes alive themselves.
package final class LuaFrozenAnchor {
    let reference: LuaReference
    let first: OpaquePointer

    init(reference: LuaReference, first: OpaquePointer) {
        self.reference = reference
        self.first = first
    }
}

extension LuaState {
    /// Registers a class.
    ///
    /// `properties` are names with their slots. A property hides a method of the same name.
    package func register(
        _ type: LuaLiveClass, name: String, methods: LuaLiveMethods,
        properties: [(name: String, slot: Int)]
    ) {
        let L = stack
        _ = shim_reserve(L, 16)
        let pointer = makeClass(type, kind: SHIM_CLASS_LIVE, name: name, on: L)
        type.internedName = UInt(bitPattern: shim_class_name(pointer))
        let functions = functions(of: methods)
        assert(
            functions.count == methods.methods.count + methods.metamethods.count,
            "each method has a function")
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

    /// Replaces the property names of a registered class.
    ///
    /// Takes effect at once for existing objects.
    package func setProperties(_ properties: [(name: String, slot: Int)], of type: LuaLiveClass) {
        setProperties(properties, of: type.pointer, on: stack)
    }

    /// Releases a registered class with its last object in Lua.
    ///
    /// Instead of new objects, scripts receive nil.
    package func release(_ type: LuaLiveClass) {
        guard let pointer = type.pointer else { return }
        type.pointer = nil
        _ = shim_reserve(stack, 16)
        shim_class_release(stack, pointer)
    }

    /// Registers the class that represents `live` at one version, with the current names of `live`.
    ///
    /// Classes of the same version use the same anchor. Their Swift instances are released together, when the last
    /// reference to the anchor is dropped.
    package func registerFrozen(
        _ type: LuaLiveClass, like live: LuaLiveClass, sharing anchor: LuaLiveClass? = nil
    ) -> LuaFrozenAnchor {
        assert(type.pointer == nil, "a frozen class is registered once")
        let L = stack
        _ = shim_reserve(L, 16)
        var calls = dispatchCalls
        let pointer = shim_class_freeze(
            L, live.pointer, Unmanaged.passRetained(type).toOpaque(), &calls, anchor?.pointer)!
        type.pointer = pointer
        return LuaFrozenAnchor(reference: popReference(L), first: pointer)
    }

    /// Returns the anchor of a frozen class, while it is still referenced.
    package func anchor(of frozen: LuaLiveClass) -> LuaFrozenAnchor? {
        let L = stack
        guard shim_push_anchor(L, frozen.pointer) else { return nil }
        return LuaFrozenAnchor(reference: popReference(L), first: frozen.pointer)
    }

    /// Creates a userdata for a live object.
    package func userdata(_ object: LuaLiveObject) -> LuaValue {
        let L = stack
        shim_push_object(L, object.type.pointer, object.key)
        return pop(L)
    }

    /// Returns a method of a live class as a plain function.
    package func function(_ name: String, of methods: LuaLiveMethods) -> LuaFunction? {
        guard let index = methods.methods.firstIndex(where: { $0.name == name }) else { return nil }
        return LuaFunction(reference: functions(of: methods)[index])
    }

    private func functions(of set: LuaLiveMethods) -> [LuaReference] {
        if let known = methodSets[ObjectIdentifier(set)] { return known }
        let L = stack
        let created = (set.methods + set.metamethods).enumerated().map { index, method in
            let body: (borrowing LuaCall) throws -> LuaAnswer
            if let free = method.free {
                body = free
            } else {
                body = { call in
                    guard let object = call.liveObject(1) else { throw call.badReceiver("object") }
                    return try method.body(object, call)
                }
            }
            let owner = index < set.methods.count ? "object" : nil
            push(
                FunctionBox(home: home, name: method.name, of: owner, isMethod: true, body: body),
                on: L)
            return popReference(L)
        }
        methodSets[ObjectIdentifier(set)] = created
        return created
    }

    func makeClass(_ type: LuaLiveClass, kind: Int, name: String, on L: OpaquePointer)
        -> OpaquePointer
    {
        assert(type.pointer == nil, "a class is registered once")
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
        // All names share one block, so that their addresses are stable during the call.
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
    Unmanaged<LuaLiveClass>.fromOpaque(context!)  // because every class has a Swift side
}

private func answer(_ L: OpaquePointer?, _ error: any Error) -> Int32 {
    let home = Unmanaged<LuaHome>.fromOpaque(shim_owner(L)).takeUnretainedValue()
    _ = home.state?.raise(error, on: L!)  // because the shims pass the stack they were called with
    return 1
}

/// The functions through which the shims call a class.
///
/// Constant, and the same for all classes.
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
                guard let created = try type.create(LuaFields(values!, Int(count), L!)) else {
                    return 2
                }
                key!.pointee = created
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

// Lua classes of Swift objects. One declaration per class lists the names and their functions, so dispatch and
// completion use the same list. The documentation of a name is in the module that documents it.

import CLuaShims

/// A method, or a metamethod, of a class.
package struct LuaMethod<Receiver>: Sendable {
    /// The name in Lua.
    package let name: String
    let body: @Sendable (Receiver, borrowing LuaCall) throws -> LuaAnswer
    let free: (@Sendable (borrowing LuaCall) throws -> LuaAnswer)?
    let isFastCreate: Bool

    /// Creates a method; the receiver has been checked, and the arguments start at 2.
    package init(
        _ name: String, fastCreate: Bool = false,
        _ body: @escaping @Sendable (Receiver, borrowing LuaCall) throws -> LuaAnswer
    ) {
        self.name = name
        self.body = body
        free = nil
        isFastCreate = fastCreate
    }

    /// Returns this method with another body for some receivers.
    package func replaced(
        by other: LuaMethod, where applies: @escaping @Sendable (Receiver) -> Bool
    ) -> LuaMethod {
        let body = body
        return LuaMethod(name, fastCreate: isFastCreate) { receiver, call in
            try applies(receiver) ? other.body(receiver, call) : body(receiver, call)
        }
    }

    /// Creates a metamethod of two operands, either of which can be the object.
    package init(
        _ name: String,
        anyReceiver body: @escaping @Sendable (borrowing LuaCall) throws -> LuaAnswer
    ) {
        self.name = name
        self.body = { _, call in try body(call) }
        free = body
        isFastCreate = false
    }

    /// Creates the metamethod `__eq`; a value of another type is not equal.
    package static func equality(
        of type: @escaping @autoclosure @Sendable () -> LuaClass<Receiver>,
        _ areEqual: @escaping @Sendable (Receiver, Receiver) -> Bool
    ) -> LuaMethod where Receiver: AnyObject {
        LuaMethod(
            "__eq",
            anyReceiver: { call in
                guard let left = call.optionalObject(1, type()),
                    let right = call.optionalObject(2, type())
                else { return call.answer(.boolean(false)) }
                return call.answer(.boolean(areEqual(left, right)))
            })
    }
}

/// A property of a class.
package struct LuaProperty<Receiver>: Sendable {
    /// The name in Lua.
    package let name: String
    let get: @Sendable (Receiver, borrowing LuaResult) throws -> Void
    let set: (@Sendable (Receiver, borrowing LuaField) throws -> Void)?

    /// Creates a property; without `set`, scripts cannot assign to it.
    package init(
        _ name: String,
        get: @escaping @Sendable (Receiver, borrowing LuaResult) throws -> Void,
        set: (@Sendable (Receiver, borrowing LuaField) throws -> Void)? = nil
    ) {
        self.name = name
        self.get = get
        self.set = set
    }
}

/// A method or property of an object, for completion.
package struct LuaMember: Sendable, Equatable {
    /// The name in Lua.
    package var name: String
    /// Whether this is a method; false for a property.
    package var isMethod: Bool

    /// Creates a member.
    package init(name: String, isMethod: Bool) {
        self.name = name
        self.isMethod = isMethod
    }
}

/// The Lua class of a Swift class.
///
/// Declare it once, as a global constant. Each state creates its own metatable from it when the first object of the
/// class is used.
package final class LuaClass<Object: AnyObject>: Sendable {
    /// The name of the class, for messages and for `luaL_tolstring`.
    package let name: String
    let methods: [LuaMethod<Object>]
    let properties: [LuaProperty<Object>]
    let metamethods: [LuaMethod<Object>]
    let index: (@Sendable (Object, Int64, borrowing LuaResult) throws -> Void)?
    let setIndex: (@Sendable (Object, Int64, borrowing LuaField) throws -> Void)?
    let other: (@Sendable (Object, LuaValue, borrowing LuaResult) throws -> Bool)?
    let setOther: (@Sendable (Object, LuaValue, borrowing LuaField) throws -> Bool)?
    let resolve: (@Sendable (Object, UInt, () -> String) -> LuaLiveClass?)?

    /// Creates a declaration.
    ///
    /// `index` and `setIndex` handle integer keys. `other` and `setOther` handle keys that are neither integers nor
    /// members, and return false for unknown keys. `resolve` returns the live class with a name, for methods declared
    /// with `fastCreate`. `resolve` receives the address of the interned name, which stays the same while the class is
    /// registered, and can request the text.
    package init(
        name: String, methods: [LuaMethod<Object>] = [],
        properties: [LuaProperty<Object>] = [], metamethods: [LuaMethod<Object>] = [],
        index: (@Sendable (Object, Int64, borrowing LuaResult) throws -> Void)? = nil,
        setIndex: (@Sendable (Object, Int64, borrowing LuaField) throws -> Void)? = nil,
        other: (@Sendable (Object, LuaValue, borrowing LuaResult) throws -> Bool)? = nil,
        setOther: (@Sendable (Object, LuaValue, borrowing LuaField) throws -> Bool)? = nil,
        resolve: (@Sendable (Object, UInt, () -> String) -> LuaLiveClass?)? = nil
    ) {
        self.name = name
        self.methods = methods
        self.properties = properties
        self.metamethods = metamethods
        self.index = index
        self.setIndex = setIndex
        self.other = other
        self.setOther = setOther
        self.resolve = resolve
    }

    /// All members of objects of this class, sorted by name.
    package var members: [LuaMember] {
        let all =
            methods.map { LuaMember(name: $0.name, isMethod: true) }
            + properties.map { LuaMember(name: $0.name, isMethod: false) }
        return all.sorted { $0.name < $1.name }
    }
}

/// The dispatch of one state: calls the methods and properties of a Swift class for the shims.
final class BoxDispatch<Object: AnyObject>: LuaLiveClass {
    let declaration: LuaClass<Object>
    init(_ declaration: LuaClass<Object>) { self.declaration = declaration }

    override var members: [LuaMember] { declaration.members }

    private func object(_ payload: Int64) -> Object {
        // because a box of this class is only ever created with an Object, and an empty one is handled earlier
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(bitPattern: Int(payload))!)
            .takeUnretainedValue()
    }

    override func get(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        let object = object(key)
        if slot >= 0 { return try declaration.properties[slot].get(object, result) }
        let name = result.state.value(at: 2, on: result.L)
        if let other = declaration.other, try other(object, name, result) { return }
        let ours = name.text.flatMap {
            result.state.memberOfOtherLibraries?(declaration.name, $0)
        }
        throw LuaUnknownMember(
            name, of: declaration.name, members: declaration.members, ours: ours)
    }

    override func set(_ key: Int64, _ slot: Int, _ value: borrowing LuaField) throws {
        let object = object(key)
        if slot >= 0 {
            guard let set = declaration.properties[slot].set else {
                throw LuaArgumentError(
                    "'\(declaration.properties[slot].name)' of \(declaration.name) cannot be set")
            }
            return try set(object, value)
        }
        let name = value.state.value(at: 2, on: value.L)
        if let setOther = declaration.setOther, try setOther(object, name, value) { return }
        throw LuaUnknownMember(name, of: declaration.name, members: declaration.members)
    }

    override func element(_ key: Int64, _ index: Int64, _ result: borrowing LuaResult) throws {
        try declaration.index?(object(key), index, result)
    }

    override func setElement(_ key: Int64, _ index: Int64, _ value: borrowing LuaField) throws {
        guard let setIndex = declaration.setIndex else {
            throw LuaArgumentError("elements of \(declaration.name) cannot be set")
        }
        try setIndex(object(key), index, value)
    }

    override func resolve(_ key: Int64, _ name: UInt, _ text: () -> String) -> LuaLiveClass? {
        guard let resolve = declaration.resolve else { return nil }
        // because a box of this class is only ever created with an Object, and an empty one is handled earlier
        return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(bitPattern: Int(key))!)
            ._withUnsafeGuaranteedRef { resolve($0, name, text) }
    }
}

/// The error of a name that an object does not have.
struct LuaUnknownMember: ScriptError {
    let scriptCode = "unknown_property"
    let scriptMessage: String

    /// `ours` is the name of the member that the script most likely means, if it is known.
    init(_ key: LuaValue, of type: String, members: [LuaMember], ours: String? = nil) {
        let shown =
            key.text.map { "'\($0)'" } ?? key.integer.map { "\($0)" } ?? key.number.map { "\($0)" }
            ?? "a \(key.typeName) key"
        var message = "\(type) has no member \(shown)"
        if let text = key.text,
            let near = ours ?? nearestName(to: text, in: members.map(\.name))
        {
            message += ", did you mean '\(near)'?"
        }
        scriptMessage = message
    }
}

/// Returns the candidate that is most similar to a misspelled name; nil if none is similar enough.
package func nearestName(to name: String, in candidates: [String]) -> String? {
    let letters = Array(name.lowercased().utf8)
    // Any two names of one letter differ by one mistake.
    guard letters.count > 1, letters.count <= 64 else { return nil }
    var best: (distance: Int, name: String)?
    for candidate in candidates {
        let other = Array(candidate.lowercased().utf8)
        guard other.count <= 64 else { continue }
        var (before, row) = ([Int](), Array(0...other.count))
        for (i, letter) in letters.enumerated() {
            var next = [i + 1]
            for (j, b) in other.enumerated() {
                var steps = min(next[j] + 1, row[j + 1] + 1, row[j] + (letter == b ? 0 : 1))
                // Two swapped letters count as one mistake.
                if i > 0, j > 0, letter == other[j - 1], letters[i - 1] == b {
                    steps = min(steps, before[j - 1] + 1)
                }
                next.append(steps)
            }
            (before, row) = (row, next)
        }
        let distance = row[other.count]
        // This suggests `sorted` to users who expect `sort`.
        let isEnding = distance <= 3 && letters.count > 2 && other.starts(with: letters)
        if isEnding || distance <= max(1, letters.count / 3), distance < (best?.distance ?? .max) {
            best = (distance, candidate)
        }
    }
    return best?.name
}

extension LuaState {
    /// Creates a userdata for a Swift object.
    ///
    /// Two userdata of the same object are equal in Lua, but differ as table keys.
    package func userdata<Object: AnyObject>(_ object: Object, _ type: LuaClass<Object>) -> LuaValue
    {
        let L = stack
        push(object, type, on: L)
        return pop(L)
    }

    func push<Object: AnyObject>(_ object: Object, _ type: LuaClass<Object>, on L: OpaquePointer) {
        shim_push_box(L, pointer(of: type, on: L), Unmanaged.passRetained(object).toOpaque())
    }

    func pointer<Object: AnyObject>(of type: LuaClass<Object>, on L: OpaquePointer) -> OpaquePointer
    {
        if let known = classes[ObjectIdentifier(type)] { return known }
        _ = shim_reserve(L, 16)
        let dispatch = BoxDispatch(type)
        let pointer = makeClass(dispatch, kind: SHIM_CLASS_BOX, name: type.name, on: L)
        classes[ObjectIdentifier(type)] = pointer
        for method in type.methods {
            push(function(for: method, of: type, pointer, owner: type.name), on: L)
            if method.isFastCreate { shim_class_use_fast_create(L) }
            shim_class_add_method(L, pointer, method.name, method.name.utf8.count)
        }
        for method in type.metamethods {
            push(function(for: method, of: type, pointer, owner: nil), on: L)
            shim_class_add_metamethod(L, pointer, method.name)
        }
        setProperties(type.properties.enumerated().map { ($1.name, $0) }, of: pointer, on: L)
        return pointer
    }

    private func function<Object: AnyObject>(
        for method: LuaMethod<Object>, of type: LuaClass<Object>, _ pointer: OpaquePointer,
        owner: String?
    ) -> FunctionBox {
        if let free = method.free {
            return FunctionBox(
                home: home, name: method.name, of: owner, isMethod: true, body: free)
        }
        return FunctionBox(home: home, name: method.name, of: owner, isMethod: true) { call in
            var cls: OpaquePointer?
            guard call.count > 0, let object = shim_to_box(call.L, 1, &cls), cls == pointer else {
                throw call.badReceiver(type.name)
            }
            // The object is retained, because the method can call code that empties the box, such as its finalizer.
            let target = Unmanaged<Object>.fromOpaque(object).takeUnretainedValue()
            return try withExtendedLifetime(target) { try method.body(target, call) }
        }
    }

    /// Returns a method as a plain function, also for receivers that have a property of the same name.
    ///
    /// The class must have been used in this state.
    package func function<Object: AnyObject>(_ name: String, of type: LuaClass<Object>)
        -> LuaFunction?
    {
        let L = stack
        let pointer = pointer(of: type, on: L)
        guard shim_class_push_method(L, pointer, name, name.utf8.count) else { return nil }
        return LuaFunction(reference: popReference(L))
    }
}

extension LuaCall {
    func badReceiver(_ expected: String) -> LuaArgumentError {
        argumentError(1, "\(expected) expected, got \(typeName(1)); call it as x:\(name)(…)")
    }
}

/// A reference to a userdata.
///
/// Equality is identity.
package struct LuaUserdata: Hashable, Sendable {
    let reference: LuaReference

    /// Returns the Swift object of this class; nil for another class, or if the object was released.
    package func object<Object: AnyObject>(as type: LuaClass<Object>) -> Object? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return state.object(at: -1, of: type, on: L)
    }

    /// The Swift object in the userdata; nil for other userdata, or if the object was released.
    package var swiftObject: AnyObject? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        var cls: OpaquePointer?
        return shim_to_box(L, -1, &cls).map {
            Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// The live object of the userdata: its class and key.
    package var liveObject: LuaLiveObject? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return state.liveObject(at: -1, on: L)
    }

    /// The members of a Swift object in the userdata, sorted by name; empty for other userdata.
    package var members: [LuaMember] {
        guard let state = reference.home.state else { return [] }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        var cls: OpaquePointer?
        guard shim_to_box(L, -1, &cls) != nil, let context = shim_class_context(cls) else {
            return []
        }
        return Unmanaged<LuaLiveClass>.fromOpaque(context).takeUnretainedValue().members
    }

    /// Converts the userdata of a Swift object to one of a live object, for all references to it, and releases the
    /// Swift object.
    ///
    /// Returns false, without an effect, if the userdata is of another kind or the live object's class is frozen.
    @discardableResult  // because a caller that has checked the value knows the result
    package func become(_ object: LuaLiveObject) -> Bool {
        guard let state = reference.home.state else { return false }
        let L = state.stack
        _ = shim_reserve(L, 8)
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return shim_box_becomes_object(L, shim_top(L), object.type.pointer, object.key)
    }

    /// Returns whether both refer to the same userdata.
    package static func == (a: LuaUserdata, b: LuaUserdata) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the userdata.
    package func hash(into hasher: inout Hasher) { hasher.combine(reference.address) }
}

extension LuaState {
    func object<Object: AnyObject>(
        at index: Int32, of type: LuaClass<Object>, on L: OpaquePointer
    ) -> Object? {
        var cls: OpaquePointer?
        guard let pointer = shim_to_box(L, index, &cls), cls == classes[ObjectIdentifier(type)]
        else { return nil }
        // because a box of this class is only ever created with an Object
        return Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }

    func liveObject(at index: Int32, on L: OpaquePointer) -> LuaLiveObject? {
        var cls: OpaquePointer?
        var key: Int64 = 0
        guard shim_to_object(L, index, &cls, &key), let context = shim_class_context(cls) else {
            return nil
        }
        return LuaLiveObject(
            type: Unmanaged<LuaLiveClass>.fromOpaque(context).takeUnretainedValue(), key: key)
    }
}

import LuaHost

/// A Swift class whose objects scripts can hold.
///
/// ```swift
/// final class Counter: ScriptObject {
///     static let scriptClass = ScriptClass<Counter>("Counter", [
///         .new("Counter(start)") { (start: Int) in Counter(start) },
///         .method("add(n)") { (counter: Counter, n: Int) in counter.add(n) },
///         .property("count") { $0.count },
///     ])
/// }
/// ```
public protocol ScriptObject: AnyObject, ScriptValue {
    /// The members that scripts can use. It must return the same declaration each time.
    static var scriptClass: ScriptClass<Self> { get }
}

/// The members of a Swift class that scripts can use.
public final class ScriptClass<Object: AnyObject & Sendable>: Sendable {
    /// The name in Lua.
    public let name: String
    let lua: LuaClass<Object>
    let constructor: (@Sendable (borrowing LuaCall) throws -> Object)?
    let stub: ClassStub

    /// Declares a class with methods, properties and at most one `.new`.
    public init(_ name: String, _ members: [ScriptMember<Object>]) {
        self.name = name
        var methods: [LuaMethod<Object>] = []
        var properties: [LuaProperty<Object>] = []
        var constructor: (@Sendable (borrowing LuaCall) throws -> Object)?
        for member in members {
            switch member.kind {
            case .constructor(let body): constructor = body
            case .method(let method): methods.append(method)
            case .property(let property): properties.append(property)
            }
        }
        lua = LuaClass(name: name, methods: methods, properties: properties)
        self.constructor = constructor
        stub = ClassStub(name, members: members.map(\.stub))
    }
}

/// A constructor, method or property for scripts.
public struct ScriptMember<Object: AnyObject & Sendable>: Sendable {
    enum Kind: Sendable {
        case constructor(@Sendable (borrowing LuaCall) throws -> Object)
        case method(LuaMethod<Object>)
        case property(LuaProperty<Object>)
    }
    let kind: Kind
    let stub: MemberStub

    /// Declares how objects are created: `Counter(1)`, and also `Counter.new(1)`.
    public static func new<each Argument: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (repeat each Argument) throws -> Object
    ) -> Self {
        let signature = FunctionSignature(lenient: signature)
        return Self(
            kind: .constructor { call in
                let (arguments, _) = try call.reader(signature)
                return try body(repeat arguments.next((each Argument).self))
            }, stub: .constructor(FunctionStub(signature, repeat (each Argument).self)))
    }

    /// Declares a method: `counter:add(1)`.
    public static func method<each Argument: ScriptValue, Value: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (Object, repeat each Argument) throws -> Value
    ) -> Self {
        method(
            signature, types: annotations(of: repeat (each Argument).self),
            results: annotations(of: Value.self)
        ) {
            (object, call, signature) in
            let (arguments, context) = try call.reader(from: 2, signature)
            let value = try body(object, repeat arguments.next((each Argument).self))
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Declares a method without a result.
    public static func method<each Argument: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (Object, repeat each Argument) throws -> Void
    ) -> Self {
        method(signature, types: annotations(of: repeat (each Argument).self), results: { [] }) {
            (object, call, signature) in
            let (arguments, _) = try call.reader(from: 2, signature)
            try body(object, repeat arguments.next((each Argument).self))
            return .none
        }
    }

    /// Declares an asynchronous method, for which the script waits as in `moonpool.sleep`.
    public static func method<each Argument: ScriptValue, Value: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (Object, repeat each Argument) async throws -> Value
    ) -> Self {
        method(
            signature, types: annotations(of: repeat (each Argument).self),
            results: annotations(of: Value.self)
        ) {
            (object, call, signature) in
            let (arguments, context) = try call.reader(from: 2, signature)
            let values = (repeat try arguments.next((each Argument).self))
            let value = try context.wait { try await body(object, repeat each values) }
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Declares a property: `counter.count`; without `set`, a script cannot assign to it.
    public static func property<Value: ScriptValue>(
        _ name: String, _ get: @escaping @Sendable (Object) throws -> Value,
        set: (@Sendable (Object, Value) throws -> Void)? = nil
    ) -> Self {
        var setter: (@Sendable (Object, borrowing LuaField) throws -> Void)?
        if let set {
            setter = { object, field in
                try set(object, assigned(field, to: name, as: Value.self))
            }
        }
        let property = LuaProperty<Object>(
            name,
            get: { object, result in
                let context = try ScriptContext.of(result.state)
                result.set(try get(object).toLua(in: context))
            }, set: setter)
        return Self(
            kind: .property(property), stub: .property(name, annotations(of: Value.self)))
    }

    private static func assigned<Value: ScriptValue>(
        _ field: borrowing LuaField, to name: String, as type: Value.Type
    ) throws -> Value {
        let context = try ScriptContext.of(field.state)
        do throws(ScriptTypeMismatch) {
            return try type.fromLua(field.luaValue, in: context)
        } catch {
            throw ScriptFunctionError("type_mismatch", "'\(name)': \(error.reason)")
        }
    }

    private static func method(
        _ signature: String, types: @escaping Annotations, results: @escaping Annotations,
        _ body:
            @escaping @Sendable (Object, borrowing LuaCall, FunctionSignature) throws -> LuaAnswer
    ) -> Self {
        let signature = FunctionSignature(lenient: signature)
        return Self(
            kind: .method(
                LuaMethod(signature.name) { object, call in
                    try body(object, call, signature)
                }), stub: .method(FunctionStub(signature, types: types, results: results)))
    }
}

extension ScriptObject {
    /// The class's name.
    public static var scriptTypeName: String { scriptClass.name }
    /// The class's name.
    public static var scriptAnnotation: String { scriptClass.name }

    /// Converts an object of this class.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Self
    {
        guard let object = operand.lua.userdata?.object(as: scriptClass.lua) else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        return object
    }

    /// Passes the object to Lua.
    ///
    /// All Lua values of the same object are equal.
    public func toScript(in conversion: ScriptConversion) -> ScriptOperand {
        ScriptOperand(conversion.context.state.userdata(self, Self.scriptClass.lua))
    }
}

extension ScriptEngine {
    /// Registers a class for scripts.
    ///
    /// It becomes a global with the name of the class, which creates objects if the class has a `.new`.
    ///
    /// Takes effect before the next run. Throws `invalid_argument` for an invalid name.
    public func register<Object: ScriptObject>(_ type: Object.Type) throws {
        let scriptClass = type.scriptClass
        let name = try GlobalName(scriptClass.name)
        stubRegistry.declare(scriptClass.stub.declaration, as: scriptClass.name)
        script.post { context in
            let state = context.state
            let table = state.makeTable()
            if let constructor = scriptClass.constructor {
                let make = { (call: borrowing LuaCall) throws -> LuaAnswer in
                    call.answer(try constructor(call), scriptClass.lua)
                }
                table["new"] = .function(state.makeFunction("new", make))
                let metatable = state.makeTable(fields: 1)
                // The first argument is the table itself.
                metatable["__call"] =
                    (try? state.run(
                        "local new = ... return function(_, ...) return new(...) end",
                        name: "=class", arguments: [table["new"]]))?.first ?? .nil
                table.metatable = metatable
            }
            context[name] = .table(table)
        }
    }
}

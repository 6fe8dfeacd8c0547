import LuaHost
import Moonpool
import ObjectStore
import StoreBindings

/// The methods and computed properties that a host adds to the objects of a model in Lua.
///
/// ```swift
/// try engine.register(Dog.self) { dog in
///     dog.method("years(factor)") { (dog: Live<Dog>, factor: Int?) in (dog.age ?? 0) * (factor ?? 7) }
///     dog.property("isOld") { dog in (dog.age ?? 0) > 10 }
///     dog.function("named(name)") { (name: String) in name.uppercased() }
/// }
/// ```
///
/// In Lua: `dog:years(7)`, `dog.isOld`, `Dog.named("rex")`. Properties of the model and methods of all objects take
/// precedence.
public struct ScriptModel<M: Model> {
    fileprivate typealias Body =
        @Sendable (borrowing LuaCall, FunctionSignature) throws -> LuaAnswer
    fileprivate typealias Getter = @Sendable (LiveObject, ScriptContext) throws -> LuaValue

    fileprivate var functions: [(signature: FunctionSignature, isMethod: Bool, body: Body)] = []
    fileprivate var properties: [(name: String, get: Getter)] = []
    fileprivate var stubs: [MemberStub] = []

    fileprivate init() {}

    /// Adds a method: `dog:years(7)`.
    public mutating func method<each Argument: ScriptConvertible, Value: ScriptConvertible>(
        _ signature: String,
        _ body: @escaping @Sendable (Live<M>, repeat each Argument) throws -> Value
    ) {
        add(
            signature, isMethod: true, types: annotations(of: repeat (each Argument).self),
            results: annotations(of: Value.self)
        ) { call, signature in
            let (arguments, context) = try call.reader(signature.withReceiver)
            let object = try arguments.next(Live<M>.self)
            let value = try body(object, repeat arguments.next((each Argument).self))
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Adds a method without a result.
    public mutating func method<each Argument: ScriptConvertible>(
        _ signature: String,
        _ body: @escaping @Sendable (Live<M>, repeat each Argument) throws -> Void
    ) {
        add(
            signature, isMethod: true, types: annotations(of: repeat (each Argument).self),
            results: { [] }
        ) {
            call, signature in
            let (arguments, _) = try call.reader(signature.withReceiver)
            let object = try arguments.next(Live<M>.self)
            try body(object, repeat arguments.next((each Argument).self))
            return .none
        }
    }

    /// Adds a function of the class: `Dog.named("rex")`.
    public mutating func function<each Argument: ScriptConvertible, Value: ScriptConvertible>(
        _ signature: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Value
    ) {
        add(
            signature, isMethod: false, types: annotations(of: repeat (each Argument).self),
            results: annotations(of: Value.self)
        ) { call, signature in
            let (arguments, context) = try call.reader(signature)
            let value = try body(repeat arguments.next((each Argument).self))
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Adds a property that is computed when it is read: `dog.isOld`.
    public mutating func property<Value: ScriptConvertible>(
        _ name: String, _ get: @escaping @Sendable (Live<M>) throws -> Value
    ) {
        stubs.append(.property(name, annotations(of: Value.self)))
        properties.append(
            (
                name,
                { object, context in
                    guard let store = context.typedStore(object.source) else {
                        throw StoreError(
                            .frozen,
                            "'\(name)' is a property of the host, which cannot be read from a frozen object"
                        )
                    }
                    let live: Live<M> = try store.hosted(object)
                    return try get(live).toLua(in: context)
                }
            ))
    }

    private mutating func add(
        _ signature: String, isMethod: Bool, types: @escaping Annotations,
        results: @escaping Annotations, _ body: @escaping Body
    ) {
        let signature = FunctionSignature(lenient: signature)
        let stub = FunctionStub(signature, types: types, results: results)
        stubs.append(isMethod ? .method(stub) : .function(stub))
        functions.append((signature, isMethod, body))
    }
}

extension FunctionSignature {
    /// Returns the signature of a method as a function of the object.
    fileprivate var withReceiver: FunctionSignature {
        FunctionSignature(name: name, parameters: ["self"] + parameters)
    }
}

extension ScriptEngine {
    /// Adds methods and computed properties to the objects of a model, and functions to a global table with the name of
    /// its class.
    ///
    /// Takes effect before the next run. Throws `invalid_argument` for a name that is not a Lua name.
    public func register<M: Model>(
        _ type: M.Type, _ build: (inout ScriptModel<M>) -> Void
    ) throws {
        var model = ScriptModel<M>()
        build(&model)
        let (functions, properties) = (model.functions, model.properties)
        let className = try GlobalName(M.className)
        for name in functions.map(\.signature.name) + properties.map(\.name) {
            _ = try GlobalName(name)
        }
        stubRegistry.declare(
            ClassStub(M.className, members: model.stubs).extension, as: M.className)
        script.post { context in
            let module = context.storeModule
            var own: [(String, LuaValue)] = []
            for (signature, isMethod, body) in functions {
                let function = context.state.makeFunction(signature.name) { call in
                    let answer = try body(call, signature)
                    // An assignment to a live object cannot throw itself.
                    try HostStores.of(ScriptContext.of(call.state)).throwFailure()
                    return answer
                }
                if isMethod {
                    module.add(
                        .method(function), named: signature.name, toObjectsOf: M.className)
                } else {
                    own.append((signature.name, .function(function)))
                }
            }
            for (name, get) in properties {
                module.add(
                    .property { [weak context] object in
                        guard let context else { throw ScriptFailure.closed }
                        return try get(object, context)
                    }, named: name, toObjectsOf: M.className)
            }
            guard !own.isEmpty else { return }
            let table = context[className].table ?? context.state.makeTable()
            for (name, function) in own { table[name] = function }
            context[className] = .table(table)
        }
    }
}

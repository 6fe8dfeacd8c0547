import LuaHost
import Moonpool
import ObjectStore
import StoreBindings
import Synchronization

/// The context of a call from a script to a Swift function: the host's state, and the stores.
///
/// ```swift
/// struct Tenant: Sendable { var id: Int; var calls = 0 }
/// let engine = try ScriptEngine(.sandboxed, state: Tenant(id: 7))
/// try engine.register("rename(dog, name)") { (call: ScriptCall<Tenant>, dog: Live<Dog>, name: String) in
///     call.state.calls += 1
///     try call.write { _ in dog.name = name }
/// }
/// ```
///
/// Use it on the engine's thread, during the call.
public struct ScriptCall<State: Sendable> {
    private let context: ScriptContext
    private let values: [LuaValue]

    init(_ context: ScriptContext, _ values: [LuaValue]) {
        self.context = context
        self.values = values
    }

    /// The state that the engine was created with.
    public var state: State {
        get { box.value }
        nonmutating set { box.value = newValue }
    }

    private var box: HostState<State> {
        guard let box = HostState<State>.of(context) else {
            // Registration has compared the types.
            preconditionFailure("the engine's state is not a \(State.self)")
        }
        return box
    }

    /// Returns the store with this global name in scripts.
    ///
    /// Throws `invalid_argument` if the store does not exist.
    public func store(_ name: String = "store") throws -> Moonpool.Store {
        let global = context[try GlobalName(name)]
        guard case .store(let handle)? = context.storeModule.inspect(global) else {
            throw StoreError(.invalidArgument, "the script has no store with the name '\(name)'")
        }
        return HostStores.of(context).store(handle.store)
    }

    /// Runs the body in the script's open write, or in a new write.
    ///
    /// The default `store` is the store of the first live argument, or without a live argument, the engine's only
    /// store. In an open write of the script, an error does not roll back the changes; the script rolls back its write
    /// unless it catches the error. Throws the errors of `writeNow` of a store.
    @discardableResult  // because most writes have no result
    public func write<R>(
        in store: Moonpool.Store? = nil, _ body: (Transaction) throws -> R
    ) throws -> R {
        try (store ?? defaultStore()).writeJoining(body)
    }

    /// Runs the body in the script's open write, or in a new write.
    ///
    /// See ``write(in:_:)``.
    public func write(
        in store: Moonpool.Store? = nil, _ body: (Transaction) throws -> Void
    ) throws {
        let run: (Transaction) throws -> Bool = {
            try body($0)
            return true
        }
        try write(in: store, run)
    }

    private func defaultStore() throws -> Moonpool.Store {
        for value in values {
            let source: ObjectSource? =
                switch context.storeModule.inspect(value) {
                case .object(let object)?: object.source
                case .results(let results)?: results.source
                case .collection(let collection)?: collection.source
                default: nil
                }
            if let store = source.flatMap(context.typedStore) { return store }
        }
        let open = context.storeModule.handles
        guard open.count == 1 else {
            throw StoreError(
                .invalidArgument,
                "the engine has \(open.count) open stores; pass the one to write to")
        }
        return HostStores.of(context).store(open[0].store)
    }
}

/// The host's state of one engine, on the engine's thread.
final class HostState<State: Sendable> {
    var value: State

    init(_ value: State) { self.value = value }

    private static var key: ObjectIdentifier { ObjectIdentifier(AnyHostState.self) }

    static func of(_ context: ScriptContext) -> HostState? {
        context.attachments[key] as? HostState
    }
    func attach(to context: ScriptContext) { context.attachments[Self.key] = self }
}

private enum AnyHostState {}

extension ScriptEngine {
    /// Returns the engine's state.
    ///
    /// Throws `invalid_argument` if the engine was created with a state of another type, or without one.
    public func state<State: Sendable>(as type: State.Type = State.self) async throws -> State {
        try await perform { context in
            guard let box = HostState<State>.of(context) else {
                throw StoreError(.invalidArgument, "the engine has no state of type \(type)")
            }
            return box.value
        }
    }

    private func checkState<State>(_ type: State.Type) throws {
        guard let stateType, stateType == type else {
            throw StoreError(
                .invalidArgument,
                stateType.map { "the engine's state is a \($0), not a \(type)" }
                    ?? "the engine was created without a state; pass state: to its initializer")
        }
    }

    /// Registers a Swift function that uses the host's state or writes.
    ///
    /// In all other respects, it equals ``register(_:_:)``. Throws `invalid_argument` if the engine's state is of
    /// another type.
    public func register<
        State: Sendable, each Argument: ScriptConvertible, Value: ScriptConvertible
    >(
        _ signature: String,
        _ body: @escaping @Sendable (ScriptCall<State>, repeat each Argument) throws -> Value
    ) throws {
        try checkState(State.self)
        try registerCall(
            signature, types: annotations(of: repeat (each Argument).self),
            results: annotations(of: Value.self)
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            let value = try body(
                ScriptCall(context, arguments.values),
                repeat arguments.next((each Argument).self))
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Registers a Swift function without a result that uses the host's state or writes.
    public func register<State: Sendable, each Argument: ScriptConvertible>(
        _ signature: String,
        _ body: @escaping @Sendable (ScriptCall<State>, repeat each Argument) throws -> Void
    ) throws {
        try checkState(State.self)
        try registerCall(
            signature, types: annotations(of: repeat (each Argument).self), results: { [] }
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            try body(
                ScriptCall(context, arguments.values),
                repeat arguments.next((each Argument).self))
            return .none
        }
    }
}

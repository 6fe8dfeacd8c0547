import LuaHost
import ObjectStore

/// The functions `moonpool.effect`, `moonpool.computed` and `moonpool.untracked`.
struct EffectFunctions {
    private unowned let module: StoreModule

    init(_ module: StoreModule) { self.module = module }

    func install() {
        let (state, table, scope) = (module.state, module.table, module.readScope)
        func add(_ name: String, _ body: @escaping (borrowing LuaCall) throws -> LuaAnswer) {
            table[name] = .function(state.makeFunction(name, of: "moonpool", body))
        }
        add("effect") { [weak module] call in
            guard let module else { throw StoreError(.closed, "the script has ended") }
            return call.answer(try Self.makeEffect(module, call))
        }
        add("computed") { call in
            call.answer(
                ComputedHandle(try call.function(1), in: scope), ComputedHandle.type)
        }
        add("untracked") { call in
            let function = try call.function(1)
            let arguments = call.rest(from: 2)
            return try call.answer(scope.tracking(nil) { try function.call(arguments) })
        }
    }

    private static func makeEffect(
        _ module: StoreModule, _ call: borrowing LuaCall
    ) throws -> LuaValue {
        let function = try call.function(1)
        let options = try call.options(2)
        let name = try ObserverBinding.name(options, call, 2)
        if let store = module.handles.first(where: { !$0.store.isClosed && $0.store.isChanging }) {
            throw store.store.alreadyInWrite(
                "an effect cannot begin inside a write transaction of '\(store.name)'",
                "create it before or after it")
        }
        let run = EffectRun(function, module)
        let location = module.callLocation
        let title =
            name.isEmpty
            ? (location.isEmpty ? "an effect" : "the effect of \(location)") : "'\(name)'"
        let effect = try Effect(in: module.readScope, title: title, report: run.report) {
            try run.call()
        }
        return run.adopt(effect, name: name)
    }
}

/// The function of one effect, and the cleanup function that it returned.
private final class EffectRun {
    private let function: LuaFunction
    private weak var module: StoreModule?
    private var cleanup: LuaFunction?
    private weak var token: TokenHandle?

    init(_ function: LuaFunction, _ module: StoreModule) {
        self.function = function
        self.module = module
    }

    /// Creates the token of an effect, which the module retains until the effect ends.
    func adopt(_ effect: Effect, name: String) -> LuaValue {
        guard let module else { return .nil }
        let observation = EffectObservation(effect)
        effect.endHandler = { [weak observation] in
            self.cleanUp()
            observation?.didEnd()
        }
        let store = effect.stores.first
        let value = module.adopt(
            observation, number: module.nextTokenNumber(),
            title: (name, "the values that it reads"),
            module.handles.first { $0.store === store })
        token = value.userdata?.object(as: TokenHandle.type)
        if let token, token.isValid {
            module.keep(token) {}
        } else {
            cleanUp()
            observation.didEnd()
        }
        return value
    }

    func report(_ error: any Error) { module?.report(error, token) }

    func call() throws {
        cleanUp()
        guard let module, let token else { return try run() }
        try module.call(token) { () throws in try run() }
    }

    private func run() throws {
        cleanup = try function.call([]).first?.function
    }

    private func cleanUp() {
        guard let cleanup else { return }
        self.cleanup = nil
        do { _ = try module?.readScope.tracking(nil) { try cleanup.call([]) } } catch {
            report(error)
        }
    }
}

/// The observation behind the token of an effect.
private final class EffectObservation: Observation {
    private let effect: Effect
    var endHandler: (() -> Void)?

    init(_ effect: Effect) { self.effect = effect }

    deinit { effect.dispose() }

    func didEnd() {
        let handler = endHandler
        endHandler = nil
        handler?()
    }

    var isValid: Bool { !effect.isDisposed }
    var dependencies: [String] { effect.dependencies }
    var cost: String { isValid ? "runs again when something that it read has changed" : "" }
    var statistics: ObserverStatistics { effect.statistics }
    var reason: DeliveryReason? { effect.reason }
    func invalidate() { effect.dispose() }
}

/// A computed value for scripts: `total()` returns the value.
final class ComputedHandle {
    private let computed: Computed
    private let kept: Kept

    /// The last computed value.
    private final class Kept {
        var value = LuaValue.nil
    }

    init(_ function: LuaFunction, in scope: ReadScope) {
        let kept = Kept()
        self.kept = kept
        computed = Computed(in: scope) {
            let value = try function.call([]).first ?? .nil
            defer { kept.value = value }
            return value != kept.value
        }
    }

    private func value() throws -> LuaValue {
        try computed.update()
        return kept.value
    }

    static let type: LuaClass<ComputedHandle> = LuaClass(
        name: "computed",
        methods: [
            LuaMethod("dispose") { computed, _ in
                computed.computed.dispose()
                return .none
            }
        ],
        metamethods: [
            LuaMethod("__call") { computed, call in call.answer(try computed.value()) },
            LuaMethod("__close") { computed, _ in
                computed.computed.dispose()
                return .none
            },
            LuaMethod("__tostring") { computed, call in
                call.answer(.text("computed (\(try call.state.describe(computed.value())))"))
            },
        ])
}

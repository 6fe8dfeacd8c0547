import LuaHost
import ObjectStore
import Synchronization

/// The shared state of an observer that was registered on one thread and is called on another.
final class RemoteObserverState: Sendable {
    struct Figures: Sendable {
        var isActive = true
        /// Whether the owner of the token has ended the observer, so that no further calls are made.
        var isUnwanted = false
        var dependencies: [String] = []
        var cost = ""
        var statistics = ObserverStatistics()
        var reason: DeliveryReason?
        /// The number of the token on the thread where the function runs.
        var number: Int?
        var failure: StoreError?
    }

    private let figures = Mutex(Figures())

    var current: Figures { figures.withLock { $0 } }

    func change(_ body: (inout sending Figures) -> Void) {
        figures.withLock { body(&$0) }
    }

    /// Copies the statistics of the observer on its own thread.
    func publish(_ token: TokenHandle) {
        let (dependencies, cost) = (token.dependencies, token.cost)
        let (statistics, reason) = (token.statistics, token.reason)
        figures.withLock { figures in
            figures.dependencies = dependencies
            figures.cost = cost
            figures.statistics = statistics
            figures.reason = reason
        }
    }
}

/// An observer whose function runs on another thread, as the thread of the token uses it.
final class RemoteObservation: Observation {
    private let state: RemoteObserverState
    private let script: any RemoteScript
    var endHandler: (() -> Void)?

    init(_ state: RemoteObserverState, on script: any RemoteScript) {
        self.state = state
        self.script = script
    }

    deinit {
        // An observation that has ended by itself can have one pending call.
        if isValid { endThere() }
    }

    var isValid: Bool { state.current.isActive }
    var dependencies: [String] { state.current.dependencies }
    var cost: String { state.current.cost }
    var statistics: ObserverStatistics { state.current.statistics }
    var reason: DeliveryReason? { state.current.reason }

    func invalidate() {
        endThere()
        didEnd()
    }

    /// Handles the end of the observation, on this or the other thread.
    func didEnd() {
        let endHandler = endHandler
        self.endHandler = nil
        endHandler?()
    }

    private func endThere() {
        state.change { figures in
            figures.isUnwanted = true
            figures.isActive = false
        }
        let state = state
        script.post { module in
            if let number = state.current.number { module.token(number)?.invalidate() }
        }
    }
}

extension StoreModule {
    /// Registers a function of this script as an observer on another thread.
    ///
    /// `arguments` are the arguments of `method` (`observe`, `observe_value`), starting with the observed value,
    /// without the function, which is inserted at `index`. Waits until the other thread has registered the observer, so
    /// that the observer receives all later changes.
    func observe(
        on script: any RemoteScript, _ method: String, _ arguments: [LuaValue],
        function: LuaFunction, at index: Int, title: (name: String, subject: String),
        _ store: StoreHandle
    ) throws -> LuaValue {
        guard let host, let own = host.link else {
            throw StoreError(
                .invalidArgument, "observing on a worker needs scripts with event loops")
        }
        if let writing = openStores.first(where: \.isInWrite) {
            throw writing.alreadyInWrite(
                "an observer on a worker cannot be registered while \(writing.title) is being written",
                "commit or cancel the write first")
        }
        let code = try SentFunction(function, of: self, role: "the observer's function")
        let parcel = try Parcel(arguments, of: self) {
            $0 == 0 ? "the observed value" : "argument \($0)"
        }
        let state = RemoteObserverState()
        let number = nextTokenNumber()
        let registeredAt = callLocation
        // If the wait is interrupted, ending the observation also ends what the other thread creates.
        let observation = RemoteObservation(state, on: script)
        try host.run(on: script) { module in
            module.answering(callFrom: registeredAt) {
                module.register(
                    method, with: parcel, function: code, at: index, state: state, for: own,
                    number: number)
            }
        }
        if let failure = state.current.failure { throw failure }
        return adopt(observation, number: number, title: title, store)
    }

    /// Creates the observer on the other thread and retains it until it ends.
    private func register(
        _ method: String, with parcel: Parcel, function code: SentFunction, at index: Int,
        state: RemoteObserverState, for owner: any RemoteScript, number ownersNumber: Int
    ) {
        do {
            var arguments = try parcel.open(in: self)
            guard arguments.first?.isNil == false else {
                throw StoreError(.invalidObject, "the observed object or collection was deleted")
            }
            let function = try code.load(in: self)
            let link = host?.link
            let called = self.state.makeFunction("observer") { call in
                // The notification of the token's end may still be pending.
                guard !state.current.isUnwanted else { return .none }
                defer {
                    // Runs in a separate callback, after this call has been counted.
                    link?.post { module in
                        if let token = state.current.number.flatMap(module.token) {
                            state.publish(token)
                        }
                    }
                }
                return try call.answer(function.call(call.rest(from: 1)))
            }
            arguments.insert(.function(called), at: index)
            let value = try self.state.call(table.get(.text(method)), arguments).first
            guard let token = value?.userdata?.object(as: TokenHandle.type) else { return }
            state.change { $0.number = token.number }
            state.publish(token)
            keep(token) {
                state.change { $0.isActive = false }
                owner.post { module in
                    (module.token(ownersNumber)?.token as? RemoteObservation)?.didEnd()
                }
            }
        } catch {
            let script = ((error as? LuaError)?.underlying ?? error) as? StoreError
            let failure = script ?? StoreError(.invalidArgument, "\(error)")
            state.change { state in
                state.failure = failure
                state.isActive = false
            }
        }
    }
}

/// The observation behind a token: an observer of this thread, or of another one.
protocol Observation: AnyObject {
    var isValid: Bool { get }
    var endHandler: (() -> Void)? { get set }
    var dependencies: [String] { get }
    var cost: String { get }
    var statistics: ObserverStatistics { get }
    var reason: DeliveryReason? { get }
    func invalidate()
}

extension NotificationToken: Observation {}

/// A script on another thread.
package protocol RemoteScript: Sendable {
    /// Runs a job on the script's thread, between its callbacks; returns false if the script has ended.
    @discardableResult  // because a job of an ended script is not needed
    func post(_ job: @escaping @Sendable (StoreModule) -> Void) -> Bool
}

import ObjectStore
import Synchronization
import SystemCalls

/// An observation.
///
/// It ends when the token is invalidated or released, on any thread. Until then it keeps its store open.
///
/// ```swift
/// let token = try store.all(Dog.self).observe { change in print(change) }
/// token.invalidate()
/// ```
public final class NotificationToken: Sendable {
    private struct Observation {
        let token: ObjectStore.NotificationToken
        /// Keeps the store open.
        let context: ModelContext
    }

    private struct State {
        var observation: Unchecked<Observation>?
        var endHandler: (@Sendable () -> Void)?
        weak var actor: (any Actor)?
    }

    private let state: Mutex<State>
    private let flag = Atomic(true)

    init(signal: StoreSignal?) {
        state = Mutex(State(actor: signal?.actor))
    }

    func hold(_ token: ObjectStore.NotificationToken, of context: ModelContext) {
        let boxed = Unchecked(Observation(token: token, context: context))
        state.withLock { $0.observation = boxed }
        token.endHandler = { [weak self] in self?.flag.store(false, ordering: .releasing) }
    }

    /// Calls a handler when the token is invalidated or released.
    func onEnd(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.endHandler = handler }
    }

    deinit { release() }

    /// Ends the observation: the handler is not called again.
    ///
    /// A call that runs finishes. A second call does nothing.
    public func invalidate() {
        release()
    }

    /// Whether the handler may still be called.
    public var isValid: Bool { flag.load(ordering: .acquiring) }

    /// The engine's token while the observation lasts, for the store's own actor.
    var engineToken: ObjectStore.NotificationToken? {
        isValid ? state.withLock { $0.observation }?.value.token : nil
    }

    private func release() {
        flag.store(false, ordering: .releasing)
        let (observation, actor, endHandler) = state.withLock { state in
            (state.observation.take(), state.actor, state.endHandler.take())
        }
        endHandler?()
        guard let observation, let actor else { return }
        // The engine's token belongs to the store's actor, and so does what the store releases with it.
        Task { await Self.end(observation, on: actor) }
    }

    private static func end(
        _ observation: consuming Unchecked<Observation>, on actor: isolated any Actor
    ) {
        observation.value.token.invalidate()
    }
}

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
    /// Whether the engine's observer still exists; it ends before its last change is delivered.
    private let isObserving = Atomic(true)
    /// Whether the token was invalidated, so that the handler must not be called any more.
    private let isReleased = Atomic(false)

    init(signal: StoreSignal?) {
        state = Mutex(State(actor: signal?.actor))
    }

    func hold(_ token: ObjectStore.NotificationToken, of context: ModelContext) {
        let boxed = Unchecked(Observation(token: token, context: context))
        state.withLock { state in
            assert(state.observation == nil, "a token holds one observation")
            state.observation = boxed
        }
        token.endHandler = { [weak self] in self?.isObserving.store(false, ordering: .releasing) }
    }

    /// Calls a handler when the token is invalidated or released.
    func onEnd(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.endHandler = handler }
    }

    deinit { release() }

    /// Ends the observation: the handler is not called again.
    ///
    /// A running call finishes. A second invalidation has no effect.
    public func invalidate() {
        release()
    }

    /// Whether the handler can still be called.
    public var isValid: Bool { mayCall && isObserving.load(ordering: .acquiring) }

    /// Whether the handler may be called, also with the last change of an observer that has ended.
    var mayCall: Bool { !isReleased.load(ordering: .acquiring) }

    /// The engine's token while the observation lasts, for the store's own actor.
    var engineToken: ObjectStore.NotificationToken? {
        isValid ? state.withLock { $0.observation }?.value.token : nil
    }

    private func release() {
        isReleased.store(true, ordering: .releasing)
        let (observation, actor, endHandler) = state.withLock { state in
            (state.observation.take(), state.actor, state.endHandler.take())
        }
        endHandler?()
        guard let observation, let actor else { return }
        // The engine's token, and all objects that the store releases with it, belong to the store's actor.
        Task { await Self.end(observation, on: actor) }
    }

    private static func end(
        _ observation: consuming Unchecked<Observation>, on actor: isolated any Actor
    ) {
        observation.value.token.invalidate()
    }
}

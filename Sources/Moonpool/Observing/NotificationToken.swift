import ObjectStore
import Synchronization
import SystemCalls

/// An observation.
///
/// It ends when the token is invalidated or released, on any thread.
///
/// ```swift
/// let token = try store.all(Dog.self).observe { change in print(change) }
/// token.invalidate()
/// ```
public final class NotificationToken: Sendable {
    private struct State {
        var token: Unchecked<ObjectStore.NotificationToken>?
        var endHandler: (@Sendable () -> Void)?
        weak var actor: (any Actor)?
    }

    private let state: Mutex<State>
    private let flag = Atomic(true)

    init(signal: StoreSignal?) {
        state = Mutex(State(actor: signal?.actor))
    }

    func hold(_ token: ObjectStore.NotificationToken) {
        let boxed = Unchecked(token)
        state.withLock { $0.token = boxed }
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
        isValid ? state.withLock { $0.token }?.value : nil
    }

    private func release() {
        flag.store(false, ordering: .releasing)
        let (token, actor, endHandler) = state.withLock { state in
            (state.token.take(), state.actor, state.endHandler.take())
        }
        endHandler?()
        guard let token, let actor else { return }
        // The engine's token belongs to the store's actor.
        Task { await Self.end(token, on: actor) }
    }

    private static func end(
        _ token: Unchecked<ObjectStore.NotificationToken>, on actor: isolated any Actor
    ) {
        token.value.invalidate()
    }
}

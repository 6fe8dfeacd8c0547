import ObjectStore
import Synchronization
import SystemCalls

/// A source of changes for sequences, and for handlers on the store's actor or on another actor.
struct ChangeSource<Change: Sendable> {
    typealias Handler = (Result<Change, any Error>) -> Void

    let context: ModelContext
    /// Registers an observer with the engine.
    ///
    /// The second argument of the handler is true for the last change.
    let register:
        (
            _ keyPaths: [String],
            _ handler: @escaping (Result<Change, any Error>?, _ isLast: Bool) -> Void
        ) throws -> ObjectStore.NotificationToken

    // MARK: Sequences

    func sequence(_ keyPaths: [String]) -> ChangeSequence<Change> {
        ChangeSequence { ChangePull(context) { try register(keyPaths, $0) } }
    }

    // MARK: Handlers

    /// Registers a handler; with `once`, until it has received the first change after the initial one.
    func token(
        _ keyPaths: [String], once: Bool = false, on isolation: (any Actor)?,
        _ handler: @escaping Handler
    ) throws -> NotificationToken {
        context.scheduling?.adopt(isolation)
        guard let scheduling = context.scheduling, scheduling.actor != nil else {
            throw StoreError(
                .invalidArgument,
                "observing with a handler needs a store that belongs to an actor; use changes() here"
            )
        }
        let token = NotificationToken(signal: scheduling.signal)
        var isDone = false
        let engineToken = try register(keyPaths) { [weak token] change, _ in
            guard let change, let token, token.mayCall, !isDone else { return }
            // The initial call and an error have no reason.
            isDone = once && token.engineToken?.reason != nil
            handler(change)
            if isDone { token.invalidate() }
        }
        token.hold(engineToken, of: context)
        return token
    }

    nonisolated(nonsending) func token<A: Actor>(
        _ keyPaths: [String], once: Bool, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        context.scheduling?.adopt(#isolation)
        if context.scheduling?.actor === actor {
            let box = WeakActor(actor)
            return try token(keyPaths, once: once, on: actor) { change in
                box.actor?.assumeIsolated { handler($0, change) }
            }
        }
        // A single task delivers all changes, so that they arrive in order.
        let (stream, continuation) = AsyncStream<Result<Change, any Error>>.makeStream()
        let box = WeakActor(actor)
        Task {
            for await change in stream {
                guard let actor = box.actor else { return }
                await Self.call(handler, change, on: actor)
            }
        }
        let token = try token(keyPaths, once: once, on: context.scheduling?.actor) {
            continuation.yield($0)
        }
        token.onEnd { continuation.finish() }
        return token
    }

    private static func call<A: Actor>(
        _ handler: @Sendable (isolated A, Result<Change, any Error>) -> Void,
        _ change: Result<Change, any Error>, on actor: isolated A
    ) {
        handler(actor, change)
    }
}

private final class WeakActor<A: Actor>: Sendable {
    private let state: Mutex<Weak>
    private struct Weak { weak var actor: A? }

    init(_ actor: A) { state = Mutex(Weak(actor: actor)) }
    var actor: A? { state.withLock { $0.actor } }
}

import ObjectStore
import Synchronization
import SystemCalls

/// The changes of a collection, an object or a store, as an asynchronous sequence.
///
/// The observation begins with `makeAsyncIterator()`, which a `for` loop calls. An element contains all changes since
/// the previous element; changes are never queued. The sequence ends, without an error, when its task is canceled, when
/// the store is closed, and after the observed object or the owner of the list is deleted.
///
/// If a version cannot be read, because the file is damaged there or a limit is reached, `next()` throws the error. The
/// sequence does not end with it: the next call of `next()` returns the changes between the last element and the next
/// version that can be read.
///
/// ```swift
/// for try await change in store.all(Dog.self).where({ $0.age > 2 }).changes(\.name) {
///     print(change.rows.count)
/// }
/// ```
public struct ChangeSequence<Element: Sendable>: AsyncSequence {
    /// An error of the observed data, or of the registration.
    public typealias Failure = any Error

    let start: () -> ChangePull<Element>

    /// Begins the observation.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pull: start()) }

    /// Iterates over changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// An error of the observed data, or of the registration.
        public typealias Failure = any Error

        let pull: ChangePull<Element>

        /// Returns the next change; nil at the end.
        nonisolated(nonsending) public mutating func next() async throws -> Element? {
            try await pull.next()
        }

        /// Returns the next change; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Element? {
            try await pull.next()
        }
    }
}

/// The state of an iteration over changes.
final class ChangePull<Element: Sendable> {
    typealias Handler = (Result<Element, any Error>?, _ isLast: Bool) -> Void

    private let context: ModelContext
    private var token: ObjectStore.NotificationToken?
    private var element: Element?
    private var failure: (any Error)?
    private var isLast = false
    private var isEnded = false

    init(
        _ context: ModelContext,
        _ register: (@escaping Handler) throws -> ObjectStore.NotificationToken
    ) {
        self.context = context
        do {
            let token = try register { [weak self] change, isLast in
                self?.receive(change, isLast)
            }
            token.holdDeliveries()
            self.token = token
        } catch {
            failure = error
        }
    }

    deinit { token?.invalidate() }

    private func receive(_ change: Result<Element, any Error>?, _ isLast: Bool) {
        if isLast { self.isLast = true }
        switch change {
        case .success(let element): self.element = element
        case .failure(let error): failure = error
        case nil: break
        }
    }

    private func end() {
        isEnded = true
        token?.invalidate()
        token = nil
    }

    /// Returns the changes since the last element, and waits if there are none.
    nonisolated(nonsending) func next() async throws -> Element? {
        guard !isEnded, let scheduling = context.scheduling else { return nil }
        scheduling.adopt(#isolation)
        while true {
            let count = scheduling.signal.count
            if let failure = failure.take() {
                if isLast || token?.isValid != true { end() }
                throw failure
            }
            guard !Task.isCancelled, let engine = try? context.engine, !engine.isClosed else {
                end()
                return nil
            }
            if engine.autorefresh || scheduling.actor == nil { try engine.refresh() }
            token?.pull()
            if let element = element.take() {
                if isLast { end() }
                return element
            }
            guard failure == nil else { continue }
            if isLast || token?.isValid != true {
                end()
                return nil
            }
            await scheduling.signal.wait(after: count)
        }
    }
}

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

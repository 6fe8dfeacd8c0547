import ColumnStorage
import ObjectStore
import Synchronization
import SystemCalls

/// One version of a file, readable from any thread: one thread at a time reads.
package final class FrozenVersion: Sendable {
    private struct State {
        let context: ModelContext
    }

    private let state: Mutex<Unchecked<State>>
    private let hold: FileHold
    private let identity: ObjectIdentifier
    let number: UInt64

    private init(_ view: StoreView, _ hold: FileHold) {
        number = view.version
        self.hold = hold
        identity = hold.identity
        let context = ModelContext(.frozen(view), scheduling: nil)
        state = Mutex(Unchecked(State(context: context)))
        context.frozen = self
        context.keptTables = []
    }

    /// The present version of a store; the version itself for a frozen one.
    ///
    /// Throws `closed`, and what reading the file may throw.
    static func of(_ context: ModelContext) throws -> FrozenVersion {
        if let frozen = context.frozen { return frozen }
        let engine = try context.engine
        try engine.check()
        if let known = context.latestFrozen, known.number == engine.version,
            !engine.isInWrite
        {
            return known
        }
        let made = FrozenVersion(try engine.separateView(), try engine.fileHold())
        context.latestFrozen = made
        return made
    }

    /// A version that an observer has left.
    static func of(_ view: StoreView, leftBy context: ModelContext) throws -> FrozenVersion {
        if let known = context.latestFrozen, known.number == view.version { return known }
        let engine = try context.engine
        let made = FrozenVersion(try engine.separateView(of: view), try engine.fileHold())
        context.latestFrozen = made
        return made
    }

    deinit {
        // A table refers to its context, which would keep itself.
        let tables = state.withLock { state in
            Unchecked(state.value.context.keptTables.take())
        }
        withExtendedLifetime(tables) {}
    }

    /// Reads while no other thread does.
    func read<R>(_ body: (ModelContext) throws -> R) throws -> R {
        let result: Unchecked<Result<R, any Error>> = state.withLock { state in
            Unchecked(Result { try body(state.value.context) })
        }
        return try result.value.get()
    }

    func belongs(to engine: ObjectStore.Store) -> Bool {
        (try? engine.fileHold().identity) == identity
    }

    func isSame(as other: FrozenVersion) -> Bool {
        self === other || (identity == other.identity && number == other.number)
    }
}

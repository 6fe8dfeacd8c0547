import ColumnStorage
import ObjectStore
import Synchronization
import SystemCalls

/// One version of a file, readable on any thread; only one thread reads at a time.
package final class FrozenVersion: Sendable {
    private struct State {
        let context: ModelContext
    }

    private let state: Mutex<Unchecked<State>>
    private let hold: FileHold
    /// The number of the file.
    let file: UInt64
    let number: UInt64

    private init(_ view: StoreView, _ hold: FileHold) {
        number = view.version
        self.hold = hold
        file = view.fileNumber
        let context = ModelContext(.frozen(view), scheduling: nil)
        state = Mutex(Unchecked(State(context: context)))
        context.belong(to: self)
    }

    /// Returns the current version of a store; for a frozen store, its own version.
    ///
    /// Throws `closed` and the errors of reading the file.
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

    /// Returns the frozen version of a view that an observer has released.
    static func of(_ view: StoreView, leftBy context: ModelContext) throws -> FrozenVersion {
        if let known = context.latestFrozen, known.number == view.version { return known }
        let engine = try context.engine
        let made = FrozenVersion(try engine.separateView(of: view), try engine.fileHold())
        context.latestFrozen = made
        return made
    }

    deinit {
        // The context and its tables reference each other. Removing the tables breaks the reference cycle.
        let tables = state.withLock { state in
            Unchecked(state.value.context.takeTables())
        }
        withExtendedLifetime(tables) {}
    }

    /// Reads while no other thread reads.
    func read<R>(_ body: (ModelContext) throws -> R) throws -> R {
        let result: Unchecked<Result<R, any Error>> = state.withLock { state in
            Unchecked(Result { try body(state.value.context) })
        }
        return try result.value.get()
    }

    func belongs(to engine: ObjectStore.Store) -> Bool {
        engine.view.fileNumber == file
    }

    func isSame(as other: FrozenVersion) -> Bool {
        self === other || (file == other.file && number == other.number)
    }
}

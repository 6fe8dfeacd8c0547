import ColumnStorage
import ObjectStore
import Synchronization
import SystemCalls

/// One version of a store, readable on any thread.
///
/// It keeps the version readable, which prevents the file from reusing the version's pages. Release it soon.
///
/// ```swift
/// let past = try store.freeze()
/// Task.detached { print(past.all(Dog.self).map(\.name)) }
/// ```
public struct FrozenStore: Sendable {
    private let frozen: FrozenVersion

    init(_ frozen: FrozenVersion) { self.frozen = frozen }

    /// The version of the file.
    public var version: Int { Int(frozen.number) }

    /// Returns the objects of a model, in the order of their creation.
    ///
    /// A model without a class in the file ends the program.
    public func all<M: Model>(_ type: M.Type) -> FrozenResults<M> {
        do {
            let query = try frozen.read { Query(all: try $0.table(type).classSchema) }
            return FrozenResults(frozen, query)
        } catch {
            ModelContext.trap(error)
        }
    }

    /// Returns the object with a primary key; nil if it does not exist.
    ///
    /// Throws `invalid_argument` if the model has no primary key, `type_mismatch` for a key of another type.
    public func find<M: Model>(
        _ type: M.Type, _ primaryKey: some StoredValue & Hashable
    ) throws -> Frozen<M>? {
        let value = primaryKey.stored
        let key: ObjectKey? = try frozen.read { context in
            try context.source.view.find(
                M.className, primaryKey: try context.resolved(value))?.key
        }
        return key.map { Frozen(frozen, $0) }
    }

    /// Returns the object with an ID; nil if it does not exist in this version.
    public subscript<M>(id: ObjectID<M>) -> Frozen<M>? {
        let isPresent =
            (try? frozen.read { context in
                try context.owns(id.file) && context.table(M.self).rows.isPresent(id.key)
            }) ?? false
        return isPresent ? Frozen(frozen, id.key) : nil
    }
}

extension Store {
    /// Returns the current version, for any thread.
    ///
    /// Inside a write, this is the version before the write. Throws `closed`.
    public func freeze() throws -> FrozenStore { FrozenStore(try FrozenVersion.of(context)) }
}

/// The content of a query in one version, computed on the first access.
final class FrozenContent<Content: Sendable>: Sendable {
    let version: FrozenVersion
    let query: Query
    private let compute: @Sendable (ObjectStore.Results) throws -> Content
    private let known = Mutex<Content?>(nil)

    init(
        _ version: FrozenVersion, _ query: Query,
        _ compute: @escaping @Sendable (ObjectStore.Results) throws -> Content
    ) {
        self.version = version
        self.query = query
        self.compute = compute
    }

    func get() throws -> Content {
        if let known = known.withLock({ $0 }) { return known }
        let content = try version.read { try compute(ObjectStore.Results($0.source, query)) }
        known.withLock { $0 = content }
        return content
    }
}

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
        let created = FrozenVersion(try engine.separateView(), try engine.fileHold())
        context.latestFrozen = created
        return created
    }

    /// Returns the frozen version of a view that an observer has released.
    static func of(_ view: StoreView, leftBy context: ModelContext) throws -> FrozenVersion {
        if let known = context.latestFrozen, known.number == view.version { return known }
        let engine = try context.engine
        let created = FrozenVersion(try engine.separateView(of: view), try engine.fileHold())
        context.latestFrozen = created
        return created
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

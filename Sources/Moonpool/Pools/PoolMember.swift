/// How the stores of a pool are opened.
struct PoolSource: Sendable {
    let location: StoreLocation
    let models: [any ObjectModel.Type]
    let version: Int
    let options: StoreOptions

    /// Opens a store for an actor.
    func open(on isolation: isolated any Actor) throws -> Store {
        try Store(
            location, listing: models, version: version, options: options, on: isolation,
            migration: nil)
    }
}

/// One store of a pool, which follows the commits of the others in the turns of this actor.
actor PoolMember {
    private let source: PoolSource
    private var store: Store?
    private var isClosed = false
    /// The rows of observed queries, by the number of the observation.
    private var observed: [Int: AnyObject] = [:]
    private var lastObservation = 0

    init(_ source: PoolSource, _ store: sending Store? = nil) {
        self.source = source
        let signal = store?.context.scheduling?.signal
        self.store = store
        signal?.setActor(self)
    }

    private func opened() throws -> Store {
        guard !isClosed else { throw StoreError(.closed, "the pool was closed") }
        if let store { return store }
        let made = try source.open(on: self)
        store = made
        return made
    }

    func read<R: Sendable>(_ body: @Sendable (Store) throws -> R) throws -> R {
        let store = try opened()
        try store.refresh()
        return try body(store)
    }

    func write<R: Sendable>(_ body: @Sendable (Transaction) throws -> R) async throws -> R {
        try await opened().write(body)
    }

    func close() {
        isClosed = true
        observed = [:]
        store?.close()
    }

    // MARK: Observed queries

    /// Begins an observation, and returns its number.
    func observe<M: Model>(
        _ keyPaths: [String], _ query: @Sendable (Store) throws -> Results<M>
    ) throws -> Int {
        let store = try opened()
        lastObservation += 1
        observed[lastObservation] = try ObservedRows(query(store), keyPaths)
        return lastObservation
    }

    /// Returns the changes of an observation since the last call, and waits if there are none; nil at the end.
    func next<M: Model>(
        _ number: Int, of type: M.Type
    ) async throws -> CollectionChange<[M]>? {
        while let store, let rows = observed[number] as? ObservedRows<M>,
            let signal = store.context.scheduling?.signal
        {
            let count = signal.count
            guard !Task.isCancelled, !store.isClosed else { break }
            try store.refresh()
            if let change = try rows.take() { return change }
            await signal.wait(after: count)
        }
        end(number)
        return nil
    }

    func end(_ number: Int) { observed[number] = nil }
}

import Synchronization

/// Script engines by key, such as one for each tenant, on shared threads.
///
/// The first use of a key creates and prepares its engine. With an idle limit, the least recently used engines are
/// closed.
///
/// ```swift
/// let pool = ScriptEnginePool<Int>(idleLimit: 1_000) { engine, tenant in
///     try await engine.open(.file("tenants/\(tenant).moonpool"), models: Order.self)
/// }
/// let total = try await pool.withEngine(for: 7) { engine in try await engine.run("return total()", as: Int.self) }
/// ```
///
/// A pool is usable on any thread.
public final class ScriptEnginePool<Key: Hashable & Sendable>: Sendable {
    private struct Entry {
        let number: Int
        let engine: Task<ScriptEngine, any Error>
        var users = 0
        var lastUse = 0
    }
    private struct Engines {
        var entries: [Key: Entry] = [:]
        var uses = 0
        var isClosed = false
    }

    private let engines = Mutex(Engines())
    private let idleLimit: Int?
    private let make: @Sendable (Key) throws -> ScriptEngine
    private let prepare: @Sendable (ScriptEngine, Key) async throws -> Void

    /// Creates an empty pool.
    ///
    /// `idleLimit` is the maximum number of unused engines that stay open; nil for no limit. `prepare` opens stores and
    /// registers functions; if it throws, the waiting uses throw the same error, and the next use tries again.
    public convenience init(
        _ configuration: ScriptConfiguration = .sandboxed, threads: Int = 2,
        idleLimit: Int? = nil,
        prepare: @escaping @Sendable (ScriptEngine, Key) async throws -> Void = { _, _ in }
    ) {
        let threads = ScriptThreads(count: threads)
        self.init(idleLimit, prepare) { _ in try ScriptEngine(configuration, on: threads) }
    }

    /// Creates an empty pool of engines with a state of the host.
    ///
    /// It equals ``init(_:threads:idleLimit:prepare:)``, and `state` creates the state of each new engine.
    public convenience init<State: Sendable>(
        _ configuration: ScriptConfiguration = .sandboxed, threads: Int = 2,
        idleLimit: Int? = nil, state: @escaping @Sendable (Key) -> State,
        prepare: @escaping @Sendable (ScriptEngine, Key) async throws -> Void = { _, _ in }
    ) {
        let threads = ScriptThreads(count: threads)
        self.init(idleLimit, prepare) { key in
            try ScriptEngine(configuration, state: state(key), on: threads)
        }
    }

    private init(
        _ idleLimit: Int?, _ prepare: @escaping @Sendable (ScriptEngine, Key) async throws -> Void,
        _ make: @escaping @Sendable (Key) throws -> ScriptEngine
    ) {
        self.idleLimit = idleLimit.map { max(0, $0) }
        self.prepare = prepare
        self.make = make
    }

    /// The number of engines.
    public var count: Int { engines.withLock { $0.entries.count } }

    /// Calls the body with the engine of a key.
    ///
    /// Several bodies can use an engine at the same time; its runs alternate. Throws the errors of creating and
    /// preparing the engine, the errors of the body, and ``/ScriptHost/ScriptFailure`` with the code `closed` after
    /// ``close()``.
    public func withEngine<Result: Sendable>(
        for key: Key, _ body: @Sendable (ScriptEngine) async throws -> Result
    ) async throws -> Result {
        let entry = try take(key)
        defer { giveBack(key, entry.number) }
        let engine: ScriptEngine
        do {
            engine = try await entry.engine.value
        } catch {
            forget(key, entry.number)
            throw error
        }
        return try await body(engine)
    }

    /// Closes the engine of a key and stops its current run.
    ///
    /// The next use of the key creates a new engine.
    public func close(_ key: Key) async {
        let entry = engines.withLock { $0.entries.removeValue(forKey: key) }
        await Self.close(entry.map { [$0] } ?? [])
    }

    /// Closes all engines.
    ///
    /// The pool is not usable afterward.
    public func close() async {
        let entries = engines.withLock { engines in
            defer { engines.entries = [:] }
            engines.isClosed = true
            return Array(engines.entries.values)
        }
        await Self.close(entries)
    }

    private static func close(_ entries: [Entry]) async {
        for entry in entries {
            if let engine = try? await entry.engine.value { await engine.close() }
        }
    }

    private func take(_ key: Key) throws -> Entry {
        try engines.withLock { engines in
            if engines.isClosed { throw ScriptFailure.closed }
            engines.uses += 1
            var entry =
                engines.entries[key]
                ?? Entry(number: engines.uses, engine: started(key))
            entry.users += 1
            entry.lastUse = engines.uses
            engines.entries[key] = entry
            return entry
        }
    }

    private func started(_ key: Key) -> Task<ScriptEngine, any Error> {
        let (make, prepare) = (make, prepare)
        return Task {
            let engine = try make(key)
            try await prepare(engine, key)
            return engine
        }
    }

    private func giveBack(_ key: Key, _ number: Int) {
        let closing: [Entry] = engines.withLock { engines in
            guard engines.entries[key]?.number == number else { return [] }
            assert(engines.entries[key]?.users != 0, "a use of an engine ends once")
            engines.entries[key]?.users -= 1
            guard let idleLimit else { return [] }
            let idle = engines.entries.filter { $0.value.users == 0 }
            guard idle.count > idleLimit else { return [] }
            let oldest = idle.sorted { $0.value.lastUse < $1.value.lastUse }
                .prefix(idle.count - idleLimit)
            for (key, _) in oldest { engines.entries[key] = nil }
            assert(
                engines.entries.values.count { $0.users == 0 } == idleLimit,
                "the pool keeps as many unused engines as its limit permits")
            return oldest.map(\.value)
        }
        if !closing.isEmpty { Task { await Self.close(closing) } }
    }

    private func forget(_ key: Key, _ number: Int) {
        engines.withLock { engines in
            if engines.entries[key]?.number == number { engines.entries[key] = nil }
        }
    }
}

import MoonpoolScripting
import TestThreads
import Testing

/// Writes of engines that share a thread while another writer has the write lock of the file.
@Suite struct SharedThreadWriteTests {
    private let gates = Gates()
    private let threads = ScriptThreads(count: 1)
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var location: StoreLocation { .file(folder.file("parcels.moonpool")) }

    private func engine(
        _ limits: ScriptLimits = .none, on threads: ScriptThreads?
    ) async throws -> ScriptEngine {
        let engine = try ScriptEngine(.sandboxed(limits: limits), on: threads)
        try engine.add(gates)
        return engine
    }

    /// An engine with the store, on the shared thread.
    private func engine(_ limits: ScriptLimits = .none) async throws -> ScriptEngine {
        let engine = try await engine(limits, on: threads)
        try await engine.open(location, models: Parcel.self)
        return engine
    }

    private static let insert = "store:create('Parcel', { id = #store:objects 'Parcel' })"
    private static let count = "store:refresh() return #store:objects 'Parcel'"
    /// Notes its beginning and its end.
    private static func write(_ name: String) -> String {
        "note('\(name) begins') store:write(function() \(insert) end) note('\(name) ends')"
    }

    /// An engine that waits at the gate `first` in its write, on the shared thread or on its own.
    private func writer(isOnSharedThread: Bool) async throws -> (
        engine: ScriptEngine, run: Task<Void, any Error>
    ) {
        let writer = try await engine(on: isOnSharedThread ? threads : nil)
        try await writer.open(location, models: Parcel.self)
        let run = Task {
            try await writer.run(
                "store:write(function() \(Self.insert) pass('first') note('first ends') end)")
        }
        try await gates.arrival(at: "first")
        return (writer, run)
    }

    @Test(arguments: [true, false])
    func `a write waits for another writer while the other engines of the thread run`(
        isOnSharedThread: Bool
    ) async throws {
        let (second, third) = (try await engine(), try await engine())
        let (first, run) = try await writer(isOnSharedThread: isOnSharedThread)
        let waiting = Task { try await second.run(Self.write("second")) }
        try await gates.recorded("second begins")
        #expect(try await third.run("return #store:objects 'Parcel'", as: Int.self) == 0)
        let later = Task { try await third.run(Self.write("third")) }
        try await gates.recorded("third begins")
        #expect(!gates.notes.contains("second ends"))
        gates.open("first")
        for run in [run, waiting, later] { try await run.value }
        #expect(gates.notes.first { $0.hasSuffix("ends") } == "first ends")
        #expect(try await second.run(Self.count, as: Int.self) == 3)
        for engine in [first, second, third] { await engine.close() }
    }

    @Test(arguments: [true, false])
    func `limits, cancellation, a stop and a close end the wait for another writer`(
        isOnSharedThread: Bool
    ) async throws {
        let limited = try await engine(ScriptLimits(time: .milliseconds(200)))
        let (canceled, stopped) = (try await engine(), try await engine())
        let closed = try await engine()
        let (first, run) = try await writer(isOnSharedThread: isOnSharedThread)
        let runs = [limited, canceled, stopped, closed].enumerated().map { number, engine in
            Task { try await engine.run(Self.write("\(number)")) }
        }
        for number in 0..<4 { try await gates.recorded("\(number) begins") }
        let failure = await #expect(throws: ScriptFailure.self) { try await runs[0].value }
        #expect(failure?.limit == .time)
        runs[1].cancel()
        await #expect(throws: CancellationError.self) { try await runs[1].value }
        stopped.stop()
        let stop = await #expect(throws: ScriptFailure.self) { try await runs[2].value }
        #expect(stop?.code == .interrupted)
        await closed.close()
        await #expect(throws: (any Error).self) { try await runs[3].value }
        #expect(gates.notes.count == 4)
        gates.open("first")
        try await run.value
        // The canceled waits have left the queue for the lock, and the engines can write.
        for engine in [canceled, stopped] { try await engine.run(Self.write("later")) }
        #expect(try await canceled.run(Self.count, as: Int.self) == 3)
        #expect(try await limited.run("return 1", as: Int.self) == 1)
        for engine in [first, limited, canceled, stopped] { await engine.close() }
        #expect(threads.engineCount == 0)
    }

    @Test func `a write that waits for its own thread ends with its time limit`() async throws {
        let outer = try await engine()
        let inner = try await engine(ScriptLimits(time: .milliseconds(200)))
        try outer.register("write_elsewhere()") { () async throws in
            try await inner.run(Self.write("inner"))
        }
        let message = try await outer.run(
            """
            local ok, err
            store:write(function()
              \(Self.insert)
              ok, err = pcall(write_elsewhere)
            end)
            return tostring(ok) .. ' ' .. err.code
            """, as: String.self)
        #expect(message == "false limit_exceeded")
        #expect(try await outer.run("return #store:objects 'Parcel'", as: Int.self) == 1)
        try await outer.run(Self.write("outer"))
        await outer.close()
        await inner.close()
    }

    @Test func `other code of an engine waits until its write has ended`() async throws {
        let second = try await engine()
        let (first, run) = try await writer(isOnSharedThread: true)
        try await second.run(
            """
            token = store:objects('Parcel'):observe(function(change)
              if change.type == 'update' then note('observer') end
            end)
            ticks = 0
            moonpool.every(0.001, function() ticks = ticks + 1 end)
            """)
        let ticks = { try await second.run("return ticks", as: Int.self) }
        #expect(try await eventually { try await ticks() > 0 })
        let waiting = Task {
            try await second.run(
                """
                local before = ticks
                store:write_async(function() note('queued write') end)
                \(Self.write("second"))
                assert(ticks == before)
                """)
        }
        try await gates.recorded("second begins")
        let later = Task { try await second.run("note('run')") }
        #expect(try await first.run("return #store:objects 'Parcel'", as: Int.self) == 1)
        #expect(gates.notes == ["second begins"])
        gates.open("first")
        for run in [run, waiting, later] { try await run.value }
        try await gates.recorded("queued write")
        #expect(gates.notes.prefix(3) == ["second begins", "first ends", "observer"])
        #expect(gates.notes.firstIndex(of: "second ends")! < gates.notes.firstIndex(of: "run")!)
        let before = try await ticks()
        #expect(try await eventually { try await ticks() > before })
        await first.close()
        await second.close()
    }

    @Test func `opening a store waits for another writer, and can be canceled`() async throws {
        let (first, run) = try await writer(isOnSharedThread: true)
        let (opening, canceled) = (try await engine(on: threads), try await engine(on: threads))
        let closed = try await engine(on: threads)
        // A new class needs a write.
        let runs = [opening, canceled, closed].enumerated().map { number, engine in
            Task { [location, gates] in
                gates.record("\(number) begins")
                try await engine.open(location, models: Parcel.self, Label.self)
            }
        }
        for number in 0..<3 { try await gates.recorded("\(number) begins") }
        try await first.run("")
        runs[1].cancel()
        await #expect(throws: CancellationError.self) { try await runs[1].value }
        await closed.close()
        await #expect(throws: (any Error).self) { try await runs[2].value }
        gates.open("first")
        try await run.value
        try await runs[0].value
        try await opening.run("store:write(function() store:create('Label', {}) end)")
        for engine in [first, opening, canceled] { await engine.close() }
    }

    @Test func `a function of the host waits for another writer`() async throws {
        let second = try ScriptEngine(.sandboxed, state: 7, on: threads)
        try await second.open(location, models: Parcel.self)
        let gates = gates
        try second.register("add()") { (call: ScriptCall<Int>) in
            gates.record("add begins")
            try call.write { tx in try tx.insert(Parcel(id: call.state)) }
            gates.record("add ends")
        }
        let (first, run) = try await writer(isOnSharedThread: true)
        let waiting = Task { try await second.run("add()") }
        try await gates.recorded("add begins")
        #expect(try await first.run("return 1", as: Int.self) == 1)
        gates.open("first")
        try await run.value
        try await waiting.value
        #expect(gates.notes == ["add begins", "first ends", "add ends"])
        await first.close()
        await second.close()
    }

    @Test func `writes of many engines on several threads are all committed`() async throws {
        let threads = ScriptThreads(count: 3)
        let engines = try await withThrowingTaskGroup(of: ScriptEngine.self) { tasks in
            for _ in 0..<12 {
                tasks.addTask {
                    let engine = try await engine(on: threads)
                    try await engine.open(location, models: Parcel.self)
                    return engine
                }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for engine in engines {
                tasks.addTask {
                    try await engine.run(
                        """
                        for i = 1, 10 do
                          store:write(function()
                            \(Self.insert)
                            if i % 3 == 0 then moonpool.sleep(0.001) end
                          end)
                        end
                        """)
                }
            }
            try await tasks.waitForAll()
        }
        #expect(try await engines[0].run(Self.count, as: Int.self) == 120)
        for engine in engines { await engine.close() }
        #expect(threads.engineCount == 0)
    }
}

private struct Label: Model {
    var text = ""
}

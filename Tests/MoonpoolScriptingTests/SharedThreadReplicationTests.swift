import MoonpoolScripting
import TestServers
import TestThreads
import Testing

/// Engines that share a thread wait for a stream.
@Suite(.enabled(if: NatsServer.isInstalled, NatsServer.missing))
struct SharedThreadReplicationTests {
    private let gates = Gates()
    private let threads = ScriptThreads(count: 1)
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func engine() async throws -> ScriptEngine {
        let engine = try ScriptEngine(on: threads)
        try engine.add(gates)
        try await engine.open(.file(folder.file("parcels.moonpool")), models: Parcel.self)
        return engine
    }

    private func publish(_ server: NatsServer) -> String {
        """
        publication = store:publish { url = '\(server.address)', stream = 'parcels', acknowledged = true }
        """
    }

    private static let insert =
        "store:write(function() store:create('Parcel', { id = #store:objects 'Parcel' }) end)"

    @Test(arguments: [Self.insert, "assert(publication:wait(600))"])
    func `a script that waits for a stream lets the other engines of its thread run`(
        wait: String
    ) async throws {
        let server = try NatsServer()
        let (publisher, other) = (try await engine(), try await engine())
        try await publisher.run("\(publish(server)) assert(publication:wait(600))")
        server.stop()
        // The stream lacks a commit of the other engine.
        try await other.run(Self.insert)
        let run = Task {
            try await publisher.run("note('begins') store:refresh() \(wait) note('ends')")
        }
        try await gates.recorded("begins")
        try await other.run("note('other')")
        #expect(gates.notes == ["begins", "other"])
        try server.start()
        try await run.value
        #expect(
            try await publisher.run("return publication.version >= store.version", as: Bool.self))
        await publisher.close()
        await other.close()
    }

    @Test func `publishing waits for the write of another engine of the thread`() async throws {
        let server = try NatsServer()
        let (writer, publisher) = (try await engine(), try await engine())
        let writing = Task { try await writer.run("store:write(function() pass('write') end)") }
        try await gates.arrival(at: "write")
        let run = Task {
            try await publisher.run(
                "note('begins') \(publish(server)) assert(publication:wait(600))")
        }
        try await gates.recorded("begins")
        #expect(try await writer.run("return 1", as: Int.self) == 1)
        gates.open("write")
        try await writing.value
        try await run.value
        await writer.close()
        await publisher.close()
    }
}

import EventLoops
import Testing

@Suite struct LocalSocketTests {
    @Test func `a client that does not read is disconnected`() throws {
        let path = "/tmp/moonpool-test-\(UInt64.random(in: 0 ... .max)).sock"
        let listener = try LocalListener(path: path)
        defer { listener.end() }
        let client = try LocalSocket.connect(to: path)
        let server = try #require(listener.accept(patience: .milliseconds(20)))
        #expect(server.write([1]) && client.read() == [1])
        let flood = [UInt8](repeating: 0, count: 16 << 20)
        #expect(!server.write(flood))
        #expect(!server.write([1]), "it stays cut off")
        var bytes = client.read()
        while !bytes.isEmpty { bytes = client.read() }
    }
}

import ColumnStorage
import ObjectStore
import Testing

/// Tokens, and observers that are registered and removed during calls.
@Suite struct TokenTests {
    let world: ObservedWorld
    let received = ReceivedCalls()
    var store: Store { world.store }

    init() throws { world = try ObservedWorld() }

    private func change() throws {
        try world.remotely { try world.set(world.object(1, in: $0), 3) }
    }

    @Test func `the token keeps the results observed`() throws {
        let token = try Results(.store(store), world.middle()).observe(received.receive)
        world.stores.settle()
        try change()
        world.stores.settle()
        #expect(received.calls == ["initial", "mod[0]"])
        token.invalidate()
    }

    @Test func `statistics are recorded for each token`() throws {
        let token = try world.observe(world.middle(), [], received)
        for _ in 0..<3 {
            try change()
            world.stores.settle()
        }
        #expect(token.statistics.calls == 4)
        #expect(token.statistics.handling.maximum >= token.statistics.handling.mean)
        #expect(token.statistics.handling.last > 0)
        // The first call reports the current state, which does not require a comparison.
        #expect(token.statistics.finding.count == 3)
        #expect(token.statistics.finding.last > 0)
        #expect(token.statistics.finding.maximum >= token.statistics.finding.mean)
    }
}

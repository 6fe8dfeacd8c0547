import ColumnStorage
import ObjectStore
import Testing

/// Observers of objects with the values 0 to 9: several changes in one write, and linked rows in any order.
@Suite struct NumberedRowsObserverTests {
    let world: ObservedWorld
    let received = ReceivedCalls()
    var store: Store { world.store }

    init() throws {
        world = try ObservedWorld(objects: 0)
        let store = world.store
        try store.write {
            for value in 0..<10 {
                try store.create("Obj", .dictionary(["value": .int(Int64(value))]))
            }
        }
    }

    private func observe() throws -> NotificationToken {
        try world.observe(world.query("Obj", "value > 0 and value < 5"), [], received)
    }

    private func received(after body: (Store) throws -> Void) throws -> [String] {
        try world.received(received, after: body)
    }

    private func delete(_ text: String) throws {
        let results = Results(.store(store), try world.query("Obj", text))
        try store.delete(results.keys().array, of: store.schema.require("Obj"))
    }

    @Test func `deletions by a query report the deleted rows`() throws {
        let token = try observe()
        #expect(try received { _ in try delete("value > 4") } == [])
        #expect(try received { _ in try delete("value > 1") } == ["del[1, 2, 3]"])
        #expect(try received { try $0.deleteAll("Obj") } == ["del[0]"])
        token.invalidate()
    }

    @Test(arguments: [[2, 3, 4], [4, 3, 2], [3, 4, 2]] as [[Int64]])
    func `changes one by one in any order cause the same call`(order: [Int64]) throws {
        let token = try observe()
        let news = try received { store in
            for number in order { try store.delete(world.object(number)) }
        }
        #expect(news == ["del[1, 2, 3]"])
        token.invalidate()
    }

    @Test func `a modified row that shifts is reported at its old index`() throws {
        let token = try observe()
        let news = try received { store in
            try store.delete(world.object(2))
            try world.set(world.object(3), 4)
        }
        #expect(news == ["del[1] mod[2] new[1]"])
        token.invalidate()
    }

    @Test func `a row that enters after a deleted one is an insertion`() throws {
        let token = try observe()
        let news = try received { store in
            try world.set(world.object(9), 3)
            try store.delete(world.object(2))
        }
        #expect(news == ["del[1] ins[3]"])
        token.invalidate()
    }

    @Test
    func `rows outside the condition are reported when they cross it, and only then`()
        throws
    {
        let token = try observe()
        #expect(try received { _ in try world.object(7).set("text", .string("a")) } == [])
        #expect(try received { _ in try world.set(world.object(7), 8) } == [])
        #expect(try received { _ in try world.set(world.object(7), 1) } == ["ins[4]"])
        #expect(try received { _ in try world.object(7).set("text", .string("b")) } == ["mod[4]"])
        #expect(try received { _ in try world.set(world.object(7), 7) } == ["del[4]"])
        token.invalidate()
    }

    @Test func `visible rows keep their positions when hidden rows are deleted`() throws {
        try store.write {
            try store.deleteAll("Obj")
            for value in [15, 5] {
                try store.create("Obj", .dictionary(["value": .int(Int64(value))]))
            }
        }
        let results = Results(.store(store), try world.query("Obj", "value == 15"))
        let hidden = try #require(try results.first())
        let token = try world.observe(
            world.query("Obj", "value < 10", sort: [("value", false)]), [], received)
        let news = try received { store in
            try store.delete(hidden)
            try store.create("Obj", .dictionary(["value": .int(3)]))
        }
        #expect(news == ["ins[1]"])
        token.invalidate()
    }

    @Test(arguments: [[0, 5, 9], [9, 5, 0], [5, 9, 0]])
    func `the order of observing the rows of a chain does not matter`(order: [Int]) throws {
        var chain: [LiveObject] = []
        try store.write {
            for _ in 0..<10 { chain.append(try store.create("Other")) }
            for (object, next) in zip(chain, chain.dropFirst()) {
                try object.set("next", .object(next.reference))
            }
        }
        let observed = order.map { _ in ReceivedCalls() }
        var tokens: [NotificationToken] = []
        for (number, received) in zip(order, observed) {
            let backwards = try world.query("Other", sort: [("value", number % 2 == 0)])
            tokens.append(try store.observe(backwards, received.receive))
        }
        world.stores.settle()
        observed.forEach { $0.calls = [] }
        _ = try received { _ in try world.set(chain[5], 0) }
        #expect(observed.allSatisfy { $0.calls == ["mod[2, 3, 4, 5]"] })
        tokens.forEach { $0.invalidate() }
    }

    @Test func `a link to a new object modifies the row, a link from it does not`() throws {
        let token = try observe()
        let news = try received { store in
            let target = try store.create("Target")
            try world.object(1).set("link", .object(target.reference))
        }
        #expect(news == ["mod[0]"])
        let link = Value.object(try world.object(1).reference)
        var linking: LiveObject?
        #expect(
            try received { linking = try $0.create("Linking", .dictionary(["link": link])) } == [])
        let linker = try #require(linking)
        #expect(try received { _ in try world.set(linker, 5) } == [])
        token.invalidate()
    }

    @Test func `refresh and begin make all pending initial calls`() throws {
        let received = (0..<3).map { _ in ReceivedCalls() }
        let first = try store.observe(world.query(), received[0].receive)
        let second = try store.observe(world.query(sort: [("value", false)]), received[1].receive)
        try store.beginWrite()
        #expect(received[0].news() == ["initial"])
        #expect(received[1].news() == ["initial"])
        try store.cancelWrite()
        let third = try store.observe(world.query(), received[2].receive)
        try store.refresh()
        #expect(received.map { $0.news() } == [[], [], ["initial"]])
        withExtendedLifetime((first, second, third)) {}
    }
}

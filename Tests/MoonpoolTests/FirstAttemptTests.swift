import Foundation
import Moonpool
import TestThreads
import Testing

// What one writes first must compile and work.

private struct Ticket: Model {
    var id = 0
    var status = Status.open
    var priority: Priority?
    var price: DecimalValue = 0
    var tags: [String] = []
    var labels: Set<String> = []
    var notes: [String: String] = [:]
    var blocks: [Link<Ticket>] = []
    var fans: Set<Link<Ticket>> = []
    var named: [String: Link<Ticket>] = [:]
    static let options = ModelOptions<Ticket>(primaryKey: \.id)
    enum Status: String, StoredValue { case closed, done, open }
    enum Priority: Int, StoredValue { case low = 1, high }
}

@Suite struct FirstAttemptTests {
    private let store: Store
    private let issues: [Live<Ticket>]

    init() throws {
        store = try Store(.memory(UUID().uuidString), models: Ticket.self, on: nil)
        issues = try store.writeNow { tx in
            try [
                Ticket(id: 1, status: .open, priority: .high, price: 19.99),
                Ticket(id: 2, status: .closed, price: 0.01),
                Ticket(id: 3, status: .done, priority: .low, price: 5),
            ].map { try tx.insert($0) }
        }
    }

    @Test func `An enum is ordered by its raw values`() {
        let all = store.all(Ticket.self)
        #expect(all.sorted(by: \.status).map(\.id) == [2, 3, 1])
        #expect(all.sorted(by: .descending(\.priority), .ascending(\.id)).map(\.id) == [1, 3, 2])
        #expect(all.where { $0.status < .open }.count == 2)
        #expect(all.where { $0.status >= .done && $0.priority < .high }.map(\.id) == [3])
        #expect(all.min(of: \.priority) == .low && all.max(of: \.priority) == .high)
        #expect(all.sectioned(by: \.status).keys == [.closed, .done, .open])
    }

    @Test func `Results are a random access collection`() {
        let all = store.all(Ticket.self).sorted(by: \.id)
        #expect(all[1..<3].map(\.id) == [2, 3] && all[1...].first?.id == 2)
        #expect(all.dropFirst(2).prefix(10).map(\.id) == [3] && all.indices == 0..<3)
        #expect(all.reversed().map(\.id) == [3, 2, 1] && all.dropFirst(5).isEmpty)
    }

    @Test func `Decimals have literals and operators`() throws {
        let price: DecimalValue = 19.99
        #expect(price + 1 == DecimalValue("20.99")! && -price - 0.01 == -20)
        #expect(price * 2 / 4 == DecimalValue("9.995")!)
        #expect(issues.map(\.price).reduce(0, +) == 25)
        #expect(store.all(Ticket.self).where { $0.price > 0.01 }.count == 2)
        #expect(DecimalValue(exactly: 10) == 10 && DecimalValue(exactly: UInt64.max) != nil)
        try store.writeNow { _ in issues[1].price += 0.5 }
        #expect(issues[1].price == 0.51)
    }

    @Test func `Collections are assigned from arrays, sets and dictionaries`() throws {
        let names = ["b", "a"]
        try store.writeNow { _ in
            issues[0].blocks = [issues[1], issues[2]]
            issues[1].blocks = store.all(Ticket.self).map { $0 }
            issues[0].tags = names
            issues[0].labels = Set(names)
            issues[0].notes = Dictionary(uniqueKeysWithValues: names.map { ($0, $0) })
            issues[0].fans = [issues[2]]
            issues[0].named = ["x": issues[1]]
        }
        #expect(issues[0].blocks.map(\.id) == [2, 3] && issues[1].blocks.count == 3)
        #expect(Array(issues[0].tags) == ["b", "a"] && issues[0].labels.count == 2)
        #expect(issues[0].notes["a"] == "a" && issues[0].fans.contains(issues[2]))
        #expect(issues[0].named["x"] == issues[1])
        let blocked: [Live<Ticket>] = issues[0].blocks
        #expect(blocked == [issues[1], issues[2]])
    }

    @Test func `A query compares the object itself`() throws {
        let bob = issues[1]
        let all = store.all(Ticket.self)
        #expect(all.where { $0 == bob }.map(\.id) == [2])
        #expect(all.where { $0 != bob && $0.id < 3 }.map(\.id) == [1])
        #expect(all.where { $0.isIn(issues.prefix(2)) }.count == 2)
        #expect(try all.where("SELF == $1", Mixed(bob)).count == 1)
        try store.writeNow { _ in issues[0].blocks = [bob] }
        #expect(all.where { $0.blocks.contains { $0 == bob } }.map(\.id) == [1])
    }

    @Test func `A frozen store is queried like a store`() async throws {
        let past = try store.freeze()
        try store.writeNow { tx in try tx.deleteAll(Ticket.self) }
        let found = try await Task.detached {
            let all = past.all(Ticket.self)
            #expect(all.sum(of: \.price) == 25 && all.average(of: \.id) == 2)
            #expect(all.min(of: \.priority) == .low && all.max(of: \.priority) == .high)
            let open = try all.where("status == $1", Ticket.Status.open)
            #expect(open.map(\.id) == [1])
            #expect(all.distinct(\.status).limit(2).count == 2)
            return all.where { $0.id > 1 }.sorted(by: \.status, .descending).map(\.id)
        }.value
        #expect(found == [3, 2])
    }

    @Test func `Options are arguments`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("issues.moonpool")
        let created = try Store(.file(path), models: Ticket.self, on: nil)
        let other = try Store(
            .file(path), models: Ticket.self, options: StoreOptions(isReadOnly: true), on: nil)
        #expect(throws: (any Error).self) { try other.writeNow { _ in } }
        created.close()
        other.close()
    }

    @MainActor @Test func `A handler is a value`() async throws {
        let store = try Store(.memory(UUID().uuidString), models: Ticket.self)
        let issue = try store.writeNow { tx in try tx.insert(Ticket()) }
        var objects = 0
        var rows = 0
        let object: (Result<ObjectChange<Ticket>, any Error>) -> Void = { _ in objects += 1 }
        let results: (Result<CollectionChange<FrozenResults<Ticket>>, any Error>) -> Void = { _ in
            rows += 1
        }
        let tokens = [
            try issue.observe(object), try issue.observe(\.status, object),
            try store.all(Ticket.self).observe(results),
            try store.all(Ticket.self).observe(\.status, results),
            try store.all(Ticket.self).observe(\.status) { _ in rows += 1 },
        ]
        try await store.write { _ in issue.status = .done }
        #expect(try await eventually { objects == 2 && rows >= 3 })
        tokens.forEach { $0.invalidate() }
        store.close()
    }
}

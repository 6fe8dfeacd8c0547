import ColumnStorage
import ObjectStore
import Testing

/// Observers of results.
@Suite struct ResultsObserverTests {
    let world: ObservedWorld
    let received = ReceivedCalls()
    var store: Store { world.store }

    init() throws { world = try ObservedWorld() }

    private func received(after body: (Store) throws -> Void) throws -> [String] {
        try world.received(received, after: body)
    }

    // The time of delivery.

    @Test func `the initial call comes with the next delivery, not before`() throws {
        let token = try store.observe(world.middle(), received.receive)
        #expect(received.calls == [])
        #expect(try store.refresh() == false)
        #expect(received.news() == ["initial"])
        world.stores.settle()
        #expect(received.news() == [])
        token.invalidate()
    }

    @Test func `without autorefresh, own changes are delivered and remote ones wait`() throws {
        store.autorefresh = false
        let token = try world.observe(world.middle(), [], received)
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["mod[0]"])
        try world.remotely { try world.set(world.object(2, in: $0), 5) }
        world.stores.settle()
        #expect(received.news() == [])
        try store.refresh()
        #expect(received.news() == ["mod[1]"])
        token.invalidate()
    }

    @Test func `changes before the initial call are part of it`() throws {
        let token = try store.observe(world.middle(), received.receive)
        try world.remotely { try $0.create("Obj", .dictionary(["value": .int(5)])) }
        world.stores.settle()
        #expect(received.news() == ["initial"])
        #expect(try received { _ in try world.set(world.object(10), 6) } == ["mod[4]"])
        token.invalidate()
    }

    @Test func `begin delivers the previous write`() throws {
        let token = try world.observe(world.middle(), [], received)
        try store.write { try world.set(world.object(1), 3) }
        #expect(received.calls == [])
        try store.beginWrite()
        #expect(received.news() == ["mod[0]"])
        try store.cancelWrite()
        token.invalidate()
    }

    @Test func `a hundred commits cause one call`() throws {
        let token = try world.observe(world.middle(), [], received)
        for _ in 0..<100 {
            try world.remotely { try $0.create("Obj", .dictionary(["value": .int(5)])) }
        }
        world.stores.settle()
        #expect(received.news() == ["ins\(Array(4..<104))"])
        #expect(token.statistics.coalescedCommits == 99)
    }

    @Test func `frozen results cannot be observed`() throws {
        let results = Results(.frozen(store.view), try world.middle())
        _ = storeError(.frozen) { _ = try results.observe { _ in } }
    }

    // Insertions, deletions, modifications.

    @Test func `unrelated changes are not reported`() throws {
        let token = try world.observe(world.middle(), [], received)
        #expect(try received { try $0.create("Other") } == [])
        #expect(try received { try $0.create("Target") } == [])
        let link = Value.object(try world.object(1).reference)
        #expect(try received { try $0.create("Linking", .dictionary(["link": link])) } == [])
        #expect(try received { _ in try world.set(world.object(6), 13) } == [])
        #expect(try received { try $0.create("Obj", .dictionary(["value": .int(50)])) } == [])
        let news = try received {
            try $0.delete(world.object(0))
            try $0.delete(world.object(6))
        }
        #expect(news == [])
        #expect(try received { _ in } == [])
        token.invalidate()
    }

    @Test func `rows are modified, inserted and deleted`() throws {
        let token = try world.observe(world.middle(), [], received)
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["mod[0]"])
        #expect(try received { _ in try world.set(world.object(7), 3) } == ["ins[4]"])
        #expect(try received { try $0.delete(world.object(3)) } == ["del[2]"])
        #expect(
            try received { try $0.create("Obj", .dictionary(["value": .int(5)])) } == ["ins[4]"])
        token.invalidate()
    }

    @Test func `modifications are reported in old positions`() throws {
        let token = try world.observe(world.middle(), [], received)
        let news = try received { _ in
            try world.set(world.object(2), 0)
            try world.set(world.object(3), 6)
        }
        #expect(news == ["del[1] mod[2] new[1]"])
        token.invalidate()
    }

    @Test func `an insertion includes later changes of the row`() throws {
        let token = try world.observe(world.middle(), [], received)
        var object: LiveObject?
        try world.remotely { object = try $0.create("Obj", .dictionary(["value": .int(5)])) }
        try world.remotely { _ in try object.map { try world.set($0, 6) } }
        world.stores.settle()
        #expect(received.news() == ["ins[4]"])
        try world.remotely { object = try $0.create("Obj", .dictionary(["value": .int(5)])) }
        try world.remotely { try object.map($0.delete) }
        world.stores.settle()
        #expect(received.news() == [])
        let news = try received { try $0.delete($0.create("Obj", .dictionary(["value": .int(5)]))) }
        #expect(news == [])
        token.invalidate()
    }

    @Test func `setting an equal value, and leaving and returning, are modifications`() throws {
        let token = try world.observe(world.middle(), [], received)
        #expect(try received { _ in try world.set(world.object(2), 4) } == ["mod[1]"])
        try world.remotely { try world.set(world.object(2, in: $0), 100) }
        try world.remotely { try world.set(world.object(2, in: $0), 4) }
        world.stores.settle()
        #expect(received.news() == ["mod[1]"])
        token.invalidate()
    }

    @Test func `deleting and creating again is a deletion and an insertion`() throws {
        try store.write {
            for id in 0..<3 { try store.create("Keyed", .dictionary(["id": .int(Int64(id))])) }
        }
        let token = try world.observe(world.query("Keyed"), [], received)
        let news = try received {
            try $0.delete(world.object(1, of: "Keyed"))
            try $0.create("Keyed", .dictionary(["id": .int(1)]))
        }
        #expect(news == ["del[1] ins[2]"])
        token.invalidate()
    }

    @Test func `replacing all rows is reported as deletions and insertions`() throws {
        let token = try world.observe(world.middle(), [], received)
        #expect(try received { try $0.deleteAll("Obj") } == ["del[0, 1, 2, 3]"])
        let news = try received { store in
            for value in 1...3 {
                try store.create("Obj", .dictionary(["value": .int(Int64(value))]))
            }
        }
        #expect(news == ["ins[0, 1, 2]"])
        #expect(try received { try $0.deleteAll("Obj") } == ["del[0, 1, 2]"])
        token.invalidate()
    }

    // Sorting, distinct, limit.

    @Test func `changes of sorted rows have exact indexes`() throws {
        let token = try world.observe(world.middle(sort: [("value", false)]), [], received)
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["mod[3]"])
        #expect(try received { _ in try world.set(world.object(1), 9) } == ["del[3] ins[0]"])
        #expect(try received { _ in try world.set(world.object(1), 2) } == ["del[0] ins[3]"])
        #expect(try received { _ in try world.set(world.object(2), 0) } == ["del[2]"])
        #expect(try received { _ in try world.set(world.object(7), 3) } == ["ins[2]"])
        #expect(try received { try $0.delete(world.object(3)) } == ["del[1]"])
        token.invalidate()
    }

    @Test func `rows sorted by a linked property move with it`() throws {
        let query = try world.middle(sort: [("link.value", true)])
        let token = try world.observe(query, [], received)
        #expect(
            try received { _ in try world.set(world.object(1, of: "Target"), 100) } == [
                "del[0] ins[3]"
            ]
        )
        #expect(try received { try $0.create("Other") } == [])
        token.invalidate()
    }

    @Test func `the modified row is the one that moves`() throws {
        let token = try world.observe(world.middle(sort: [("value", true)]), [], received)
        #expect(try received { _ in try world.set(world.object(1), 5) } == ["del[0] ins[1]"])
        token.invalidate()
    }

    @Test func `distinct, sorted and limited rows have exact changes`() throws {
        try store.write {
            try store.deleteAll("Obj")
            for value in [3, 3, 2, 2, 1, 1, 0, 0] {
                try store.create("Obj", .dictionary(["value": .int(Int64(value))]))
            }
        }
        let schema = store.schema
        let query = try Query(all: schema.require("Obj")).distinct(["value"], schema: schema)
            .sorted([("value", false)], schema: schema).limited(to: 2)
        let token = try world.observe(query, [], received)
        let news = try received { try $0.create("Obj", .dictionary(["value": .int(5)])) }
        #expect(news == ["del[1] ins[0]"])
        token.invalidate()
    }

    @Test func `limited rows have exact changes`() throws {
        let query = try Query(all: store.schema.require("Obj")).limited(to: 2)
        let token = try world.observe(query, [], received)
        #expect(try received { _ in try world.set(world.object(1), 100) } == ["mod[1]"])
        #expect(try received { _ in try world.set(world.object(2), 100) } == [])
        #expect(try received { try $0.delete(world.object(0)) } == ["del[0] ins[1]"])
        token.invalidate()
    }

    @Test func `rows of a list have exact changes`() throws {
        let owner = try world.object(0)
        let list = try owner.list("targets")
        let targets = try (0..<10).map {
            Value.object(try world.object($0, of: "Target").reference)
        }
        try store.write { try list.append(targets) }
        let schema = store.schema
        let target = try schema.require("Target")
        let column = try #require(schema.find("Obj")?.property(named: "targets")).column
        let query = Query(.list(owner.classSchema.table, column, owner.key), of: target.table)
        let sorted = ReceivedCalls()
        let plain = try world.observe(query, [], received)
        let token = try store.observe(
            query.sorted([("value", false)], schema: schema), sorted.receive)
        world.stores.settle()
        #expect(sorted.news() == ["initial"])
        _ = try received { _ in try list.append([targets[5], targets[5], targets[5]]) }
        #expect(sorted.news() == ["ins[5, 6, 7]"])
        _ = try received { _ in try list.swap(0, 1) }
        #expect(sorted.news() == [])
        #expect(try received { try $0.delete(owner) } == ["del\(Array(0..<13)) gone"])
        #expect(sorted.news() == ["del\(Array(0..<13)) gone"])
        #expect(!plain.isValid)
        #expect(!token.isValid)
        world.stores.settle()
        #expect(received.news() == [])
    }

    @Test func `rows of backlinks have exact changes`() throws {
        let child = try world.object(0, of: "Target")
        let link = Value.object(child.reference)
        try store.write {
            for number in 1..<10 { try world.object(Int64(number)).set("link", link) }
        }
        let query = try store.schema.backlinks("origin", of: child)
        let token = try world.observe(query, [], received)
        #expect(try received { try $0.create("Obj", .dictionary(["link": link])) } == ["ins[10]"])
        #expect(try received { _ in try world.set(world.object(3), 100) } == ["mod[3]"])
        #expect(try received { try $0.delete(world.object(5)) } == ["del[5]"])
        #expect(try received { _ in try world.object(2).set("link", .null) } == ["del[2]"])
        #expect(try received { try $0.create("Other") } == [])
        #expect(try received { try $0.delete(child) } == ["del\(Array(0..<9)) gone"])
        token.invalidate()
    }

    // Links.

    @Test func `changes of linked objects modify the linking rows`() throws {
        let token = try world.observe(world.middle(), [], received)
        let target = try world.object(1, of: "Target")
        #expect(try received { _ in try world.set(target, 100) } == ["mod[0]"])
        _ = try received { _ in try world.object(2).set("second", .object(target.reference)) }
        #expect(try received { _ in try world.set(target, 101) } == ["mod[0, 1]"])
        let element = try world.object(9, of: "Target")
        let list = try world.object(3).list("targets")
        #expect(try received { _ in try list.append([.object(element.reference)]) } == ["mod[2]"])
        #expect(try received { _ in try world.set(element, 101) } == ["mod[2]"])
        #expect(try received { try $0.delete(element) } == ["mod[2]"])
        #expect(try received { try $0.delete(target) } == ["mod[0, 1]"])
        token.invalidate()
    }

    @Test func `changes are tracked through three links`() throws {
        var chain: [LiveObject] = []
        try store.write {
            for _ in 0..<20 { chain.append(try store.create("Other")) }
            for (object, next) in zip(chain, chain.dropFirst()) {
                try object.set("next", .object(next.reference))
            }
        }
        let token = try world.observe(world.query("Other"), [], received)
        #expect(try received { _ in try world.set(chain[19], 1) } == ["mod[16, 17, 18, 19]"])
        token.invalidate()
    }

    @Test func `membership by a linked property follows the linked object`() throws {
        let token = try world.observe(world.query("Obj", "link.value == 3"), [], received)
        #expect(try received { _ in try world.set(world.object(7, of: "Target"), 3) } == ["ins[1]"])
        #expect(try received { _ in try world.set(world.object(3, of: "Target"), 4) } == ["del[0]"])
        token.invalidate()
    }

    @Test func `during the call, the results equal the old ones with the change applied`() throws {
        let results = Results(.store(store), try world.middle(sort: [("value", false)]))
        var keys = try results.keys().array
        var calls = 0
        let token = try results.observe { change in
            calls += 1
            for position in change.deletions.reversed() { keys.remove(at: position) }
            let now = try results.keys().array
            for position in change.insertions { keys.insert(now[position], at: position) }
            #expect(keys == now)
        }
        world.stores.settle()
        for round in 0..<20 {
            try store.write {
                try world.set(world.object(Int64(round % 7)), Int64(round * 5 % 12))
                try world.set(world.object(Int64(round * 3 % 10)), Int64(round * 7 % 12))
            }
            world.stores.settle()
        }
        #expect(calls > 10)
        token.invalidate()
    }

    @Test func `the objects of a change can be read, deleted ones with their last values`() throws {
        var deleted: [Value] = []
        var modified: [String] = []
        let token = try store.observe(world.middle()) { change in
            let classSchema = try store.schema.require("Obj")
            let value = try #require(classSchema.property(named: "value"))
            if let before = change.versionBefore {
                deleted += try change.deletedObjects.map {
                    try before.value(value, of: $0.key, in: classSchema)
                }
            }
            for index in change.modifications.indices {
                modified += try change.properties(ofModification: index).map {
                    try "\($0.name) \($0.old.summary)>\($0.new.summary)"
                }
            }
        }
        world.stores.settle()
        try store.write {
            try store.delete(world.object(2))
            try world.set(world.object(3), 7)
            try world.set(world.object(4, of: "Target"), 7)
        }
        world.stores.settle()
        #expect(deleted == [.int(4)])
        #expect(modified == ["value 6>7", "link object 4>object 4"])
        let reason = try #require(token.reason)
        let causes = try reason.causes.map { cause in
            let name = try #require(store.schema.find(table: cause.object.table)?.name)
            return "\(name) \(cause.object.key.rawValue) \(cause.properties.joined(separator: ","))"
        }
        #expect(causes == ["Obj 2 ", "Obj 3 value", "Target 4 value"])
    }

    @Test
    func `a modification lists the links that lead to the change, backlinks on request`()
        throws
    {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(
            [
                ClassSchema(
                    "Row",
                    [
                        Property("value", .int, isOptional: true),
                        Property("link", .object, target: "Row"),
                        Property("any", .mixed), Property("all", .mixed, collection: .map),
                        Property(
                            "linkers", .backlinks,
                            origin: .init(className: "Row", property: "link")),
                    ])
            ], scheduler: scheduler)
        let rows = try store.write {
            try (0..<4).map { _ in try store.create("Row", .dictionary([:])) }
        }
        try store.write {
            // 0 → 1 by a link, 0 → 3 by a mixed value, 2 → 3 by a map in a mixed map.
            try rows[0].set("link", .object(rows[1].reference))
            try rows[0].set("any", .object(rows[3].reference))
            try rows[2].set(
                "all", .dictionary(["a": .dictionary(["b": .object(rows[3].reference)])]))
        }
        var observed: [String: [String]] = [:]
        func observe(_ paths: [String]) throws -> NotificationToken {
            try store.objects("Row").observe(keyPaths: paths) { change in
                for (index, position) in change.modifications.enumerated() {
                    let names = try change.properties(ofModification: index).map(\.name)
                    observed[paths.first ?? "", default: []].append("\(position) \(names)")
                }
            }
        }
        let tokens = [try observe([]), try observe(["linkers.value", "any.value"])]
        scheduler.settle()
        try store.write { try rows[3].set("value", .int(1)) }
        scheduler.settle()
        #expect(observed[""] == [#"0 ["any"]"#, #"2 ["all"]"#, #"3 ["value"]"#])
        #expect(observed["linkers.value"] == [#"0 ["any"]"#])
        observed = [:]
        try store.write { try rows[0].set("value", .int(1)) }
        scheduler.settle()
        #expect(observed[""] == [#"0 ["value"]"#])
        #expect(observed["linkers.value"] == [#"1 ["linkers"]"#])
        tokens.forEach { $0.invalidate() }
    }
}

extension Schema {
    /// The objects of a backlinks property.
    func backlinks(_ name: String, of object: LiveObject) throws -> Query {
        let property = try object.classSchema.requireProperty(name)
        let origin = try #require(property.origin)
        let source = try require(origin.className)
        let column = try source.requireProperty(origin.property).column
        return Query(.backlinks(source.table, column, object.key), of: source.table)
    }
}

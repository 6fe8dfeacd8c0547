import ColumnStorage
import Testing

@testable import ObjectStore

/// A commit notifies exactly the observers that depend on its changes.
@Suite struct ObserverIndexTests {
    private let world: ObservedWorld
    private var dispatcher: NotificationDispatcher { world.store.notifications }

    init() throws {
        world = try ObservedWorld()
    }

    /// The observers that the dispatcher checks for a write.
    private func concerned(_ body: () throws -> Void) throws -> [String] {
        try world.store.write(body)
        defer { world.stores.settle() }
        return dispatcher.tracked.inOrder.map(\.name).sorted()
    }

    @Test func `tracked observers are listed in the order of their registration`() throws {
        var tracked = TrackedObservers()
        let observers = (0..<20).map { number in
            let observer = Observer(name: "\(number)", dispatcher: dispatcher)
            observer.register(as: number)
            return observer
        }
        var expected: Set<Int> = []
        var generator = SplitMix(seed: 9)
        for _ in 0..<500 {
            let observer = observers.randomElement(using: &generator)!
            if observer.isTracked {
                tracked.remove(observer)
                expected.remove(observer.number)
            } else {
                tracked.insert(observer)
                expected.insert(observer.number)
            }
            #expect(tracked.inOrder.map(\.number) == expected.sorted())
            #expect(tracked.isEmpty == expected.isEmpty)
            #expect(observers.filter(\.isTracked).map(\.number) == expected.sorted())
        }
    }

    @Test func `of ten thousand observers only the affected one is checked`() throws {
        try world.store.write {
            for number in 0..<10_000 {
                try world.store.create("Keyed", .dictionary(["id": .int(Int64(number))]))
            }
        }
        var calls = 0
        var tokens: [NotificationToken] = []
        let keyed = try world.store.schema.require("Keyed")
        for number in 0..<10_000 {
            let object = LiveObject(.store(world.store), keyed, ObjectKey(rawValue: Int64(number)))
            tokens.append(try object.observe(name: "\(number)") { _ in calls += 1 })
        }
        #expect(try concerned { try world.object(7, of: "Keyed").set("value", .int(1)) } == ["7"])
        #expect(calls == 1)
        #expect(try concerned { try world.set(world.object(1), 3) } == [])
        #expect(try concerned { try world.store.delete(world.object(8, of: "Keyed")) } == ["8"])
        #expect(calls == 2)
        #expect(!tokens[8].isValid)
        tokens.removeAll()
        #expect(
            dispatcher.observers.isEmpty && dispatcher.index.isEmpty)
    }

    @Test func `each kind of observer is checked for its dependencies`() throws {
        let holder = try world.holder()
        world.stores.settle()
        let target = try world.object(3, of: "Target")
        let tokens = [
            try world.store.observe(
                world.query("Obj", "value > 3"), keyPaths: ["text"], name: "query", { _ in }),
            try world.store.observe(
                world.query("Obj"), keyPaths: ["link.value"], name: "path", { _ in }),
            try holder.list("ints").observe(name: "ints", { _ in }),
            try holder.list("targets").observe(keyPaths: ["value"], name: "targets", { _ in }),
            try world.object(1).observe(name: "object", { _ in }),
            try world.object(1).observe(keyPaths: ["linkings.value"], name: "linkings", { _ in }),
            try Results(
                backlinks: target.classSchema.requireProperty("origin"), of: target
            ).observe(keyPaths: ["text"], name: "origin", { _ in }),
        ]
        world.stores.settle()
        let object = try world.object(1)
        #expect(
            try concerned { try object.set("value", .int(5)) } == ["linkings", "object", "query"])
        #expect(
            try concerned { try object.set("text", .null) }
                == ["linkings", "object", "origin", "query"])
        #expect(
            try concerned { try object.set("link", .object(target.reference)) }
                == ["linkings", "object", "origin", "path"])
        #expect(
            try concerned { try target.set("value", .int(5)) } == ["origin", "path", "targets"])
        #expect(try concerned { try target.set("value2", .int(5)) } == ["origin"])
        #expect(try concerned { try holder.list("ints").append([.int(4)]) } == ["ints", "targets"])
        #expect(
            try concerned { try world.store.create("Obj", .dictionary([:])) }
                == ["origin", "path", "query"])
        #expect(
            try concerned { try world.store.create("Linking", .dictionary([:])) } == ["linkings"])
        #expect(tokens[0].dependencies == ["Obj", "Obj.text", "Obj.value"])
        #expect(tokens[5].dependencies == ["Linking", "Linking.link", "Linking.value", "a Obj"])
        #expect(tokens[2].dependencies == ["a Holder"])
        #expect(tokens[0].cost == "reads only objects that a commit changes")
    }

    @Test func `a version is kept only for observers that still use it`() throws {
        let token = try world.store.observe(world.query("Obj"), { _ in })
        world.stores.settle()
        for _ in 0..<10 {
            try world.store.write { try world.store.create("Other", .dictionary([:])) }
        }
        #expect(dispatcher.pending.count == 0 && dispatcher.tracked.isEmpty)
        try world.store.write { try world.set(world.object(1), 3) }
        #expect(dispatcher.pending.count == 1)
        world.stores.settle()
        #expect(dispatcher.pending.count == 0)
        token.invalidate()
    }
}

import ColumnStorage
import Testing

@testable import ObjectStore

@Suite struct UndoTests {
    @Test(arguments: 1...15)
    func `undo and redo restore exact states`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var world = try HistoryWorld()
        // A model for a user: the states before the current one, and those that can be redone.
        var past: [StoreView] = []
        var future: [StoreView] = []
        var present = try frozen(world.store)
        for _ in 0..<40 {
            let store = Bool.random(using: &random) ? world.store : world.stores.other
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                if let before = past.popLast() {
                    try store.undo()
                    future.append(present)
                    present = before
                } else {
                    let error = storeError(.invalidArgument) { try store.undo() }
                    #expect(error?.message.contains("changed the schema") == true)
                }
            case 2:
                if let after = future.popLast() {
                    try store.redo()
                    past.append(present)
                    present = after
                } else {
                    _ = storeError(.invalidArgument) { try store.redo() }
                }
            case 3:
                // A write without changes is not undone, and does not remove steps to redo.
                try store.write {}
            default:
                let version = store.version
                try world.commit(Int.random(in: 1...8, using: &random), in: store, using: &random)
                let created = try store.view.snapshot.changes(from: version, to: store.version)
                if created?.isEmpty == false,
                    try store.view.snapshot.historyEntry(store.version)?
                        .changes.isEmpty == false
                {
                    past.append(present)
                    future = []
                }
                present = try frozen(store)
            }
            world.stores.settle()
            try expectSame(frozen(world.store), present)
            #expect(!world.store.isInWrite && !world.stores.other.isInWrite)
        }
        let faults = try world.store.verify()
        #expect(faults.isEmpty, "\(faults)")
    }

    @Test func `undo passes over a change of the role, which other stores notice`() throws {
        let world = try HistoryWorld()
        let (store, other) = (world.store, world.stores.other)
        try store.write { _ = try store.create("Thing", .dictionary(PastVersionTests.values(1))) }
        let version = store.version
        store.isReplicating = true
        try store.write { try store.setReplicationRecord([1], .follower, changesRole: true) }
        world.stores.settle()
        #expect(!other.isWriter)
        #expect(try store.versions().last?.changesSchema == false)
        #expect(try store.undo() == version)
        #expect(try store.objects("Thing").count() == 0)
        #expect(try store.redo() == store.version - 1)
        #expect(try store.objects("Thing").count() == 1)
        #expect(try store.at(version - 1).version == version - 1)
    }

    @Test(arguments: 1...6)
    func `scattered edits in long collections are undone and redone exactly`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try Store.temporary(HistoryWorld.classes)
        let thing = try store.write {
            let thing = try store.create("Thing", .dictionary(PastVersionTests.values(1)))
            try thing.list("ints").append((0..<3_000).map { .int($0) })
            for number in 0..<1_000 {
                try thing.set("tags").insert(.string("mark \(number)"))
                try thing.map("notes").set(.double(Double(number)), forKey: "key \(number)")
            }
            return thing
        }
        let (list, marks, notes) = (
            try thing.list("ints"), try thing.set("tags"), try thing.map("notes")
        )
        func present() throws -> [[Value]] {
            [try list.values(), try marks.values(), try notes.keys().map(Value.string)]
                + [try notes.values()]
        }
        func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        var states = [try present()]
        for _ in 0..<12 {
            try store.write {
                for _ in 0..<1 + pick(12) {
                    let count = try list.count()
                    switch pick(9) {
                    case 0: try list.insert(.int(-1), at: pick(count + 1))
                    case 1: try list.remove(at: pick(count))
                    case 2: try list.set(.int(-2), at: pick(count))
                    case 3: try list.move(from: pick(count), to: pick(count))
                    case 4: try list.append([.int(-3), .int(-4)])
                    case 5: try marks.insert(.string("mark \(pick(2_000))"))
                    case 6: _ = try marks.remove(.string("mark \(pick(2_000))"))
                    case 7: try notes.set(.double(-1), forKey: "key \(pick(2_000))")
                    default: _ = try notes.removeValue(forKey: "key \(pick(2_000))")
                    }
                }
                try list.append([.int(0)])
            }
            states.append(try present())
        }
        for state in states.dropLast().reversed() {
            try store.undo()
            #expect(try present() == state)
        }
        for state in states.dropFirst() {
            try store.redo()
            #expect(try present() == state)
        }
        let faults = try store.verify()
        #expect(faults.isEmpty, "\(faults)")
    }

    @Test func `the history of a long list contains only the edited parts`() throws {
        let store = try Store.temporary(HistoryWorld.classes)
        let thing = try store.write {
            let thing = try store.create("Thing", .dictionary(PastVersionTests.values(1)))
            try thing.list("ints").append((0..<10_000).map { .int($0 << 20) })
            return thing
        }
        let list = try thing.list("ints")
        let before = try list.values()
        try store.write { try list.append([.int(1)]) }
        try store.write { try list.remove(at: 5_000) }
        try store.write { try list.move(from: 17, to: 20) }
        let used = try store.view.snapshot.file.space().used
        #expect(used < 2 << 20)
        for _ in 0..<20 {
            try store.write {
                try list.set(.int(2), at: 3)
                try list.move(from: 11, to: 9_990)
            }
        }
        // Storing all changes twenty times would take a megabyte.
        #expect(try store.view.snapshot.file.space().used < used + 400_000)
        for _ in 0..<23 { try store.undo() }
        #expect(try list.values() == before)
        for _ in 0..<3 { try store.redo() }
        #expect(try list.count() == 10_000)
        #expect(try list.element(at: 20) == before[17])
    }
}

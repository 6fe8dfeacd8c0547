import Glibc
import TestThreads
import Testing

@testable import ObjectStore

/// Files with a changed byte.
///
/// `MOONPOOL_DAMAGES=20000` tests 20000 changes; `MOONPOOL_DAMAGES_FROM` is the number of the first one.
@Suite struct DamagedFileTests {
    let folder = TemporaryFolder.inMemory()

    private static let chosenCount = DamagedStore.number("MOONPOOL_DAMAGES")

    private func open(_ path: String, schema: [ClassSchema]? = nil) throws -> Store {
        try DamagedStore.open(path, schema: schema)
    }

    /// A store with properties of every type, and some history.
    private func fill(_ path: String, commits: Int = 25) throws {
        let store = try open(path, schema: HistoryWorld.classes)
        defer { store.close() }
        var world = try HistoryWorld()
        var random = SplitMix(seed: 11)
        for _ in 0..<commits { try world.commit(30, in: store, using: &random) }
    }

    private func bytes(_ path: String) -> [UInt8] { DamagedStore.bytes(path) }
    private func write(_ bytes: [UInt8], to path: String) { DamagedStore.write(bytes, to: path) }
    private func isFound(_ path: String) -> Bool { DamagedStore.isFound(path) }

    /// All keys and values of a store.
    private func content(_ path: String) throws -> [Value] {
        let store = try open(path)
        defer { store.close() }
        return try store.view.schema.classes.flatMap { classSchema in
            try Results(.store(store), Query(all: classSchema)).keys().array.flatMap { key in
                try [.int(key.rawValue)]
                    + classSchema.properties.map {
                        try store.view.value($0, of: key, in: classSchema)
                    }
            }
        }
    }

    /// Performs all operations that read the content of a store's file.
    private func use(_ path: String) {
        guard let store = try? open(path) else { return }
        defer { store.close() }
        func readAll(_ view: StoreView, _ source: ObjectSource) {
            for classSchema in view.schema.classes {
                let all = Query(all: classSchema)
                guard let keys = try? Results(source, all).keys().array else { continue }
                for key in keys {
                    for property in classSchema.properties {
                        _ = try? view.value(property, of: key, in: classSchema)
                    }
                }
            }
        }
        readAll(store.view, .store(store))
        _ = try? store.objects("Thing").filtered("int > 5 and string contains 'a'").count()
        _ = try? store.objects("Thing").filtered("any friends.int > 5").sorted([
            (path: "string", ascending: true)
        ]).keys()
        _ = try? store.statistics()
        _ = try? store.versions()
        _ = try? store.difference(from: max(1, store.version &- 3), to: store.version)
        let tokens = observers(of: store)
        defer { for token in tokens { token.invalidate() } }
        // The oldest version reverts all steps.
        for version in [store.version, store.version &- 3] where version > 0 {
            if let past = try? store.at(version) { readAll(past, .frozen(past)) }
        }
        _ = try? store.undo()
        try? store.write {
            for key in try store.objects("Thing").keys().array.prefix(20) {
                let thing = LiveObject(.store(store), try store.schema.require("Thing"), key)
                try thing.set("int", .int(77))
                try thing.set("string", .string("changed"))
                try thing.list("ints").append([.int(4)])
                try thing.map("notes").set(.double(1), forKey: "z")
                _ = try thing.set("tags").insert(.string("q"))
            }
        }
        _ = try? store.refresh()
        try? store.write {
            for thing in try store.objects("Thing").keys().array.prefix(5) {
                try store.delete(
                    LiveObject(.store(store), try store.schema.require("Thing"), thing))
            }
        }
        try? store.write { try store.deleteAll("Thing") }
        _ = try? store.refresh()
        _ = try? store.undo()
        _ = try? store.backup(to: path + ".copy", isReplacing: true)
    }

    private func observers(of store: Store) -> [NotificationToken] {
        var tokens: [NotificationToken] = []
        if let token = try? store.objects("Thing").filtered("int > 0").sorted([
            (path: "string", ascending: true)
        ]).observe({ change in
            _ = try (change.insertions, change.deletedValues, change.modifiedObjects)
            for index in change.modifications.indices {
                _ = try? change.properties(ofModification: index)
            }
        }) {
            tokens.append(token)
        }
        if let first = try? store.objects("Thing").first(),
            let token = try? first.observe({ change in _ = try change.properties.map { try $0.old }
            })
        {
            tokens.append(token)
        }
        return tokens
    }

    /// Compacts a file, and migrates it to another schema.
    private func rebuild(_ path: String) {
        _ = try? StoreFiles.compact(path)
        let classes = [
            ClassSchema(
                "Thing", "id: int primary, int: string, string: string? indexed, ints: int[]")
        ]
        var configuration = StoreConfiguration(
            .file(path), schema: classes, schemaVersion: 7,
            migration: { migration in
                try migration.each("Thing") { old, new in
                    try new.set("int", .string("\(try old.value("int"))"))
                }
            })
        configuration.drops = ["Part"]
        for property in HistoryWorld.single + HistoryWorld.collections {
            configuration.drops.insert("Thing.\(property.name)")
        }
        _ = try? Store(configuration, scheduler: ManualScheduler()).close()
    }

    @Test(.timeLimit(.minutes(60)))
    func `a check detects every changed byte of a copy's content, and no operation crashes`()
        throws
    {
        let path = folder.file("all.moonpool")
        try fill(path)
        try StoreFiles.backup(path, to: folder.file("base"))
        let base = bytes(folder.file("base"))
        #expect(!isFound(folder.file("base")))
        let whole = try content(folder.file("base"))
        var random = SplitMix(seed: 5)
        let copy = folder.file("copy")
        let start = DamagedStore.number("MOONPOOL_DAMAGES_FROM") ?? 0
        for round in 0..<(Self.chosenCount ?? RandomSeeds.count(24, of: 60)) {
            var changed = base
            let offset = Int.random(in: 0..<base.count, using: &random)
            let bit = UInt8(Int.random(in: 1...255, using: &random))
            changed[offset] ^= bit
            if round < start { continue }
            if Self.chosenCount != nil { print("round \(round): \(offset) ^ \(bit)") }
            write(changed, to: copy)
            // A copy has a free page, which no checksum covers.
            #expect(try isFound(copy) || content(copy) == whole, "byte \(offset) ^ \(bit)")
            write(changed, to: copy)
            use(copy)
            if round % 4 == 0 {
                write(changed, to: copy)
                rebuild(copy)
            }
        }
    }

    /// Changes the key of the entry with the number of a table's newest rows, so that all of these rows are lost.
    @Test func `a table that has lost its newest rows is damaged, and a write to it throws`() throws
    {
        let path = folder.file("all.moonpool")
        try fill(path)
        try StoreFiles.backup(path, to: folder.file("base"))
        let base = bytes(folder.file("base"))
        let copy = folder.file("copy")
        var count = 0
        for table: UInt8 in 0...1 {
            let key = [UInt8](repeating: 0xFF, count: 6) + [table, 0]
            for offset in base.indices.dropLast(key.count)
            where base[offset] == 0xFF && base[offset..<offset + key.count].elementsEqual(key) {
                var changed = base
                changed[offset + 4] ^= 1
                write(changed, to: copy)
                #expect(isFound(copy), "byte \(offset + 4)")
                write(changed, to: copy)
                use(copy)
                count += 1
            }
        }
        #expect(count > 0)
    }

    @Test func `a file that is truncated at any page is damaged or unchanged`() throws {
        let path = folder.file("all.moonpool")
        try fill(path, commits: 5)
        let base = bytes(path)
        for size in stride(from: 0, to: base.count, by: 4096) {
            write(Array(base[..<size]), to: folder.file("copy"))
            use(folder.file("copy"))
        }
    }
}

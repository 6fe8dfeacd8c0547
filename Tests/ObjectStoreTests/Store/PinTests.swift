import ObjectStore
import Testing

/// The pins of old versions, and the limit on versions.
@Suite struct PinTests {
    static let classes = [ClassSchema("Dog", "age: int", defaults: ["age": .int(0)])]

    func open(_ folder: TemporaryFolder, limit: Int? = nil, _ location: String = "") throws -> Store
    {
        var configuration = StoreConfiguration(
            .file(folder.file("test.moonpool")), schema: Self.classes, durability: .memory,
            maximumLiveVersions: limit)
        configuration.holder = VersionHolder(script: "zoo", location: location)
        return try Store(configuration, scheduler: ManualScheduler())
    }

    func commit(_ store: Store) throws {
        try store.write { try store.create("Dog") }
    }

    @Test func `a store at an old version counts as a pin in this process`() throws {
        let folder = TemporaryFolder()
        let store = try open(folder, limit: 3, "writer.lua:1")
        let other = try open(folder, "reader.lua:7")
        for _ in 0..<3 { try commit(store) }
        let error = storeError(.tooManyVersions) { try commit(store) }
        #expect(error?.message.contains("the store of reader.lua:7") == true)
        try other.refresh()
        try commit(store)
        other.close()
        for _ in 0..<5 { try commit(store) }
    }

    @Test func `pins contain the holder of a version, the time, and the retained space`() throws {
        let folder = TemporaryFolder()
        let store = try open(folder, "zoo.lua:1")
        #expect(try store.pins() == [])
        let other = try open(folder, "reader.lua:7")
        try commit(store)
        let before = Timestamp.now
        var frozen: StoreView? = try store.frozenView(for: VersionHolder(location: "zoo.lua:12"))
        let version = store.version
        for _ in 0..<50 { try commit(store) }
        let pins = try store.pins()
        #expect(pins.map(\.kind) == [.store, .frozen])
        #expect(pins[0].holder.location == "reader.lua:7")
        #expect(pins[0].version < version)
        #expect(pins[1].version == version)
        #expect(pins[1].holder.location == "zoo.lua:12")
        #expect(pins[1].summary == "a frozen version of zoo.lua:12")
        let since = try #require(pins[1].since)
        #expect(since >= before && since <= .now)
        #expect(pins[1].bytes > 0)
        #expect(pins[0].bytes >= pins[1].bytes)
        try other.refresh()
        #expect(try store.pins().map(\.kind) == [.frozen])
        #expect(frozen?.isFrozen == true)
        frozen = nil
        #expect(try store.pins() == [])
    }
}

import ObjectStore
import Testing

/// The record of migrations, and the effect of a complete schema on the classes of a file.
@Suite struct WholeMigrationTests {
    let world = MigrationWorld()

    private func migrate(
        _ store: Store, to classes: [ClassSchema], version: UInt64 = 1,
        dropping: Set<String> = [], _ body: ((Migration) throws -> Void)? = nil
    ) throws -> MigrationReport? {
        let transaction = try store.beginMigration()
        defer { transaction.end() }
        var log = transaction.log
        guard !log.entries.contains(where: { $0.number == Int(version) }) else { return nil }
        let change = try transaction.change(to: classes, version: version, dropping: dropping)
        try change.apply(running: body)
        log.replaceEntries(
            log.entries + [
                .init(
                    number: Int(version), name: "step", checksum: "abc",
                    appliedAt: Timestamp(microseconds: 5), backup: "copy")
            ])
        return try change.commit(recording: log)
    }

    @Test func `the record survives, and prevents applying a migration twice`() throws {
        try world.fill([personBefore], people)
        do {
            let store = try world.open(nil)
            defer { store.close() }
            #expect(try store.migrationLog().entries == [])
            #expect(try migrate(store, to: [personBefore]) != nil)
        }
        let store = try world.open(nil)
        defer { store.close() }
        let entry = try #require(try store.migrationLog().entries.first)
        #expect(entry.number == 1 && entry.name == "step" && entry.checksum == "abc")
        #expect(entry.appliedAt == Timestamp(microseconds: 5) && entry.backup == "copy")
        let version = store.version
        #expect(try migrate(store, to: [personBefore]) == nil)
        #expect(store.version == version)
    }

    @Test func `the error for a damaged record names the file`() throws {
        try world.fill([personBefore], people)
        do {
            let store = try world.open(nil)
            defer { store.close() }
            _ = try migrate(store, to: [personBefore])
        }
        // The length of the step's name exceeds the record.
        let name = [4] + Array("step".utf8)
        var bytes = DamagedStore.bytes(world.path)
        for offset in bytes.indices.dropLast(name.count)
        where bytes[offset] == 4 && Array(bytes[offset..<offset + name.count]) == name {
            bytes[offset] = 0x7f
        }
        DamagedStore.write(bytes, to: world.path)
        let store = try world.open(nil)
        defer { store.close() }
        let error = #expect(throws: StoreError.self) { try store.migrationLog() }
        #expect(error?.code == .fileCorrupt)
        #expect(
            error?.message
                == "'\(world.path)' is damaged (a value has changed since it was written)")
    }

    @Test func `a class disappears only if it is declared, whether it is empty or not`() throws {
        let note = ClassSchema("Note", "text: string")
        try world.fill([personBefore, note], people)
        let store = try world.open(nil)
        defer { store.close() }
        #expect(throws: StoreError.self) { try migrate(store, to: [personBefore]) }
        _ = try migrate(store, to: [personBefore], dropping: ["Note"])
        #expect(store.schema.find("Note") == nil)
        do {
            _ = try migrate(store, to: [note], version: 2)
            Issue.record("no error")
        } catch let error as StoreError {
            #expect(error.code == .invalidSchema)
            #expect(error.message.contains("class 'Person', which has 3 objects"))
        }
        #expect(try store.objects("Person").count() == 3)
        _ = try migrate(store, to: [note], version: 2) { _ = try $0.deleteClass("Person") }
        #expect(store.schema.classes.map(\.name) == ["Note"])
    }

    @Test func `a report counts changed and dropped values`() throws {
        try world.fill([personBefore], people)
        let store = try world.open(nil)
        defer { store.close() }
        let report = try #require(
            try migrate(
                store, to: [personAfter], dropping: ["Person.first", "Person.last"]
            ) { migration in
                try migration.each("Person") { old, new in
                    guard case .int(let id) = try old.value("id"), id != 2 else { return }
                    try new.set("name", try old.value("first"))
                }
                try migration.create("Person", .list([.int(9), .string("New")]))
            })
        let people = try #require(report.classes.first)
        #expect(report.classes.count == 1 && people.name == "Person")
        #expect(people.before == 3 && people.after == 4)
        #expect(people.created == 1 && people.changed == 2 && people.deleted == 0)
        #expect(people.samples.count == 2)
        #expect(people.samples[1].before.map(\.value) == [.int(3), .string("Cid"), .string("Poe")])
        #expect(people.samples[1].after.map(\.value) == [.int(3), .string("Cid")])
        #expect(
            Set(report.dropped.map { "\($0.qualifiedName) \($0.count)" }) == [
                "Person.first 3", "Person.last 3",
            ])
    }

    @Test func `converted values do not count as dropped, the others do`() throws {
        try world.fill([personBefore], people)
        let store = try world.open(nil)
        defer { store.close() }
        let after = ClassSchema("Person", "id: int primary, first: int, last: string")
        let report = try #require(
            try migrate(store, to: [after], dropping: ["Person.first"]) { migration in
                try migration.each("Person") { old, new in
                    if try old.value("id") != .int(2) { try new.set("first", .int(5)) }
                }
            })
        #expect(report.dropped.map { "\($0.qualifiedName) \($0.count)" } == ["Person.first 1"])
    }

    @Test func `a numbered migration refuses data loss on an empty store too`() throws {
        let id = Property("id", .int, isPrimary: true)
        let after = [ClassSchema("P", [id])]
        try world.fill(
            [ClassSchema("P", [id, Property("phone", .string)]), ClassSchema("Toy", [])], [])
        let store = try world.open(nil)
        for dropping: Set<String> in [[], ["P.phone"]] {
            _ = storeError(.invalidSchema) {
                _ = try migrate(store, to: after, dropping: dropping)
            }
        }
        _ = try migrate(store, to: after, dropping: ["P.phone", "Toy"])
        #expect(store.schema.classes.map(\.name) == ["P"])
    }

    @Test func `a program does not migrate a store that has a record of migrations`() throws {
        let store = try world.open(nil)
        _ = try migrate(store, to: [personBefore])
        store.close()
        let error = storeError(.migrationNeeded) { _ = try world.open([personAfter], version: 2) }
        #expect(error?.message.contains("moonpool migrate up") == true)
        let reset = try world.open([personAfter], version: 2, deletes: true)
        #expect(try reset.migrationLog().entries.isEmpty)
    }
}

import Glibc
import ObjectStore
import Testing

/// Backups, compaction and read-only files, within one process.
@Suite struct FileTests {
    static let classes = [ClassSchema("Dog", "id: int primary, name: string")]

    let folder = TemporaryFolder()
    var path: String { folder.file("zoo.moonpool") }

    func open(
        _ path: String, isReadOnly: Bool = false, withSchema: Bool = true,
        shouldCompact: ((Int, Int) throws -> Bool)? = nil
    ) throws -> Store {
        try Store(
            StoreConfiguration(
                .file(path), schema: withSchema ? Self.classes : nil, isReadOnly: isReadOnly,
                durability: .memory),
            scheduler: ManualScheduler(), shouldCompact: shouldCompact)
    }

    func fill(_ store: Store, _ ids: ClosedRange<Int64>) throws {
        try store.write {
            for id in ids {
                try store.create(
                    "Dog", .dictionary(["id": .int(id), "name": .string("the dog number \(id)")]))
            }
        }
    }

    func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : -1
    }

    func check(_ path: String, count: Int) throws {
        let store = try open(path)
        #expect(try store.objects("Dog").count() == count)
        #expect(
            try store.object("Dog", primaryKey: .int(Int64(count)))?.value("name")
                == .string("the dog number \(count)"))
        store.close()
    }

    /// A store from which all but 100 of 20,000 objects were deleted.
    func makeSparse() throws -> Store {
        let store = try open(path)
        try fill(store, 1...20_000)
        let old = try store.objects("Dog").filtered("id > 100")
        try store.write { try store.delete(old.keys().array, of: old.classSchema()) }
        return store
    }

    @Test func `a backup is complete, has the same version, and is writable`() throws {
        let store = try open(path)
        for batch in 0..<5 { try fill(store, Int64(batch * 100 + 1)...Int64(batch * 100 + 100)) }
        for parity in 0..<2 {
            let copy = folder.file("copy\(parity).moonpool")
            try store.backup(to: copy)
            let opened = try open(copy)
            #expect(opened.version == store.version)
            #expect(try opened.objects("Dog").count() == 500 + parity)
            // The version numbers continue, and the history contains the changes of the commits.
            var received = 0
            let scheduler = try #require(opened.scheduler as? ManualScheduler)
            let token = try opened.objects("Dog").observe { change in
                received += change.insertions.count
            }
            scheduler.settle()
            for id in 1000...1003 { try fill(opened, Int64(id)...Int64(id)) }
            scheduler.settle()
            #expect(received == 4)
            token.invalidate()
            #expect(opened.version == store.version + 4)
            opened.close()
            let again = try open(copy)
            #expect(try again.objects("Dog").count() == 504 + parity)
            again.close()
            try fill(store, Int64(501 + parity)...Int64(501 + parity))
        }
    }

    @Test func `a backup replaces a file only on request`() throws {
        let store = try open(path)
        try fill(store, 1...10)
        let copy = folder.file("copy")
        try store.backup(to: copy)
        try fill(store, 11...20)
        let error = storeError(.invalidArgument) { try store.backup(to: copy) }
        #expect(error?.message.contains("'\(copy)' already exists") == true)
        try check(copy, count: 10)
        try store.backup(to: copy, isReplacing: true)
        try check(copy, count: 20)
        _ = storeError(.invalidArgument) { try store.backup(to: path, isReplacing: true) }
        let open = try open(copy)
        let inUse = storeError(.invalidArgument) { try store.backup(to: copy, isReplacing: true) }
        #expect(inUse?.message.contains("is open in this process") == true)
        open.close()
        _ = storeError(.invalidArgument) { try store.backup(to: folder.file("no/such/folder")) }
    }

    @Test func `a backup removes only the copies that killed processes have left`() throws {
        let store = try open(path)
        try fill(store, 1...10)
        let left = ["copy.copy-abcdefghijklmnop", "copy.copy-2222222222222222"].map(folder.file)
        let others = [
            "copy.copy-x", "copy2.copy-abcdefghijklmnop", "other.copy-abcdefghijklmnop",
            "copy.copy-1",
        ].map(folder.file)
        for path in left + others { close(makeFile(path)) }
        let busy = makeFile(folder.file("copy.copy-busyfilebusyfile"))
        defer { close(busy) }
        try #require(flock(busy, LOCK_EX | LOCK_NB) == 0)
        #expect((left + others).allSatisfy { access($0, F_OK) == 0 })
        try store.backup(to: folder.file("copy"))
        #expect(left.allSatisfy { access($0, F_OK) != 0 })
        #expect(others.allSatisfy { access($0, F_OK) == 0 })
        #expect(access(folder.file("copy.copy-busyfilebusyfile"), F_OK) == 0)
        try check(folder.file("copy"), count: 10)
    }

    /// An open new file.
    private func makeFile(_ path: String) -> Int32 { Glibc.open(path, O_RDWR | O_CREAT, 0o644) }

    @Test func `a backup inside a write contains the committed data`() throws {
        let store = try open(path)
        try fill(store, 1...10)
        try store.beginWrite()
        try store.deleteAll("Dog")
        try store.backup(to: folder.file("copy"))
        try store.cancelWrite()
        try check(folder.file("copy"), count: 10)
    }

    @Test func `a held version is copied after later commits`() throws {
        let store = try open(path)
        for batch in 0..<5 { try fill(store, Int64(batch * 4000 + 1)...Int64(batch * 4000 + 4000)) }
        let copy = folder.file("copy")
        try store.backup(to: copy)
        try fill(store, 50_000...50_000)
        let version = store.version
        try store.beginWrite()
        let replace = try store.holdBackup(replacing: copy)
        try store.deleteAll("Dog")
        try store.commitWrite()
        for batch in 1...40 { try fill(store, Int64(batch * 1000)...Int64(batch * 1000 + 900)) }
        try replace()
        let held = try open(copy)
        #expect(held.version == version)
        #expect(try held.objects("Dog").count() == 20_001)
        #expect(try held.object("Dog", primaryKey: .int(50_000)) != nil)
        held.close()
        #expect(try StoreFiles.verifyPages(copy).isEmpty)
    }

    @Test func `an in-memory store can be backed up`() throws {
        let store = try Store.temporary(Self.classes)
        try fill(store, 1...10)
        try store.backup(to: folder.file("copy"))
        try check(folder.file("copy"), count: 10)
    }

    @Test func `a failed backup is an error with the file's name`() throws {
        let missing = folder.file("missing")
        let error = storeError(.invalidArgument) {
            try StoreFiles.backup(missing, to: folder.file("copy"))
        }
        #expect(error?.message.contains(missing) == true)
        #expect(size(missing) == -1)
        let text = folder.file("text")
        let descriptor = Glibc.open(text, O_WRONLY | O_CREAT, 0o600)
        _ = Glibc.write(descriptor, "no store at all, only some text", 31)
        Glibc.close(descriptor)
        _ = storeError(.fileCorrupt) { try StoreFiles.backup(text, to: folder.file("copy")) }
        _ = storeError(.fileCorrupt) { _ = try StoreFiles.compact(text) }
        #expect(size(folder.file("copy")) == -1)
    }

    @Test func `compacting reclaims space and keeps the version`() throws {
        let store = try makeSparse()
        let version = store.version
        store.close()
        let before = size(path)
        let result = try StoreFiles.compact(path)
        #expect(result.before == before)
        #expect(result.after == size(path))
        #expect(result.after < before / 2)
        let again = try open(path)
        #expect(again.version == version)
        #expect(try again.objects("Dog").count() == 100)
        try fill(again, 101...200)
        #expect(again.version == version + 1)
        again.close()
        try check(path, count: 200)
    }

    @Test func `an open store is not compacted`() throws {
        let store = try makeSparse()
        let before = size(path)
        let error = storeError(.invalidArgument) { _ = try StoreFiles.compact(path) }
        #expect(error?.message.contains("open in this process") == true)
        #expect(size(path) == before)
        store.close()
        _ = storeError(.invalidArgument) { _ = try StoreFiles.compact(folder.file("missing")) }
    }

    @Test func `should_compact is called by the first open of the file`() throws {
        try makeSparse().close()
        let before = size(path)
        var asked: [(total: Int, used: Int)] = []
        let kept = try open(path) { total, used in
            asked.append((total, used))
            return false
        }
        let second = try open(path) { _, _ in
            Issue.record("asked although the file is open")
            return true
        }
        second.close()
        kept.close()
        #expect(asked.count == 1)
        #expect(asked[0].total == before)
        #expect(asked[0].used > 0 && asked[0].used < before / 2)
        let compacted = try open(path) { total, used in used < total / 2 }
        #expect(try compacted.objects("Dog").count() == 100)
        compacted.close()
        #expect(size(path) < before / 2)
        struct Refusal: Error {}
        #expect(throws: Refusal.self) { _ = try open(path) { _, _ in throw Refusal() } }
        try check(path, count: 100)
    }

    @Test func `a read-only store reads, refreshes and refuses to write`() throws {
        let writer = try open(path)
        try fill(writer, 1...10)
        let reader = try open(path, isReadOnly: true, withSchema: false)
        #expect(reader.isReadOnly)
        #expect(try reader.objects("Dog").count() == 10)
        try fill(writer, 11...11)
        #expect(try reader.refresh())
        #expect(try reader.objects("Dog").count() == 11)
        let error = storeError(.readOnly) { try reader.beginWrite() }
        #expect(error?.message.contains("read-only") == true)
        _ = storeError(.readOnly) { try reader.define(Self.classes) }
    }

    @Test func `a read-only store of a missing file is an error and creates no file`() throws {
        let missing = folder.file("missing.moonpool")
        let error = storeError(.invalidArgument) { _ = try open(missing, isReadOnly: true) }
        #expect(error?.message.contains("there is no store") == true)
        #expect(size(missing) == -1)
        #expect(size(missing + "-lock") == -1)
    }

    @Test func `in-memory stores are shared by name while one is open`() throws {
        let name = UUIDValue.random().description
        let configuration = StoreConfiguration(.memory(name), schema: Self.classes)
        let first = try Store(configuration, scheduler: ManualScheduler())
        let second = try Store(configuration, scheduler: ManualScheduler())
        try fill(first, 1...3)
        try second.refresh()
        #expect(try second.objects("Dog").count() == 3)
        #expect(first.path == nil)
        first.close()
        #expect(try second.objects("Dog").count() == 3)
        second.close()
        let later = try Store(configuration, scheduler: ManualScheduler())
        #expect(try later.objects("Dog").count() == 0)
    }
}

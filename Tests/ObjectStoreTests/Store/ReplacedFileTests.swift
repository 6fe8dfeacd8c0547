import Glibc
import TestThreads
import Testing

@testable import ObjectStore

/// Another program changes the file of an open store, with or without a change of the version number.
@Suite struct ReplacedFileTests {
    let folder = TemporaryFolder()
    var path: String { folder.file("zoo.moonpool") }

    enum Content: CaseIterable {
        /// A store that never had a commit in common, with the same number of commits.
        case other
        /// A copy of the same store from before its last commits.
        case older
        /// A copy from before its last commits, with as many other commits instead of them.
        case diverged
        /// A copy with more commits, which the store does not have.
        case longer
        /// A compact copy of the same version.
        case compacted
        case zeros, nothing
        /// Random bytes instead of the headers.
        case garbage
    }

    enum Way: CaseIterable {
        /// As `cp` does: the file is truncated first.
        case truncating
        /// As `rsync --inplace` does.
        case inPlace
        /// As `mv` does.
        case renaming
    }

    private func open(
        _ path: String, _ durability: StoreConfiguration.Durability = .memory
    ) throws -> Store {
        try Store(
            StoreConfiguration(.file(path), schema: FileTests.classes, durability: durability),
            scheduler: ManualScheduler())
    }

    private func commit(_ ids: ClosedRange<Int64>, _ name: String, in store: Store) throws {
        for id in ids {
            try store.write {
                try store.create(
                    "Dog", .dictionary(["id": .int(id), "name": .string("\(name) \(id)")]))
            }
        }
    }

    private func bytes(of content: Content, _ store: Store) throws -> [UInt8] {
        let copy = folder.file("copy.moonpool")
        try commit(1...6, "first", in: store)
        switch content {
        case .other:
            let other = try open(copy)
            try commit(101...112, "other", in: other)
            other.close()
            try commit(7...12, "more", in: store)
            #expect(try open(copy).version == store.version)
        case .older, .diverged, .longer:
            try store.backup(to: copy)
            try commit(7...12, "more", in: store)
            if content != .older {
                let other = try open(copy)
                try commit(content == .longer ? 7...40 : 7...12, "else", in: other)
                other.close()
            }
        case .compacted:
            try commit(7...12, "more", in: store)
            try store.backup(to: copy)
        case .zeros:
            var bytes = DamagedStore.bytes(path)
            bytes.replaceSubrange(..<4096, with: repeatElement(0, count: 4096))
            return bytes
        case .garbage:
            var bytes = DamagedStore.bytes(path)
            var random = SeededGenerator(seed: 7)
            for index in 0..<8192 { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
            return bytes
        case .nothing: return []
        }
        return DamagedStore.bytes(copy)
    }

    private func replace(_ bytes: [UInt8], _ way: Way) {
        let new = way == .renaming ? folder.file("new.moonpool") : path
        let file = Glibc.open(new, O_WRONLY | O_CREAT | (way == .truncating ? O_TRUNC : 0), 0o600)
        _ = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
        ftruncate(file, off_t(bytes.count))
        close(file)
        if way == .renaming { rename(new, path) }
    }

    @Test(arguments: Content.allCases, Way.allCases)
    func `writers, readers and observers get an error, and nothing is written`(
        content: Content, way: Way
    ) throws {
        for durability in [StoreConfiguration.Durability.full, .memory] {
            for suffix in ["", "-lock", "-log"] { unlink(path + suffix) }
            unlink(folder.file("copy.moonpool"))
            let store = try open(path, durability)
            let bytes = try bytes(of: content, store)
            let other = try open(path, durability)
            var calls: [String] = []
            let token = try other.objects("Dog").observe { change in
                if case .error(let error) = change.kind {
                    calls.append(error.code.rawValue)
                } else {
                    calls.append("change")
                }
            }
            (other.scheduler as? ManualScheduler)?.settle()
            calls = []
            replace(bytes, way)
            let error = storeError(.fileReplaced) { try store.beginWrite() }
            #expect(error?.message.contains("nothing was written") == true)
            _ = storeError(.fileReplaced) { try other.refresh() }
            #expect(calls == ["file_replaced"])
            _ = storeError(.fileReplaced) { try store.refresh() }
            _ = storeError(.fileReplaced) {
                try commit(200...200, "lost", in: other)
            }
            token.invalidate()
            store.close()
            other.close()
            #expect(DamagedStore.bytes(path) == bytes, "\(durability)")
            guard content != .zeros, content != .nothing, content != .garbage else { continue }
            #expect(try StoreFiles.verifyPages(path).isEmpty)
            let again = try open(path)
            #expect(try again.verify().isEmpty)
            again.close()
        }
    }

    @Test(arguments: [Content.other, .older, .zeros, .nothing, .garbage])
    func `copies, past versions and later openings get the error`(content: Content) throws {
        let new = folder.file("new.moonpool")
        var uses: [(Store) throws -> Void] = [
            { try $0.backup(to: new) },
            { _ = try $0.frozenView() },
            { _ = try $0.at($0.version - 1) },
            { _ = try $0.versions() },
            { _ = try $0.summary(of: $0.version) },
        ]
        // Only the open store can notice a file of the same version.
        if content != .other { uses.append { _ in _ = try open(path) } }
        for use in uses {
            for suffix in ["", "-lock", "-log"] { unlink(path + suffix) }
            unlink(folder.file("copy.moonpool"))
            let store = try open(path)
            let bytes = try bytes(of: content, store)
            let frozen = try store.frozenView()
            replace(bytes, .inPlace)
            _ = storeError(.fileReplaced) { try use(store) }
            _ = storeError(.fileReplaced) { try store.beginWrite() }
            _ = storeError(.fileReplaced) { try frozen.requireUnchanged() }
            store.close()
            #expect(DamagedStore.bytes(path) == bytes)
            #expect(access(new, F_OK) != 0)
        }
    }

    @Test(arguments: Way.allCases)
    func `an open write is not committed to a file that was replaced`(way: Way) throws {
        let store = try open(path)
        let bytes = try bytes(of: .other, store)
        try store.beginWrite()
        try store.create("Dog", .dictionary(["id": .int(300), "name": .string("lost")]))
        guard way != .renaming else { return try store.commitWrite() }
        replace(bytes, way)
        _ = storeError(.fileReplaced) { try store.commitWrite() }
        #expect(!store.isInWrite)
        store.close()
        #expect(DamagedStore.bytes(path) == bytes)
    }

    @Test func `reads of pages that no longer exist are errors, and the process continues`() throws
    {
        let store = try open(path)
        try store.write {
            for id in 1...20_000 {
                try store.create(
                    "Dog", .dictionary(["id": .int(Int64(id)), "name": .string("dog \(id)")]))
            }
        }
        truncate(path, 0)
        _ = storeError(.fileReplaced) {
            _ = try store.objects("Dog").filtered("name ENDSWITH '7'").count()
        }
        _ = storeError(.fileReplaced) { try store.refresh() }
        store.close()
        #expect(DamagedStore.bytes(path).isEmpty)
    }

    @Test func `two stores tell their last common version`() throws {
        let store = try open(path)
        try commit(1...6, "first", in: store)
        let copy = folder.file("copy.moonpool")
        try store.backup(to: copy)
        let common = store.version
        let other = try open(copy)
        #expect(try store.lastCommonVersion(with: other)?.own == common)
        try commit(7...9, "more", in: store)
        #expect(try store.lastCommonVersion(with: other)?.own == common)
        try commit(7...12, "else", in: other)
        #expect(try store.lastCommonVersion(with: other)?.own == common)
        #expect(try other.lastCommonVersion(with: store)?.other == common)
        let third = try open(folder.file("third.moonpool"))
        try commit(1...6, "first", in: third)
        #expect(try third.lastCommonVersion(with: store) == nil)
        for store in [store, other, third] { store.close() }
    }

    @Test func `a store without identities gets them with its first commit`() throws {
        let store = try open(path)
        try commit(1...3, "first", in: store)
        let snapshot = store.view.snapshot
        let identities = try (1...store.version).map { try snapshot.identity(of: $0) }
        #expect(Set(identities.compactMap { $0 }).count == identities.compactMap { $0 }.count)
        #expect(identities.last != .some(nil))
        let copy = folder.file("copy.moonpool")
        try store.backup(to: copy)
        let other = try open(copy)
        #expect(try other.view.snapshot.identity(of: other.version) == identities.last)
        try commit(4...4, "same", in: store)
        try commit(4...4, "same", in: other)
        #expect(store.version == other.version)
        #expect(
            try other.view.snapshot.identity(of: other.version)
                != store.view.snapshot.identity(of: store.version))
        let text = try #require(try store.view.snapshot.identity(of: store.version)).description
        #expect(text.count == 32)
        store.close()
        other.close()
    }
}

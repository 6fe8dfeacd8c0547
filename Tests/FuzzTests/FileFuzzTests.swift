import Glibc
import ObjectStore
import TestThreads
import Testing

/// Store files, logs and lock files with any content are opened or rejected with an error.
@Suite struct FileFuzzTests {
    private let world: FuzzWorld

    init() throws { world = try FuzzWorld() }

    /// Reads and changes everything in a store.
    private func use(_ path: String) throws -> String {
        let store = try FuzzWorld.fileStore(path)
        defer { store.close() }
        var failures: Set<String> = []
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch { failures.insert(FuzzLoop.outcome(of: error)) }
        }
        func readAll(_ view: StoreView, _ source: ObjectSource) throws {
            for classSchema in view.schema.classes {
                for key in try Results(source, Query(all: classSchema)).keys().array {
                    for property in classSchema.properties {
                        attempt { _ = try view.value(property, of: key, in: classSchema) }
                    }
                }
            }
        }
        attempt { try readAll(store.view, .store(store)) }
        attempt {
            _ = try store.objects("Dog").filtered("name contains 'd' and any friends.age > 2")
                .count()
        }
        attempt { _ = try store.statistics() }
        for version in [store.version &- 1, store.version &- 4] {
            attempt {
                let past = try store.at(max(1, version))
                try readAll(past, .frozen(past))
            }
        }
        attempt { _ = try store.difference(from: max(1, store.version &- 3), to: store.version) }
        attempt { try FuzzWorld.commit(1000, in: store) }
        attempt {
            try store.write {
                if let first = try store.objects("Dog").first() { try store.delete(first) }
            }
        }
        attempt { try store.write { try store.deleteAll("Dog") } }
        attempt { _ = try store.undo() }
        attempt { _ = try store.backup(to: path + ".backup", isReplacing: true) }
        return failures.sorted().joined(separator: "|")
    }

    private func outcome(_ path: String) -> String {
        do { return try use(path) } catch { return FuzzLoop.outcome(of: error) }
    }

    private func removeCopy(_ path: String) {
        for ending in ["", "-lock", "-log", ".backup", ".backup-lock"] { unlink(path + ending) }
    }

    /// A store file and, if `hasLog`, the log of its latest commits.
    private func files(commits: Int) throws -> (data: [UInt8], log: [UInt8]) {
        let path = world.path("base.moonpool")
        removeCopy(path)
        let store = try FuzzWorld.fileStore(path, schema: FuzzWorld.classes)
        defer { store.close() }
        for number in 0..<commits { try FuzzWorld.commit(number, in: store) }
        return (FuzzLoop.bytes(path), FuzzLoop.bytes(path + "-log"))
    }

    /// Writes a file with changed, replaced or missing pages.
    private func changed(_ data: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var data = data
        let pageSize = 4096
        let pages = data.count / pageSize
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let page = Int.random(in: 0..<pages, using: &random) * pageSize
            let other = Int.random(in: 0..<pages, using: &random) * pageSize
            // Page headers and the beginnings of values matter most.
            let offset =
                page
                + (Bool.random(using: &random)
                    ? Int.random(in: 0..<64, using: &random)
                    : Int.random(in: 0..<pageSize - 8, using: &random))
            switch Int.random(in: 0..<8, using: &random) {
            case 0: data[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: data[offset] = UInt8.random(in: 0...255, using: &random)
            case 2:
                let value = ([0, 1, 0x7F, 0xFF] as [UInt8]).randomElement(using: &random) ?? 0
                for index in 0..<8 { data[offset + index] = value }
            case 3:
                data.replaceSubrange(page..<page + pageSize, with: data[other..<other + pageSize])
            case 4:
                data.replaceSubrange(
                    page..<page + pageSize, with: repeatElement(0, count: pageSize))
            case 5:
                let number = UInt64(other / pageSize)
                withUnsafeBytes(of: number) { bytes in
                    for index in 0..<8 { data[offset + index] = bytes[index] }
                }
            case 6:
                for index in 0..<16 where offset + index < data.count {
                    data[offset + index] = UInt8.random(in: 0...255, using: &random)
                }
            default:
                if Int.random(in: 0..<4, using: &random) == 0 {
                    data.removeLast(Int.random(in: 1..<data.count - pageSize, using: &random))
                    return data
                }
            }
        }
        return data
    }

    @Test(.timeLimit(.minutes(600))) func `a store file is opened or rejected`() throws {
        let (data, _) = try files(commits: 25)
        let copy = world.path("copy.moonpool")
        var random = SeededGenerator(seed: 7)
        // The changed bytes are chosen here, so that pages keep their form.
        var loop = FuzzLoop("files", inputs: [[1, 2, 3, 4, 5, 6, 7, 8]])
        loop.run(count: RandomSeeds.count(60, of: 150)) { input, _ in
            var seed: UInt64 = random.next()
            for byte in input { seed = seed &* 31 &+ UInt64(byte) }
            var choice = SeededGenerator(seed: seed)
            removeCopy(copy)
            FuzzLoop.write(changed(data, &choice), to: copy)
            return outcome(copy)
        }
        removeCopy(copy)
    }

    @Test(.timeLimit(.minutes(600))) func `a log is applied, or rejected with the store unchanged`()
        throws
    {
        let (data, log) = try files(commits: 90)
        try #require(!log.isEmpty, "no log was written")
        let copy = world.path("copy.moonpool")
        var loop = FuzzLoop("logs", inputs: [log])
        loop.run(count: RandomSeeds.count(40, of: 150)) { input, _ in
            removeCopy(copy)
            FuzzLoop.write(data, to: copy)
            FuzzLoop.write(input, to: copy + "-log")
            return outcome(copy)
        }
        removeCopy(copy)
    }

    @Test(.timeLimit(.minutes(600))) func `a lock file of any content does not stop a store`()
        throws
    {
        let path = world.path("locked.moonpool")
        do {
            let store = try FuzzWorld.fileStore(path, schema: FuzzWorld.classes)
            try FuzzWorld.commit(1, in: store)
            store.close()
        }
        let lock = FuzzLoop.bytes(path + "-lock")
        var loop = FuzzLoop("locks", inputs: [Array(lock.prefix(8192)), [], [0x4D]])
        loop.run(count: 100) { input, _ in
            FuzzLoop.write(input, to: path + "-lock")
            return outcome(path)
        }
    }
}

import Glibc
import Synchronization
import SystemCalls
import TestThreads
import Testing

@testable import LMDBStorage

/// The tests run one after the other, because some observe every flush of the process.
@Suite(.serialized) enum LogTests {}

extension LogTests {
    /// After a power failure, the file has the content of one commit: the last confirmed commit or a later one.
    @Suite struct PowerCutTests {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        /// Opens a possible content of the device and compares it.
        private func check(_ world: PowerCutWorld, _ random: inout SeededGenerator) throws {
            let path = folder.file("cut")
            defer { for end in ["", "-lock", "-log"] { unlink(path + end) } }
            let (promised, tried) = world.state.withLock { state in
                state.device.cut(path, &random)
                state.images += 1
                return (state.promised, state.tried)
            }
            let descriptor = Glibc.open(path, O_RDONLY)
            let isRecovered = try LogMarker.read(descriptor).id != 0
            close(descriptor)
            if isRecovered {
                world.state.withLock { $0.recovered += 1 }
                #expect(throws: StorageError.self) {
                    try LogRecovery.prepare(path, isWritable: false)
                }
            }
            if isRecovered && Bool.random(using: &random) { try cutAgain(path, &random) }
            let dump = try describe(path)
            var lease: EnvironmentLease? = try world.open(path)
            guard let environment = lease?.environment else { return }
            let version = environment.latestVersion()
            try #require(
                version >= promised && version <= tried,
                "\(promised) \(version) \(tried) \(dump) recovered \(isRecovered)")
            let expected = world.state.withLock { $0.contents[version] ?? Content() }
            if let open = lease {
                let reader = try ReadTransaction(open)
                let found = try Content(reader.handle, environment.tables)
                try #require(found == expected, "version \(version)")
                reader.end()
                // The file is still usable.
                for number in 1...3 {
                    let write = try WriteTransaction(open, durability: .full)
                    #expect(write.handle.version == version + UInt64(number))
                    try [UInt8(number)].withUnsafeBytes {
                        try write.handle.put(environment.tables[0], UInt64(number), $0)
                    }
                    try write.commit()
                }
            }
            lease = nil
            let faults = try PageVerifier.faults(path: path, atMost: 5)
            #expect(faults == [])
            #expect(access(path + "-log", F_OK) != 0)
        }

        /// Describes a failure with the versions of the headers, and the records.
        private func describe(_ path: String) throws -> String {
            let descriptor = Glibc.open(path, O_RDONLY)
            defer { close(descriptor) }
            let versions = try [0, 4096].map {
                try FileHeader.meta(descriptor, at: $0)?.version ?? 0
            }
            guard let log = try? LogFile(of: path, isMade: false),
                let header = try log.header(id: LogMarker.read(descriptor).id)
            else { return "no log; headers \(versions)" }
            var text = "headers \(versions), checkpoint \(header.version):"
            var version = header.version
            var end = header.start
            while let (offset, record) = try log.find(version + 1, after: end, salt: header.salt) {
                text += " \(record.version) at \(offset) \(record.kind)"
                version += 1
                end = offset + record.extent
            }
            return text
        }

        /// Simulates a power failure during the recovery of the file.
        private func cutAgain(_ path: String, _ random: inout SeededGenerator) throws {
            let last = Int.random(in: 0..<3, using: &random)
            let count = Mutex(0)
            let data = FileImage(path)
            let log = FileImage(path + "-log")
            let before = FlushProbe.installed.withLock { $0 }
            let this = ThreadIdentity.current.number
            FlushProbe.installed.withLock {
                $0 = FlushProbe(
                    before: { descriptor in
                        guard ThreadIdentity.current.number == this else {
                            return before?.before(descriptor) ?? true
                        }
                        return count.withLock {
                            $0 += 1
                            return $0 <= last
                        }
                    }, after: { if ThreadIdentity.current.number != this { before?.after($0) } })
            }
            _ = try? LogRecovery.prepare(path, isWritable: true)
            FlushProbe.installed.withLock { $0 = before }
            // Flushed content must exist; only a failure during the first flush allows any content.
            if last == 0 {
                FileImage.mixed([data, FileImage(path)], block: 4096, &random).write(path)
                if access(path + "-log", F_OK) != 0 { log.write(path + "-log") }
            }
        }

        @Test(arguments: 1...RandomSeeds.count(1, of: 10))
        func `the file has the state of a commit for every content of the device`(
            round: Int
        ) throws {
            let seed =
                getenv("MOONPOOL_SEED").flatMap { UInt64(String(cString: $0)) }
                ?? UInt64.random(in: 0 ... .max)
            var random = SeededGenerator(seed: seed)
            let world = PowerCutWorld(folder.file("store"))
            defer { PowerCutWorld.removeProbe() }
            world.state.withLock { $0.contents[1] = Content() }
            var lease: EnvironmentLease? = try world.open()
            world.state.withLock {
                $0.promised = 1
                $0.tried = 1
                $0.device.flushData(FileImage(world.path), $0.device.tick())
            }
            world.installProbe()
            do {
                for step in 0..<120 {
                    guard let open = lease else { break }
                    let durability: Durability =
                        Int.random(in: 0..<3, using: &random) == 0 ? .async : .full
                    try world.commit(open, durability, &random)
                    if step % 8 == 3 { try check(world, &random) }
                    if Int.random(in: 0..<30, using: &random) == 0 {
                        lease = nil
                        try check(world, &random)
                        lease = try world.open()
                    }
                }
            } catch {
                Issue.record("seed \(seed), round \(round): \(error)")
                throw error
            }
            lease = nil
            let (images, recovered) = world.state.withLock { ($0.images, $0.recovered) }
            #expect(images > 10 && recovered > 0, "\(images) images, \(recovered) recovered")
        }

        @Test(arguments: [false, true])
        func `a power failure loses no confirmed commit of several threads`(fails: Bool) throws {
            let world = PowerCutWorld(folder.file("store"))
            defer { PowerCutWorld.removeProbe() }
            world.state.withLock { $0.contents[1] = Content() }
            let lease = try world.open()
            world.state.withLock {
                ($0.promised, $0.tried) = (1, 1)
                $0.device.flushData(FileImage(world.path), $0.device.tick())
            }
            // The first commits begin the log.
            var random = SeededGenerator(seed: .random(in: 0 ... .max))
            world.installProbe()
            for _ in 0..<4 { #expect(try world.commitBesideOthers(lease, &random)) }
            let flushes = Atomic<Int>(0)
            world.installProbe {
                let number = flushes.add(1, ordering: .relaxed).newValue
                return fails && number % 5 == 0
            }
            let ended = Mutex((commits: 0, refusals: 0))
            let threads = (0..<Self.writers).map { number in
                RunningThread {
                    var random = SeededGenerator(seed: UInt64(number))
                    for _ in 0..<Self.commitsOfEach {
                        do {
                            let isDone = try world.commitBesideOthers(lease, &random)
                            ended.withLock {
                                if isDone { $0.commits += 1 } else { $0.refusals += 1 }
                            }
                        } catch { Issue.record(error) }
                    }
                }
            }
            let all = Self.writers * Self.commitsOfEach
            while ended.withLock({ $0.commits + $0.refusals }) < all {
                try check(world, &random)
            }
            for thread in threads { thread.wait() }
            try check(world, &random)
            #expect(fails || ended.withLock { $0.refusals } == 0)
        }

        private static let writers = 4
        private static let commitsOfEach = 60
    }
}

import Glibc
import Synchronization
import SystemCalls
import TestThreads
import Testing

@testable import LMDBStorage

extension LogTests {
    @Suite struct RedoLogTests {
        private let folder: TemporaryFolder
        private var path: String { folder.file("store") }
        private var copy: String { path + "-copy" }

        init() throws { folder = try TemporaryFolder() }

        private func open(_ path: String? = nil, threshold: Int = 0) throws -> EnvironmentLease {
            let lease = try EnvironmentRegistry.open(
                path: path ?? self.path, options: EnvironmentOptions(mapSize: 1 << 30),
                tables: [TableName("a", .integers)])
            lease.environment.log?.pace.threshold = threshold
            return lease
        }

        private func removeCopy() { for end in ["", "-lock", "-log"] { unlink(copy + end) } }

        private func commit(
            _ lease: EnvironmentLease, _ key: UInt64, _ durability: Durability = .full,
            size: Int = 10
        ) throws {
            let write = try WriteTransaction(lease, durability: durability)
            try [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: size).withUnsafeBytes {
                try write.handle.put(lease.environment.tables[0], key, $0)
            }
            try write.commit()
        }

        private func marker(_ path: String? = nil) -> LogMarker {
            let descriptor = Glibc.open(path ?? self.path, O_RDONLY)
            defer { close(descriptor) }
            return (try? LogMarker.read(descriptor)) ?? LogMarker()
        }

        /// The content that another machine with the same device reads.
        private func makeCopy() {
            FileImage(path).write(copy)
            if access(path + "-log", F_OK) == 0 { FileImage(path + "-log").write(copy + "-log") }
        }

        @Test func `successive commits create a log, which closing removes`() throws {
            var lease: EnvironmentLease? = try open(threshold: 2)
            for key in 1...2 { if let lease { try commit(lease, UInt64(key)) } }
            #expect(access(path + "-log", F_OK) != 0)
            #expect(marker() == LogMarker())
            for key in 3...9 { if let lease { try commit(lease, UInt64(key)) } }
            #expect(access(path + "-log", F_OK) == 0)
            #expect(marker().id != 0)
            if let lease { #expect(try keys(lease) == Array(1...9)) }
            lease = nil
            #expect(access(path + "-log", F_OK) != 0)
            #expect(marker() == LogMarker())
            #expect(try keys(open()) == Array(1...9))
        }

        @Test(arguments: [Durability.full, .async])
        func `the log is removed after a time without writes`(durability: Durability) throws {
            let lease = try open()
            for key in 1...9 { try commit(lease, UInt64(key), durability) }
            #expect(marker().id != 0)
            let deadline = MonotonicClock.nanoseconds + 60_000_000_000
            while marker().id != 0, MonotonicClock.nanoseconds < deadline { usleep(1_000) }
            #expect(marker() == LogMarker())
            // A copy at this time is complete without the log.
            FileImage(path).write(copy)
            #expect(try keys(open(copy)) == Array(1...9))
            for key in 10...12 { try commit(lease, UInt64(key)) }
            #expect(marker().id != 0)
            #expect(try keys(lease) == Array(1...12))
        }

        @Test func `a recovery that fails because of the log leaves the file as it was`() throws {
            let lease = try open()
            for key in 1...200 { try commit(lease, UInt64(key), size: 200) }
            makeCopy()
            let log = Platform.openDescriptor(copy + "-log", O_RDWR)
            let data = Platform.openDescriptor(copy, O_RDWR)
            defer {
                close(log)
                close(data)
            }
            let header = try #require(
                try LogFile(of: copy, isMade: false).header(id: marker(copy).id))
            // The other header remains, but not the pages that it describes.
            let offset = off_t(Int(header.sequence & 1) * LogHeader.size)
            pwrite(log, [0xFF as UInt8], 1, offset + 20)
            let size = Platform.size(of: copy)
            pwrite(data, [UInt8](repeating: 0, count: size - 8192), size - 8192, 8192)
            var before = [UInt8](repeating: 0, count: size)
            var after = before
            pread(data, &before, size, 0)
            do {
                _ = try open(copy)
                Issue.record("the file is damaged")
            } catch let error as StorageError {
                #expect(error.code == .damaged)
            }
            pread(data, &after, size, 0)
            #expect(before == after)
        }

        @Test(arguments: [false, true])
        func `a recovery does not trust the seal of a process that closed the file before`(
            hasTornHeader: Bool
        ) throws {
            let lease = try open()
            for key in 1...50 { try commit(lease, UInt64(key), size: 3000) }
            let data = Platform.openDescriptor(path, O_RDWR)
            defer { close(data) }
            let seal = try #require(try FileSeal.compute(data, isFlushed: true))
            #expect(seal.write(data))
            makeCopy()
            let log = Platform.openDescriptor(copy + "-log", O_RDWR)
            defer { close(log) }
            let header = try #require(
                try LogFile(of: copy, isMade: false).header(id: marker(copy).id))
            if hasTornHeader {
                pwrite(log, [1 as UInt8], 1, off_t(Int(1 - header.sequence & 1) * LogHeader.size))
            }
            #expect(try keys(open(copy)) == Array(1...50))
            #expect(try PageVerifier.faults(path: copy, atMost: 5) == [])
        }

        @Test func `the version that the log pins does not count as a reader`() throws {
            let lease = try open()
            for key in 1...30 { try commit(lease, UInt64(key)) }
            #expect(lease.environment.oldestVersion() == nil)
            #expect(lease.environment.heldVersions() == [])
            #expect(try lease.environment.foreignReaders() == [])
            let log = try LogFile(of: path, isMade: false)
            #expect(log.recordedPins().map(\.process) == [getpid()])
        }

        @Test func `pages are reused although a version is open`() throws {
            let lease = try open()
            for key in 1...8000 { try commit(lease, UInt64(key % 50), .async, size: 200) }
            // A thousand versions with a few pages each can wait for the checkpoint, but not several thousand.
            let used = lease.environment.size().used
            #expect(used < 32 << 20, "\(used)")
        }

        @Test func `a log of another file is not changed`() throws {
            let other = path + "-other"
            let lease = try open()
            for key in 1...9 { try commit(lease, UInt64(key)) }
            let second = try open(other)
            for key in 100...103 { try commit(second, UInt64(key)) }
            // The log belongs to another file. This file has a marker, so it must be valid without a log.
            FileImage(other).write(copy)
            FileImage(path + "-log").write(copy + "-log")
            #expect(try keys(open(copy)) == Array(100...103))
            // The file has no marker, so the log is ignored.
            removeCopy()
            // The log does not end while a checkpoint is in progress.
            second.environment.log?.checkpointer.finish()
            #expect(second.environment.log?.finishIfUnused() == true)
            FileImage(other).write(copy)
            FileImage(path + "-log").write(copy + "-log")
            let third = try open(copy)
            #expect(try keys(third) == Array(100...103))
            for key in 104...109 { try commit(third, UInt64(key)) }
            #expect(try keys(third) == Array(100...109))
        }

        @Test func `a file without its log is refused unless it is complete`() throws {
            let lease = try open()
            for key in 1...40 { try commit(lease, UInt64(key), size: 900) }
            var image = FileImage(path)
            image.write(copy)
            #expect(try keys(open(copy)) == Array(1...40))
            removeCopy()
            // Pages that were lost in the power failure.
            for page in 2..<image.bytes.count / 4096 {
                for index in 0..<4096 { image.bytes[page * 4096 + index] = 0 }
            }
            image.write(copy)
            for isReadOnly in [false, true] {
                #expect {
                    try EnvironmentRegistry.open(
                        path: copy,
                        options: EnvironmentOptions(mapSize: 1 << 30, readOnly: isReadOnly),
                        tables: [TableName("a", .integers)])
                } throws: {
                    ($0 as? StorageError)?.code == .damaged
                }
            }
        }

        @Test func `a damaged log causes no crash, and the state is that of a commit`() throws {
            let lease = try open()
            lease.environment.log?.checkpointLag = 20
            lease.environment.log?.urgentLag = 20
            for key in 1...60 { try commit(lease, UInt64(key), size: 300) }
            let image = FileImage(path)
            let log = FileImage(path + "-log")
            var random = SeededGenerator(seed: 7)
            for round in 0..<RandomSeeds.count(40, of: 150) {
                var damaged = log
                switch round % 4 {
                case 0:
                    damaged.bytes.removeLast(
                        Int.random(in: 0...damaged.bytes.count, using: &random))
                case 1:
                    for _ in 0..<Int.random(in: 1...50, using: &random) {
                        damaged.bytes[Int.random(in: 0..<20_000, using: &random)] =
                            UInt8.random(in: 0...255, using: &random)
                    }
                case 2:
                    let start = Int.random(in: 12_000..<40_000, using: &random)
                    for index in start..<start + 2000 { damaged.bytes[index] = 0xFF }
                default:
                    for index in 0..<Int.random(in: 0..<9000, using: &random) {
                        damaged.bytes[index] = 1
                    }
                }
                removeCopy()
                image.write(copy)
                damaged.write(copy + "-log")
                do {
                    let found = try keys(open(copy))
                    #expect(found == (found.isEmpty ? [] : Array(1...UInt64(found.count))))
                    #expect(try PageVerifier.faults(path: copy, atMost: 3) == [])
                } catch let error as StorageError {
                    #expect(error.code == .damaged, "\(error)")
                }
            }
        }

        @Test func `a writer without a log ends the log, and the next writer with one restarts it`()
            throws
        {
            let lease = try open()
            for key in 1...5 { try commit(lease, UInt64(key)) }
            #expect(marker().id != 0)
            try commit(lease, 6, .memory)
            #expect(marker().id == 0)
            for key in 7...12 { try commit(lease, UInt64(key), key % 2 == 0 ? .full : .async) }
            #expect(marker().id != 0)
            makeCopy()
            #expect(try keys(open(copy)) == Array(1...12))
        }

        @Test func `a commit that the device refuses has no effect, also after a power failure`()
            throws
        {
            defer { FlushProbe.installed.withLock { $0 = nil } }
            let lease = try open()
            for key in 1...5 { try commit(lease, UInt64(key)) }
            let this = ThreadIdentity.current.number
            let isFailing = Mutex(true)
            FlushProbe.installed.withLock {
                $0 = FlushProbe(
                    before: { _ in
                        guard ThreadIdentity.current.number == this else { return true }
                        return isFailing.withLock { isFailing in
                            defer { isFailing = false }
                            return !isFailing
                        }
                    }, after: { _ in })
            }
            #expect(throws: StorageError.self) { try commit(lease, 6) }
            #expect(try keys(lease) == Array(1...5))
            makeCopy()
            #expect(try keys(open(copy)) == Array(1...5))
            for key in 7...9 { try commit(lease, UInt64(key)) }
            removeCopy()
            makeCopy()
            #expect(try keys(open(copy)) == Array(1...5) + Array(7...9))
        }

        @Test func `a commit is visible before its flush only while others wait`() throws {
            // The probe may own the last lease, whose end flushes: it must not end under the lock.
            defer { _ = FlushProbe.installed.withLock { $0.take() } }
            let lease = try open()
            for key in 1...5 { try commit(lease, UInt64(key)) }
            let before = lease.environment.latestVersion()
            // The newest version at the beginning of each flush.
            let seen = Mutex<[UInt64]>([])
            let this = ThreadIdentity.current.number
            FlushProbe.installed.withLock {
                $0 = FlushProbe(
                    before: { _ in
                        guard ThreadIdentity.current.number == this else { return true }
                        let version = lease.environment.latestVersion()
                        seen.withLock { $0.append(version) }
                        return true
                    }, after: { _ in })
            }
            try commit(lease, 6)
            let write = try WriteTransaction(lease, durability: .full)
            let ticket = lease.takeTicket(by: .unnamed, patience: 1_000_000_000) {}
            try [7].withUnsafeBytes { try write.handle.put(lease.environment.tables[0], 7, $0) }
            try write.commit()
            ticket.withdraw()
            #expect(seen.withLock { $0 } == [before, before + 2])
        }

        @Test func `records that share a flush reach the device in any order`() async throws {
            let isReleased = Flag()
            defer {
                isReleased.set()
                _ = FlushProbe.installed.withLock { $0.take() }
            }
            let lease = try open()
            for key in 1...5 { try commit(lease, UInt64(key)) }
            let before = lease.environment.latestVersion()
            let log = try #require(lease.environment.log?.file?.descriptor)
            FlushProbe.installed.withLock {
                $0 = FlushProbe(
                    before: { file in
                        let deadline = MonotonicClock.nanoseconds + 60_000_000_000
                        while file == log, !isReleased.isSet,
                            MonotonicClock.nanoseconds < deadline
                        { usleep(1_000) }
                        return true
                    }, after: { _ in })
            }
            let writers = (6...7).map { key in
                RunningThread {
                    do {
                        let write = try WriteTransaction(lease, durability: .full)
                        let ticket = lease.takeTicket(by: .unnamed, patience: 1_000_000) {}
                        defer { ticket.withdraw() }
                        try [UInt8(key)].withUnsafeBytes {
                            try write.handle.put(lease.environment.tables[0], UInt64(key), $0)
                        }
                        try write.commit()
                    } catch { Issue.record(error) }
                }
            }
            #expect(try await eventually { lease.environment.latestVersion() == before + 2 })
            // A second without a write would end the log.
            let next = try WriteTransaction(lease, durability: .full)
            try [8].withUnsafeBytes { try next.handle.put(lease.environment.tables[0], 8, $0) }
            // The device has the second record, and not the first one, for which its writer still waits.
            try copyWithoutRecord(of: before + 1)
            #expect(try keys(open(copy)) == Array(1...5))
            removeCopy()
            isReleased.set()
            for writer in writers { writer.wait() }
            // The next record follows the flush, so a missing record before it is damage.
            try next.commit()
            try copyWithoutRecord(of: before + 1)
            let error = #expect(throws: StorageError.self) { try keys(open(copy)) }
            #expect(error?.code == .damaged)
        }

        private func copyWithoutRecord(of version: UInt64) throws {
            makeCopy()
            var log = FileImage(copy + "-log")
            let offset = try #require(
                stride(from: LogFile.base, to: log.bytes.count - LogRecord.size, by: 8).first {
                    let head = log.bytes[$0..<$0 + LogRecord.size]
                    return head.withUnsafeBytes { LogRecord($0)?.version } == version
                })
            for index in offset..<offset + LogRecord.size { log.bytes[index] = 0 }
            log.write(copy + "-log")
        }

        @Test func `the ring of records wraps around`() throws {
            let lease = try open()
            // The ring has 16 MiB.
            for key in 1...48 {
                try commit(lease, UInt64(key), size: 400_000)
                guard key % RandomSeeds.count(16, of: 6) == 0 else { continue }
                removeCopy()
                makeCopy()
                #expect(try keys(open(copy)) == Array(1...UInt64(key)))
            }
            #expect(FileImage(path + "-log").bytes.count <= LogFile.end)
        }

        @Test func `only the owner reads the log of a private file`() throws {
            let lease = try open()
            chmod(path, 0o600)
            for key in 1...3 { try commit(lease, UInt64(key)) }
            var status = stat()
            stat(path + "-log", &status)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }
}

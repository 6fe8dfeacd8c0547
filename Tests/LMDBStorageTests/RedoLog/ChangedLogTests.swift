import Glibc
import Synchronization
import SystemCalls
import TestThreads
import Testing

@testable import LMDBStorage

extension LogTests {
    /// Other programs rename, replace, delete or overwrite the log or the data file while the file is open.
    @Suite struct ChangedLogTests {
        /// A change that another program makes to the log.
        enum Change: CaseIterable {
            case renamed
            case deleted
            case replacedByEmptyFile
            case replacedByItsCopy
            case replacedByLink
            case truncated
            case truncatedAfterHeader
            case overwrittenByOlderCopy
        }

        private let folder: TemporaryFolder
        private var path: String { folder.file("store") }
        private var log: String { path + "-log" }

        init() throws { folder = try TemporaryFolder() }

        private func open(_ path: String? = nil) throws -> EnvironmentLease {
            let lease = try EnvironmentRegistry.open(
                path: path ?? self.path, options: EnvironmentOptions(mapSize: 1 << 30),
                tables: [TableName("a", .integers)])
            lease.environment.log?.pace.threshold = 0
            return lease
        }

        private func commit(
            _ lease: EnvironmentLease, _ key: UInt64, _ durability: Durability = .full,
            afterPut: () -> Void = {}
        ) throws {
            let write = try WriteTransaction(lease, durability: durability)
            try [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: 900).withUnsafeBytes {
                try write.handle.put(lease.environment.tables[0], key, $0)
            }
            afterPut()
            try write.commit()
        }

        private var marker: LogMarker {
            let descriptor = Glibc.open(path, O_RDONLY)
            defer { close(descriptor) }
            return (try? LogMarker.read(descriptor)) ?? LogMarker()
        }

        private func apply(_ change: Change, older: FileImage) {
            let away = log + ".away"
            switch change {
            case .renamed: rename(log, away)
            case .deleted: unlink(log)
            case .replacedByEmptyFile:
                rename(log, away)
                FileImage().write(log)
            case .replacedByItsCopy:
                let image = FileImage(log)
                rename(log, away)
                image.write(log)
            case .replacedByLink:
                rename(log, away)
                symlink(away, log)
            case .truncated: truncate(log, 0)
            case .truncatedAfterHeader: truncate(log, off_t(LogFile.base + 100))
            case .overwrittenByOlderCopy: older.write(log)
            }
        }

        /// The part of the data file that is on the device.
        private final class DeviceProbe: Sendable {
            private struct State {
                var pending: [UInt: FileImage] = [:]
                var flushed = FileImage()
            }
            private let state = Mutex(State())
            private let path: String

            init(_ environment: Environment) throws {
                path = environment.path
                let data = try #require(environment.log?.data)
                FlushProbe.installed.withLock {
                    $0 = FlushProbe(
                        before: { [self] descriptor in
                            guard descriptor == data else { return true }
                            let image = FileImage(path)
                            state.withLock { $0.pending[ThreadIdentity.current.number] = image }
                            return true
                        },
                        after: { [self] descriptor in
                            guard descriptor == data else { return }
                            state.withLock {
                                let image = $0.pending.removeValue(
                                    forKey: ThreadIdentity.current.number)
                                if let image { $0.flushed = image }
                            }
                        })
                }
            }

            static func remove() { FlushProbe.installed.withLock { $0 = nil } }

            /// Records that LMDB itself has flushed the file.
            func setFlushed() { state.withLock { $0.flushed = FileImage(path) } }

            /// Writes the content after a power failure that loses all unflushed writes to the data file.
            func cutPower(to copy: String) {
                state.withLock { $0.flushed }.write(copy)
                var status = stat()
                guard lstat(path + "-log", &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                    return
                }
                FileImage(path + "-log").write(copy + "-log")
            }
        }

        @Test(arguments: Change.allCases, [false, true])
        func `a durable commit after the log was changed survives a power failure`(
            change: Change, isInWrite: Bool
        ) throws {
            defer { DeviceProbe.remove() }
            let lease = try open()
            let device = try DeviceProbe(lease.environment)
            for key in UInt64(1)...3 { try commit(lease, key) }
            let older = FileImage(log)
            for key in UInt64(4)...9 { try commit(lease, key) }
            let id = marker.id
            try #require(id != 0)
            if !isInWrite { apply(change, older: older) }
            try commit(lease, 10) { if isInWrite { apply(change, older: older) } }
            #expect(marker.id != id)
            // A file that cannot be a log stays as it is, and LMDB flushes the commits.
            #expect((marker.id == 0) == (change == .replacedByLink))
            if marker.id == 0 { device.setFlushed() }
            device.cutPower(to: path + "2")
            #expect(try keys(open(path + "2")) == Array(1...10))
            for key in UInt64(11)...13 { try commit(lease, key) }
            #expect(try keys(lease) == Array(1...13))
        }

        // Without records, nothing follows the header.
        @Test(arguments: Change.allCases.filter { $0 != .truncatedAfterHeader })
        func `asynchronous commits begin a new log soon after the log was changed`(change: Change)
            throws
        {
            defer { DeviceProbe.remove() }
            let lease = try open()
            let device = try DeviceProbe(lease.environment)
            for key in UInt64(1)...3 { try commit(lease, key, .async) }
            let older = FileImage(log)
            // The older copy does not have the header of the newest checkpoint.
            // The log does not end while a checkpoint is in progress.
            lease.environment.log?.checkpointer.finish()
            #expect(lease.environment.log?.finishIfUnused() == true)
            for key in UInt64(4)...9 { try commit(lease, key, .async) }
            // A checkpoint in progress would write the header again.
            lease.environment.log?.checkpointer.watch(false)
            lease.environment.log?.checkpointer.finish()
            let id = marker.id
            try #require(id != 0)
            apply(change, older: older)
            let deadline = MonotonicClock.nanoseconds + 60_000_000_000
            var key: UInt64 = 9
            while marker.id == id, MonotonicClock.nanoseconds < deadline {
                key += 1
                try commit(lease, key, .async)
            }
            #expect(marker.id != id)
            #expect((marker.id == 0) == (change == .replacedByLink))
            device.cutPower(to: path + "2")
            let found = try keys(open(path + "2"))
            // The new log begins before the commit that has noticed the change.
            #expect(found.count >= Int(key) - 1 && found == Array(1...UInt64(found.count)))
        }

        @Test(arguments: Change.allCases)
        func `a commit without durability ends a log that was changed`(change: Change) throws {
            defer { DeviceProbe.remove() }
            let lease = try open()
            let device = try DeviceProbe(lease.environment)
            for key in UInt64(1)...3 { try commit(lease, key) }
            let older = FileImage(log)
            for key in UInt64(4)...9 { try commit(lease, key) }
            apply(change, older: older)
            try commit(lease, 10, .memory)
            #expect(marker.id == 0)
            device.cutPower(to: path + "2")
            #expect(try keys(open(path + "2")) == Array(1...9))
            #expect(try keys(lease) == Array(1...10))
        }

        @Test func `a log that cannot be created again is replaced by flushed commits`() throws {
            defer { DeviceProbe.remove() }
            let lease = try open()
            let device = try DeviceProbe(lease.environment)
            for key in UInt64(1)...9 { try commit(lease, key, key < 5 ? .full : .async) }
            unlink(log)
            try #require(mkdir(log, 0o700) == 0)
            for key in UInt64(10)...19 { try commit(lease, key, key % 2 == 0 ? .full : .async) }
            #expect(marker.id == 0)
            device.setFlushed()
            device.cutPower(to: path + "2")
            #expect(try keys(open(path + "2")) == Array(1...19))
        }

        @Test(arguments: [Durability.full, .async, .memory])
        func `a write to a data file that was renamed, replaced or deleted is an error`(
            durability: Durability
        ) throws {
            let lease = try open()
            for key in UInt64(1)...9 { try commit(lease, key, durability) }
            let away = path + ".away"
            func code(_ key: UInt64) -> StorageError.Code? {
                do { try commit(lease, key, durability) } catch {
                    return (error as? StorageError)?.code
                }
                return nil
            }
            rename(path, away)
            #expect(code(10) == .replaced)
            FileImage(away).write(path)
            #expect(code(10) == .replaced)
            rename(away, path)
            #expect(code(10) == nil)
            // The log is renamed together with the file.
            rename(path, away)
            rename(log, away + "-log")
            #expect(code(11) == .replaced)
            rename(away, path)
            #expect(code(11) == nil)
            link(path, away)
            unlink(path)
            #expect(code(12) == .replaced)
            rename(away, path)
            #expect(code(12) == nil)
            #expect(try keys(lease) == Array(1...12))
        }
    }
}

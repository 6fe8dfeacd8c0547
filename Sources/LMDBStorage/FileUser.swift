import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A process that has a data file open.
package struct FileUser: Hashable, Sendable {
    /// The number of the process.
    package let process: Int32
    /// The name of its program; nil if it is not known.
    package let program: String?
    /// The numbers with which it has marked the file; empty also if the system does not show them to this process.
    package let marks: Set<UInt64>
}

/// The numbers with which this process uses a data file, such as versions of its schema, for other processes to see.
///
/// A number is a shared lock on a byte of the lock file, beyond all bytes that LMDB locks. Such a lock belongs to an open
/// descriptor: it ends when the process ends in any way, and no other descriptor of the file affects it.
final class FileMarks: Sendable {
    private struct Uses {
        var counts: [UInt64: Int] = [:]
        var excluded: Set<UInt64> = []
    }

    private let uses = Mutex(Uses())

    /// Prevents others from using a number; returns false if another process uses it, or this one more often than `own`
    /// times.
    func exclude(_ number: UInt64, except own: Int, in descriptor: Int32) -> Bool {
        uses.withLock { uses in
            guard uses.counts[number, default: 0] <= own, !uses.excluded.contains(number),
                !Self.isTaken(Platform.lockDescriptor(descriptor, Self.byte(of: number, F_WRLCK)))
            else { return false }
            uses.excluded.insert(number)
            return true
        }
    }

    /// Allows others again to use a number.
    func endExclusion(of number: UInt64, in descriptor: Int32) {
        uses.withLock { uses in
            assert(uses.excluded.contains(number), "an exclusion ends once")
            uses.excluded.remove(number)
            let kind = uses.counts[number] == nil ? F_UNLCK : F_RDLCK
            _ = Platform.lockDescriptor(descriptor, Self.byte(of: number, kind))
        }
    }

    /// Whether another descriptor has the lock; other errors mean that the file system has no such locks, and programs
    /// do not know each other's numbers.
    private static func isTaken(_ code: Int32) -> Bool { code == EAGAIN || code == EACCES }

    /// Counts one more or one less use with a number; waits a moment while it is excluded, and then returns false.
    func add(_ change: Int, to number: UInt64, in descriptor: Int32) -> Bool {
        for _ in 0..<Self.attempts {
            if tryAdd(change, to: number, in: descriptor) { return true }
            usleep(Self.pause)
        }
        return false
    }

    /// Returns false while the number is excluded.
    private func tryAdd(_ change: Int, to number: UInt64, in descriptor: Int32) -> Bool {
        uses.withLock { uses in
            let isExcluded = uses.excluded.contains(number)
            guard change < 0 || !isExcluded else { return false }
            let count = uses.counts[number, default: 0] + change
            assert(count >= 0, "a use of a number ends once")
            if descriptor >= 0, !isExcluded, count == (change > 0 ? 1 : 0) {
                let range = Self.byte(of: number, count > 0 ? F_RDLCK : F_UNLCK)
                if Self.isTaken(Platform.lockDescriptor(descriptor, range)) { return false }
            }
            uses.counts[number] = count > 0 ? count : nil
            return true
        }
    }

    /// Returns the numbers with which another process uses a lock file; none if they cannot be read.
    static func numbers(of process: Int32, in file: EnvironmentRegistry.Identity) -> Set<UInt64> {
        var found: Set<UInt64> = []
        for name in (ProcessServices.names(in: "/proc/\(process)/fd") ?? []) {
            var status = stat()
            guard stat("/proc/\(process)/fd/\(name)", &status) == 0,
                EnvironmentRegistry.Identity(status) == file
            else { continue }
            for line in Platform.lines(of: "/proc/\(process)/fdinfo/\(name)") {
                let words = line.split(separator: " ")
                guard words.contains("OFDLCK"),
                    let start = words.dropLast().last.flatMap({ Int64($0) }),
                    start >= first
                else { continue }
                found.insert(UInt64(start - first))
            }
        }
        return found
    }

    private static func byte(of number: UInt64, _ kind: Int32) -> flock {
        var range = FileLock.firstByte
        range.l_type = Int16(kind)
        range.l_start = off_t(first + Int64(min(number, last)))
        return range
    }

    /// The byte of the number 0.
    ///
    /// LMDB locks the bytes whose offsets are numbers of processes.
    private static let first: Int64 = 1 << 40
    private static let last: UInt64 = 1 << 60
    private static let pause: UInt32 = 1000
    private static let attempts = 20
}

/// A number with which this process uses a data file, until the object is released.
package final class FileMark: Sendable {
    private let environment: Environment
    /// The number.
    package let number: UInt64

    fileprivate init(_ environment: Environment, _ number: UInt64) {
        self.environment = environment
        self.number = number
    }

    deinit { _ = environment.markedRegion?.addMark(-1, to: number) }
}

/// A number that no other part of this process and no other process can begin to use, until the object is released.
package final class FileExclusion: Sendable {
    private let environment: Environment
    private let number: UInt64

    fileprivate init(_ environment: Environment, _ number: UInt64) {
        self.environment = environment
        self.number = number
    }

    deinit { environment.markedRegion?.endExclusion(of: number) }
}

extension Environment {
    /// Shows other processes that this one uses the file with a number; nil if it is excluded and stays so for a moment.
    package func mark(_ number: UInt64) -> FileMark? {
        guard markedRegion?.addMark(1, to: number) ?? true else { return nil }
        return FileMark(self, number)
    }

    /// Prevents others from beginning to use a number; nil if another process uses it, or this one more often than `own`
    /// times.
    package func exclude(_ number: UInt64, except own: Int) -> FileExclusion? {
        guard markedRegion?.exclude(number, except: own) ?? true else { return nil }
        return FileExclusion(self, number)
    }

    /// Returns the other processes that have the file open, in the order of their numbers.
    package func otherUsers() throws(StorageError) -> [FileUser] {
        guard let lockRegion else { return [] }
        try clearStaleReaders()
        return lockRegion.otherUsers(of: lockFile)
    }
}

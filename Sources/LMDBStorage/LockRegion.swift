import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The process that holds a file's write lock.
package struct LockHolder: Sendable {
    /// The number of the process.
    package let process: Int32
    /// The name of its program; nil if it is not known.
    package let program: String?

    /// Whether it is this process.
    package var isHere: Bool { process == getpid() }
}

/// Reads the state of LMDB's lock file, and uses the file to notify other processes.
///
/// LMDB has no call that reads whether the write lock is held, that acquires it only if it is free, or that notifies
/// other processes of a commit. A read is a hint: a write may have to wait even if the lock seems to be free. If the
/// file does not have the expected layout, the lock always seems free, and other processes always seem to have the file
/// open. This type never acquires the lock: LMDB repairs a lock whose owner has died.
final class LockRegion: @unchecked Sendable {
    // Unchecked because: the mapping is constant, and only read.
    private let region: UnsafeRawPointer?
    private let length: Int
    // The descriptor; negative after it was closed.
    private let descriptor: Atomic<Int32>
    private let process = UInt32(bitPattern: getpid())
    private let marks = FileMarks()

    /// The number with which LMDB's lock files of this layout begin.
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let format: UInt32 = 0x0001_0001
    /// The bits of the write lock with the thread that holds it.
    private static let owner: UInt32 = 0x3FFF_FFFF
    /// The bit of the write lock that is set while a thread waits for it, or has waited since it was last free.
    private static let waiters: UInt32 = 1 << 31
    private static let cacheLine = 64

    private static let lockSize = MemoryLayout<pthread_mutex_t>.size
    /// The offset of the reader count; the lock for registering readers and the version precede it.
    private static let readerCount = 8 + lockSize + 8
    /// The offset of the write lock; the lock and each reader slot after it begin on separate cache lines.
    private static let writeLock = (readerCount + 4).rounded(upTo: cacheLine)
    private static let readers = (writeLock + lockSize).rounded(upTo: cacheLine)

    /// Reserves space on the device for the used part of a lock file, unless there are very many readers.
    ///
    /// LMDB makes the file larger without writing to it, and maps it. If the device is full, the system ends the
    /// process that first touches the map. Call this only while this process does not have the file open, because
    /// closing a descriptor releases the locks. Throws `diskFull`.
    ///
    /// Returns the lock file, or nil if this process may not write it and the data file is only read.
    static func reserveSpace(
        of path: String, isWritten: Bool
    ) throws(StorageError) -> EnvironmentRegistry.Identity? {
        let descriptor: Int32
        do throws(StorageError) {
            descriptor = try LockFile.open(of: path)
        } catch {
            // A file that cannot be written may be readable.
            guard error.code == .permission, !isWritten else { throw error }
            return nil
        }
        defer { close(descriptor) }
        try reserveSpace(descriptor, of: path)
        return EnvironmentRegistry.Identity(descriptor)
    }

    /// Reserves space for the lock file of an anonymous file, which `path` leads to in this process.
    static func reserveSpaceForPrivate(_ path: String) throws(StorageError) {
        let descriptor = Platform.openDescriptor(path + "-lock", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw StorageError(rawCode: errno, call: "open", file: path + "-lock")
        }
        defer { close(descriptor) }
        try reserveSpace(descriptor, of: path)
    }

    /// Reserves space for a lock file that is already open, and keeps it open.
    static func reserveSpace(_ descriptor: Int32, of path: String) throws(StorageError) {
        // On a full disk, one page may exist already.
        for size in usedSizes {
            let code = Platform.allocate(
                descriptor, path + "-lock", keepsSize: true, from: 0, to: size)
            guard [ENOSPC, EDQUOT, EFBIG].contains(code) else { return }
            if size == usedSizes.last {
                throw StorageError(rawCode: code, call: "fallocate", file: path)
            }
        }
    }

    /// The sizes to reserve: for about 250 simultaneous readers, or for 60.
    private static let usedSizes = [16 << 10, 4 << 10]

    /// Maps the lock file of an open environment.
    ///
    /// Compares the values of LMDB's public functions with the values at the expected offsets.
    init(of path: String, _ environment: OpaquePointer? = nil) {
        let descriptor = Platform.openDescriptor(path + "-lock", O_RDWR | O_CLOEXEC)
        self.descriptor = Atomic(descriptor)
        var mapped: UnsafeMutableRawPointer?
        var size = 0
        #if canImport(Glibc)
            var status = stat()
            if descriptor >= 0, fstat(descriptor, &status) == 0, status.st_size >= Self.readers {
                size = Int(status.st_size)
                mapped = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0)
                if mapped == MAP_FAILED { mapped = nil }
            }
            if let found = mapped,
                found.load(as: UInt32.self) != Self.magic
                    || found.load(fromByteOffset: 4, as: UInt32.self) != Self.format
                    || !Self.isKnown(found, size, environment)
            {
                munmap(found, size)
                mapped = nil
            }
        #endif
        region = mapped.map { UnsafeRawPointer($0) }
        length = size
    }

    private static func isKnown(
        _ region: UnsafeMutableRawPointer, _ size: Int, _ environment: OpaquePointer?
    ) -> Bool {
        guard let environment else { return true }
        for _ in 0..<100 {
            var info = MDB_envinfo()
            mdb_env_info(environment, &info)
            let count = region.load(fromByteOffset: readerCount, as: UInt32.self)
            var after = MDB_envinfo()
            mdb_env_info(environment, &after)
            // Other processes may begin to read in the meantime.
            guard info.me_numreaders == after.me_numreaders else { continue }
            return count == info.me_numreaders
                && (size - readers) / cacheLine + 1 >= Int(info.me_maxreaders)
        }
        return false
    }

    deinit {
        if let region { munmap(UnsafeMutableRawPointer(mutating: region), length) }
        closeFile()
    }

    /// Whether another process has the data file open: every such process holds LMDB's lock on the lock file.
    var isOpenElsewhere: Bool {
        let descriptor = descriptor.load(ordering: .relaxed)
        guard descriptor >= 0 else { return true }
        var range = FileLock.firstByte
        return Platform.controlLock(descriptor, F_GETLK, &range) != 0 || range.l_type != F_UNLCK
    }

    /// Keeps LMDB from initializing the lock file until ``closeFile()``, whichever of its descriptors are closed.
    ///
    /// Throws the system's error if the file system has no locks of descriptors.
    func keepOpen(_ path: String) throws(StorageError) {
        var range = FileLock.firstByte
        range.l_type = Int16(F_RDLCK)
        let code = Platform.lockDescriptor(descriptor.load(ordering: .relaxed), range)
        try check(code, "fcntl", path + "-lock")
    }

    /// Acquires the locks of LMDB again that this process has lost because a descriptor of the file was closed: the one
    /// on the first byte, and the one on the byte of the process, without which others would free its reader slots.
    func renewLocks() {
        let descriptor = descriptor.load(ordering: .relaxed)
        for (offset, kind) in [(0, F_RDLCK), (off_t(process), F_WRLCK)] {
            var range = FileLock.firstByte
            (range.l_start, range.l_type) = (offset, Int16(kind))
            _ = Platform.controlLock(descriptor, F_SETLK, &range)
        }
    }

    /// Closes the file: this object can still read its content, but no longer notifies other processes.
    ///
    /// Call this while LMDB has the file open and no thread can open it again: closing any descriptor of the lock file
    /// releases all locks that the process has on it.
    func closeFile() {
        let open = descriptor.exchange(-1, ordering: .relaxed)
        if open >= 0 { close(open) }
    }

    /// Whether a thread of any process probably holds the write lock.
    var isTaken: Bool {
        guard let region else { return false }
        return region.load(fromByteOffset: Self.writeLock, as: UInt32.self) & Self.owner != 0
    }

    /// Whether a thread of any process waits for the write lock.
    var isAwaited: Bool {
        guard let region else { return false }
        return region.load(fromByteOffset: Self.writeLock, as: UInt32.self) & Self.waiters != 0
    }

    /// The process that holds the write lock; nil if it is free, or if the process is not known.
    ///
    /// The lock contains the number of the thread that holds it.
    var holder: LockHolder? {
        guard let region else { return nil }
        let word = region.load(fromByteOffset: Self.writeLock, as: UInt32.self) & Self.owner
        guard word != 0, let process = Platform.process(ofThread: Int32(bitPattern: word)),
            hasReader(process)
        else { return nil }
        return LockHolder(process: process, program: Platform.program(of: process))
    }

    /// Whether a process has a reader slot, as every process with the file open does.
    ///
    /// A number without a slot belongs to a process of another container, where numbers have another meaning.
    private func hasReader(_ process: Int32) -> Bool {
        anyReader { $0 == UInt32(bitPattern: process) }
    }

    /// Whether another process seems to have the file open: every such process has a reader slot.
    ///
    /// Takes a load for each slot that was ever used.
    var isShared: Bool {
        // A process that opens the file now either sees the last commit, or its registration is visible here.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return anyReader { $0 != process }
    }

    /// Returns whether a used reader slot is of a process for which `isWanted` returns true; true without a lock file.
    private func anyReader(_ isWanted: (UInt32) -> Bool) -> Bool {
        guard let region else { return true }
        let capacity = (length - Self.readers) / Self.cacheLine
        let count = Int(region.load(fromByteOffset: Self.readerCount, as: UInt32.self))
        for reader in 0..<min(count, capacity) {
            let offset = Self.readers + reader * Self.cacheLine + 8
            let other = region.load(fromByteOffset: offset, as: UInt32.self)
            if other != 0, isWanted(other) { return true }
        }
        return false
    }

    func exclude(_ number: UInt64, except own: Int) -> Bool {
        marks.exclude(number, except: own, in: descriptor.load(ordering: .relaxed))
    }

    func endExclusion(of number: UInt64) {
        marks.endExclusion(of: number, in: descriptor.load(ordering: .relaxed))
    }

    /// Counts one more or one less use of the file with a number, which other processes can see.
    func addMark(_ change: Int, to number: UInt64) -> Bool {
        marks.add(change, to: number, in: descriptor.load(ordering: .relaxed))
    }

    /// Returns the other processes with a reader slot, in the order of their numbers.
    ///
    /// `file` is the lock file; without it, no marks are known.
    func otherUsers(of file: EnvironmentRegistry.Identity?) -> [FileUser] {
        var others: Set<Int32> = []
        if region != nil {
            _ = anyReader { reader in
                if reader != process { others.insert(Int32(bitPattern: reader)) }
                return false
            }
        }
        return others.sorted().map { other in
            FileUser(
                process: other, program: Platform.program(of: other),
                marks: file.map { FileMarks.numbers(of: other, in: $0) } ?? [])
        }
    }

    /// Notifies the processes that watch the lock file for accesses, by reading from it.
    ///
    /// Takes one system call, or none if no other process has the file open.
    func callOthers() {
        let descriptor = descriptor.load(ordering: .relaxed)
        guard descriptor >= 0, isShared else { return }
        var byte: UInt8 = 0
        _ = pread(descriptor, &byte, 1, 0)
    }
}

extension Int {
    fileprivate func rounded(upTo multiple: Int) -> Int {
        (self + multiple - 1) / multiple * multiple
    }
}

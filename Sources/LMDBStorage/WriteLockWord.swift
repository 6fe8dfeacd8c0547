#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// LMDB's write lock as a look at the lock file shows it.
///
/// LMDB has no call that tells whether the lock is taken, or that takes it only if it is free. The look is a hint:
/// who finds the lock free may still have to wait, and where the lock file is not laid out as expected, it always
/// looks free. It is not tried here: a lock whose owner has died is LMDB's to repair.
final class WriteLockWord: @unchecked Sendable {
    // Unchecked because: the mapping is constant, and only looked at.
    private let word: UnsafePointer<UInt32>?
    private let page: UnsafeMutableRawPointer?
    // Open as long as the environment: closing any descriptor of the file ends the locks that LMDB has on it for the
    // process.
    private let descriptor: Int32

    /// `LMDB's` lock files of this layout say so.
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let format: UInt32 = 0x0001_0001
    private static let length = 4096
    /// Where the thread that has the lock is named.
    private static let owner: UInt32 = 0x3FFF_FFFF

    /// Looks at the lock file of an environment that is open.
    init(of path: String) {
        descriptor = Platform.openDescriptor(path + "-lock", O_RDONLY | O_CLOEXEC)
        var mapped: UnsafeMutableRawPointer?
        var found: UnsafePointer<UInt32>?
        #if canImport(Glibc)
            // The lock lies behind what describes the file, both on cache lines of their own.
            let place = (8 + MemoryLayout<pthread_mutex_t>.size + 12 + 63) & ~63
            var status = stat()
            if descriptor >= 0, fstat(descriptor, &status) == 0, status.st_size >= Self.length {
                mapped = mmap(nil, Self.length, PROT_READ, MAP_SHARED, descriptor, 0)
                if mapped == MAP_FAILED { mapped = nil }
            }
            if let mapped, mapped.load(as: UInt32.self) == Self.magic,
                mapped.load(fromByteOffset: 4, as: UInt32.self) == Self.format
            {
                found = UnsafePointer(
                    (mapped + place).bindMemory(to: UInt32.self, capacity: 1))
            }
        #endif
        page = mapped
        word = found
    }

    deinit {
        if let page { munmap(page, Self.length) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether some thread of some process seems to have the lock.
    var isTaken: Bool {
        guard let word else { return false }
        return word.pointee & Self.owner != 0
    }
}

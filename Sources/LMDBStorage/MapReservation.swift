import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reserves space on the device for the pages of a file that is written through its map.
///
/// Without MDB_WRITEMAP, LMDB writes changed pages with system calls, which take longer than all other work of a small
/// commit; with it, LMDB changes mapped pages in place. This is safe for these reasons:
///
/// * If the device has no space for a page when it is first touched, SIGBUS ends the process. So space is reserved for an
///   upper bound of the pages that a write can take (OpenWrite) before it takes them, or the write fails with `diskFull`.
/// * When LMDB opens a file, it changes the file's size to that of its map, without a lock. So files that other processes
///   may have open are written in this way only with maps of the default size.
/// * The file is truncated when a write begins, and when it is closed; other processes do so only while no write is open.
/// * The system may write a page before its version is complete, as with system calls, which the redo log allows.
///
/// Only the thread that holds LMDB's write lock may use it.
final class MapReservation: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.
    private let environment: OpaquePointer
    private let path: String
    private let descriptor: Int32
    private let pageSize: Int
    /// The size of the file if it is in memory, where pages need no reservation; nil otherwise.
    private let inMemorySize: Int?
    /// The number of pages of the newest version.
    @exclusivity(unchecked) private var used = 0
    /// The number of pages, from the first one on, that have space on the device.
    @exclusivity(unchecked) private var pages = 0
    /// The last known size of the file; negative if it is unknown.
    @exclusivity(unchecked) private var size = -1

    /// The number of pages that a file may have in addition to its content; a file of three times as many is truncated.
    ///
    /// A write may reserve as many pages as the content has, and the next one would do it again after a truncation.
    private static let spare = 700
    private static let maxFactor = 3
    /// The maximum number of pages for which space is reserved in advance.
    private static let maxAhead = 16_384

    /// Creates the reservation of an environment; nil unless it was opened with MDB_WRITEMAP.
    init?(_ environment: OpaquePointer, _ path: String, isInMemory: Bool) {
        var flags: UInt32 = 0
        var descriptor: mdb_filehandle_t = -1
        var statistics = MDB_stat()
        guard mdb_env_get_flags(environment, &flags) == 0, flags & UInt32(MDB_WRITEMAP) != 0,
            mdb_env_get_fd(environment, &descriptor) == 0,
            mdb_env_stat(environment, &statistics) == 0
        else { return nil }
        self.environment = environment
        self.path = path
        self.descriptor = descriptor
        pageSize = Int(statistics.ms_psize)
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        inMemorySize = isInMemory ? info.me_mapsize : nil
    }

    /// Returns false if the file system writes changed blocks to other addresses, if the system limits the sizes of
    /// files, or if other processes, which may have the file open if it `isShared`, may have maps of another size.
    static func isSupported(_ path: String, mapSize: Int, isShared: Bool) -> Bool {
        // Releases before 0.9.24 do not handle pages that a write both allocates and frees in the map (ITS#9007).
        guard LMDBFormat.isKnownRelease, Platform.largestFile == nil else { return false }
        let descriptor = Platform.openDescriptor(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if isShared {
            // because: a file that cannot be read is not opened in any way.
            let headers = [0, 4096].map { (try? FileHeader.meta(descriptor, at: $0)?.mapSize) ?? 0 }
            let largest = max(headers[0], headers[1], UInt64(Platform.size(of: path)))
            let usual = EnvironmentOptions.usualMapSize
            guard mapSize == usual, largest <= UInt64(usual) else { return false }
        }
        // Some old file systems cannot reserve space.
        return shim_keeps_places(descriptor) != 0
            && Platform.allocate(descriptor, path, keepsSize: true, from: 0, to: 1) == 0
    }

    /// Begins a write; throws `damaged` if the file was truncated.
    func begin(_ extent: FileExtent) throws(StorageError) {
        used = Environment.usedBytes(environment) / pageSize
        switch extent {
        case .unchanged where size >= 0: break
        case .known(let size, let blocks): try use(size: size, blocks: blocks)
        case .unknown, .unchanged:
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw StorageError(rawCode: errno, call: "fstat", file: path)
            }
            try use(size: Int(status.st_size), blocks: Int(status.st_blocks))
        }
        assert(pages == 0 || pages * pageSize <= size, "the reserved pages are in the file")
        if inMemorySize == nil, size / pageSize > Self.maxFactor * (used + Self.spare) {
            cut(to: (used + Self.spare) * pageSize)
        }
    }

    private func use(size found: Int, blocks: Int) throws(StorageError) {
        if let inMemorySize {
            // The pages of writes that were rolled back still take memory.
            if blocks * 512 > 2 * (used + Self.spare) * pageSize {
                cut(to: used * pageSize)
                ftruncate(descriptor, off_t(inMemorySize))
            }
            return
        }
        // Pages that other processes have added, or removed and added again, may have no space on the device. The file
        // then takes fewer blocks than its pages need, apart from the few blocks of the file system's metadata.
        if found != size || blocks * 512 < pages * pageSize {
            pages = 0
            size = found
            // LMDB does not write free pages, so the file may end before its last page if the missing ones are free.
            if size < used * pageSize { try PageVerifier.requireWhole(descriptor, path: path) }
        }
    }

    /// Reserves space for a number of pages that the write takes, and for its end; returns the system's error code, or 0.
    ///
    /// At its end, a write records each free page, with eight bytes, in lists, which are in pages that it may change.
    func reserve(_ taken: Int) -> Int32 {
        let needed = used + taken + (used + taken) >> 6 + 64
        if needed <= pages || inMemorySize != nil { return 0 }
        var code: Int32 = 0
        for count in [needed + min(needed / 16, Self.maxAhead), needed] {
            code = Platform.allocate(
                descriptor, path, from: pages * pageSize, to: count * pageSize)
            if code == 0 {
                (pages, size) = (count, max(size, count * pageSize))
                return 0
            }
            // The call may have allocated a part.
            cut(to: size)
        }
        return code
    }

    private func cut(to wanted: Int) {
        guard Self.cut(descriptor, to: wanted) else { return }
        size = wanted
        pages = min(pages, wanted / pageSize)
    }

    private static func cut(_ descriptor: Int32, to wanted: Int) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && wanted < Int(status.st_size)
            && ftruncate(descriptor, off_t(wanted)) == 0
    }

    /// Truncates the file to the size of its content, but not below `minimum`.
    ///
    /// A process that was killed leaves the file as large as its map. Waits for the write lock, so call it only when the
    /// lock seems to be free.
    static func trim(_ environment: OpaquePointer, minimum: Int = 0) {
        var descriptor: mdb_filehandle_t = -1
        var begun: OpaquePointer?
        guard mdb_env_get_fd(environment, &descriptor) == 0,
            mdb_txn_begin(environment, nil, 0, &begun) == 0
        else { return }
        _ = cut(descriptor, to: max(minimum, Environment.usedBytes(environment)))
        mdb_txn_abort(begun)
    }
}

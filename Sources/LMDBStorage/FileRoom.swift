import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The room on the device for the pages of a file that is written through its map.
///
/// LMDB otherwise copies each page that a write changes, and has the system write it when the write ends: seven calls for
/// a small commit, which take longer than all else in it. With MDB_WRITEMAP it changes pages where they are mapped. What
/// makes that safe:
///
/// * A page of the map without a place on the device gets one when it is first touched; where there is no room, the system
///   answers with SIGBUS, and the process ends. So every step of a write first makes sure of as many pages as it can take,
///   and fails with `diskFull` where they cannot be had.
/// * LMDB makes the file as large as its map when it opens it. It gets the size of its content, and some room, as soon as
///   the write lock is free, and its content's size alone when it is closed.
/// * The system may bring a page to the device before the version that it belongs to is whole. That is so with calls that
///   write as well, and the redo log does not mind (RedoLog): what it counts on is never written over.
///
/// Belongs to whoever has LMDB's write lock.
final class FileRoom: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.
    private let environment: OpaquePointer
    private let path: String
    private let isNamed: Bool
    private let descriptor: Int32
    private let pageSize: Int
    /// How many pages more than it needs a file may have: a write that was given up may have been a large one.
    private static let spare = 4096
    /// The pages from the first one on that have a place.
    @exclusivity(unchecked) private var pages = 0
    /// The file's size when this process last looked; negative before.
    @exclusivity(unchecked) private var size = -1
    /// Whether the open write has found no room: it cannot be committed then.
    @exclusivity(unchecked) private var isExhausted = false

    /// Of an environment that was opened with MDB_WRITEMAP; `isNamed` says that a path is to lead to its file.
    init(_ environment: OpaquePointer, _ path: String, isNamed: Bool) {
        self.environment = environment
        self.path = path
        self.isNamed = isNamed
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        self.descriptor = descriptor
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        pageSize = Int(statistics.ms_psize)
    }

    // MARK: A write

    /// Makes sure of room for a first step of the write that has begun.
    ///
    /// Throws `diskFull`, `replaced` if no name leads to the file any more, and `damaged` if it was cut short.
    func begin(_ transaction: OpaquePointer?) throws(StorageError) {
        isExhausted = false
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        if isNamed, status.st_nlink == 0 {
            throw StorageError(.replaced, call: "fstat", file: path)
        }
        if Int(status.st_size) != size { try adopt(Int(status.st_size), transaction) }
        try check(makeRoom(for: 0, in: transaction), "fallocate", path)
    }

    /// Makes sure of room for a step that stores a value of some bytes, or removes something.
    ///
    /// The system's code. Some loads and a comparison, but for one step in hundreds.
    @inline(__always)
    func makeRoom(for bytes: Int, in transaction: OpaquePointer?) -> Int32 {
        let next = shim_next_page(transaction)
        assert(next <= pages || pages == 0, "a step has taken more pages than was thought possible")
        let needed = next + bytes / pageSize + 2 + Self.mostTaken(of: next)
        return needed > pages || isExhausted ? grow(to: needed) : 0
    }

    /// More pages than any step takes in a file of `count` pages, the end of a write included.
    ///
    /// A step changes the way from a tree's root to a leaf, which may split on every level or take a neighbour along, and
    /// the same in the tree of names. A tree is no deeper than the count has binary digits, for a page that leads to others
    /// leads to two at least. At its end a write notes each page that is free, eight bytes for one, and notes them twice
    /// if noting them frees more.
    private static func mostTaken(of count: Int) -> Int {
        (count >> 7) + 3 * (Int.bitWidth - count.leadingZeroBitCount) + 16
    }

    /// Gives pages a place, and some more so that this is rarely done.
    @inline(never)
    private func grow(to needed: Int) -> Int32 {
        if isExhausted { return ENOSPC }
        var code = allocate(needed + needed / 16)
        if code != 0 { code = allocate(needed) }
        isExhausted = code != 0
        return code
    }

    /// The system's code.
    private func allocate(_ count: Int) -> Int32 {
        let code = Platform.allocate(
            descriptor, path, from: pages * pageSize, to: count * pageSize)
        if code == 0 {
            pages = count
            size = max(size, count * pageSize)
        }
        return code
    }

    /// Takes over a size that others have given the file: another process's write, or an opening.
    private func adopt(_ found: Int, _ transaction: OpaquePointer?) throws(StorageError) {
        assert(shim_version(transaction) == mdb_txn_id(transaction))
        let next = shim_next_page(transaction)
        // Free pages may lie behind the end of a file that others write.
        if found < next * pageSize { try FileHeader.check(descriptor, path: path) }
        // What others have added may have holes.
        pages = 0
        size = found
        let wanted = next + Self.mostTaken(of: next)
        guard found / pageSize > 2 * wanted + Self.spare else { return }
        if ftruncate(descriptor, off_t(wanted * pageSize)) == 0 { size = wanted * pageSize }
    }

    // MARK: Opening and closing

    /// Gives the file, which is as large as its map, the size of its content and some room.
    ///
    /// Waits for the write lock, as `trim` does: to be called where nobody seems to have it.
    func settle() {
        withLock { transaction in
            // because: whoever writes hears of it.
            try? begin(transaction)
        }
    }

    /// Gives the file the size of its content, but no smaller one than `least`.
    func trim(least: Int = 0) {
        withLock { transaction in
            let wanted = off_t(max(least, shim_next_page(transaction) * pageSize))
            var status = stat()
            if fstat(descriptor, &status) == 0, wanted < status.st_size {
                ftruncate(descriptor, wanted)
            }
        }
    }

    private func withLock(_ body: (OpaquePointer?) -> Void) {
        var begun: OpaquePointer?
        guard mdb_txn_begin(environment, nil, 0, &begun) == 0 else { return }
        body(begun)
        mdb_txn_abort(begun)
    }

    /// Whether a file can be written through its map.
    ///
    /// Not where what has a place on the device is written to another one, nor where the system limits the sizes of files.
    static func isSupported(_ path: String) -> Bool {
        guard shim_knows_transactions() != 0, Platform.largestFile == nil else { return false }
        let descriptor = Platform.openDescriptor(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // The oldest of them cannot give room.
        return shim_keeps_places(descriptor) != 0
            && Platform.allocate(descriptor, path, keepsSize: true, from: 0, to: 1) == 0
    }
}

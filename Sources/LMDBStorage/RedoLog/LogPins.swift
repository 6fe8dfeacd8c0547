import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A pin of a version that the log needs: a read transaction through which no data is read.
///
/// The pin is not `Sendable`: only the thread that holds the write lock may use it.
struct LogPin {
    let pointer: OpaquePointer
    let version: UInt64

    /// Pins the newest version.
    static func hold(_ environment: OpaquePointer, _ path: String) throws(StorageError) -> LogPin {
        var begun: OpaquePointer?
        var code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun)
        if code == MDB_READERS_FULL {
            var dead: Int32 = 0
            mdb_reader_check(environment, &dead)
            code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun)
        }
        try check(code, "mdb_txn_begin", path)
        // because: mdb_txn_begin succeeded.
        return LogPin(pointer: begun!, version: UInt64(mdb_txn_id(begun)))
    }

    func release() { mdb_txn_abort(pointer) }
}

/// The versions that each process pins for the log, so that other processes do not count these pins as readers.
///
/// The list is on a page of the log that has no meaning after the machine has stopped. A process has one entry with two
/// versions, because it pins both while it moves from one to the next.
extension LogFile {
    private static let entrySize = 24
    private static let entryCount = 4096 / entrySize

    /// Records the versions that this process pins; the caller holds the write lock.
    func notePins(_ versions: (UInt64, UInt64)) {
        let process = UInt64(getpid())
        var page = pinsPage()
        var chosen: Int?
        for index in 0..<Self.entryCount {
            let owner = page[3 * index]
            if owner == process {
                chosen = index
                break
            }
            if chosen == nil,
                owner == 0 || kill(pid_t(truncatingIfNeeded: owner), 0) != 0 && errno == ESRCH
            {
                chosen = index
            }
        }
        guard let chosen else { return }
        let isGone = versions == (0, 0)
        if isGone && page[3 * chosen] != process { return }
        page[3 * chosen] = isGone ? 0 : process
        page[3 * chosen + 1] = versions.0
        page[3 * chosen + 2] = versions.1
        page[(3 * chosen)..<(3 * chosen + 3)].withUnsafeBytes { bytes in
            _ = pwrite(
                descriptor, bytes.baseAddress, bytes.count,
                off_t(Self.pinsOffset + Self.entrySize * chosen))
        }
    }

    /// Returns the versions that processes pin for the log.
    func notedPins() -> Set<ForeignReader> {
        var pins: Set<ForeignReader> = []
        let page = pinsPage()
        for index in 0..<Self.entryCount where page[3 * index] != 0 {
            for word in 1...2 where page[3 * index + word] != 0 {
                pins.insert(
                    ForeignReader(
                        process: Int32(truncatingIfNeeded: page[3 * index]),
                        version: page[3 * index + word]))
            }
        }
        return pins
    }

    private func pinsPage() -> [UInt64] {
        var page = [UInt64](repeating: 0, count: 512)
        let count = page.withUnsafeMutableBytes {
            pread(descriptor, $0.baseAddress, 4096, off_t(Self.pinsOffset))
        }
        return count == 4096 ? page : [UInt64](repeating: 0, count: 512)
    }
}

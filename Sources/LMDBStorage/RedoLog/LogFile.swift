import CLMDB
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The redo log file next to a data file, with the records of its newest commits.
///
/// The file has two positions for the header, a page that lists readers that only pin the log's version, and a ring of
/// records. All bytes of the ring are written once before they are needed, so flushing a record writes no file system
/// metadata.
final class LogFile: Sendable {
    let path: String
    let descriptor: Int32
    /// The device and the inode of the file, which identify the file independently of its path.
    private let device: UInt64
    private let inode: UInt64
    let flushes = FlushGroup()

    static let pinsOffset = 2 * LogHeader.size
    /// The offset of the ring.
    static let base = pinsOffset + 4096
    /// The maximum end of the ring.
    static let end = base + (16 << 20)
    /// The number of bytes that are prepared at a time.
    private static let step = 512 << 10

    /// Returns the path of the log of a data file, whose path has no symbolic links.
    static func path(of dataPath: String) -> String { dataPath + "-log" }

    /// Opens the log of a data file; if `isMade` is true, creates it if it does not exist.
    ///
    /// Unless the log is only read, it gets the mode of the data file, so that users who can read and write that file can
    /// do the same with the log.
    ///
    /// Throws `notFound`, `permission`, `diskFull`.
    init(of dataPath: String, isMade: Bool, isWritten: Bool = true) throws(StorageError) {
        path = Self.path(of: dataPath)
        let access = isWritten ? O_RDWR : O_RDONLY
        descriptor = Platform.openDescriptor(
            path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (isMade ? O_CREAT : 0), 0o600)
        guard descriptor >= 0 else {
            if errno == ELOOP { throw LockFile.foreign(path, "a symbolic link") }
            throw StorageError(rawCode: errno, call: "open", file: path)
        }
        var status = stat()
        do throws(StorageError) {
            try LockFile.requireOwn(descriptor, path, of: dataPath)
            guard fstat(descriptor, &status) == 0 else {
                throw StorageError(rawCode: errno, call: "fstat", file: path)
            }
            if isWritten { FileAccess(at: dataPath)?.applyToCompanion(descriptor) }
        } catch {
            close(descriptor)
            throw error
        }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Opens the log of a data file for reading and writing; nil if there is none.
    static func ifPresent(of dataPath: String) throws(StorageError) -> LogFile? {
        do throws(StorageError) {
            return try LogFile(of: dataPath, isMade: false)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    deinit { close(descriptor) }

    private func failure(_ call: String) -> StorageError {
        StorageError(rawCode: errno, call: call, file: path)
    }

    /// Whether the path still leads to this file, without a symbolic link.
    var isInPlace: Bool { sizeInPlace != nil }

    /// The size of the file; nil if the path no longer leads to it.
    ///
    /// Takes one system call.
    var sizeInPlace: Int? {
        var found = shim_identity()
        guard shim_look_up(path, 0, &found) == 0, found.device == device, found.inode == inode
        else { return nil }
        return Int(found.size)
    }

    /// Removes the file, if the path still leads to it.
    func remove() { if isInPlace { unlink(path) } }

    // MARK: Header

    /// Returns the valid header; nil if no header is complete, or none has the identity.
    func header(id: UInt64) throws(StorageError) -> LogHeader? {
        var found: LogHeader?
        for slot in 0..<2 {
            guard
                let bytes = try Platform.read(
                    descriptor, LogHeader.size, at: slot * LogHeader.size),
                let header = LogHeader(bytes), header.id == id,
                header.start >= Self.base, header.start <= Self.end
            else { continue }
            if header.sequence > found?.sequence ?? 0 { found = header }
        }
        return found
    }

    /// Whether a header position has an incomplete header: it was being written, or is damaged.
    var hasTornHeader: Bool {
        get throws(StorageError) {
            for slot in 0..<2 {
                guard
                    let bytes = try Platform.read(
                        descriptor, LogHeader.size, at: slot * LogHeader.size),
                    LogHeader(bytes) != nil || bytes.allSatisfy({ $0 == 0 })
                else { return true }
            }
            return false
        }
    }

    /// Writes a header to the position of the older one and waits until it is on the device.
    func write(_ header: LogHeader) throws(StorageError) {
        assert(
            header.start >= Self.base && header.start <= Self.end,
            "a header refers to an offset in the ring")
        guard let bytes = header.bytes else {
            throw StorageError(.system, call: "header", file: path)
        }
        let offset = Int(header.sequence & 1) * LogHeader.size
        try write(bytes, at: offset)
        try flush()
    }

    // MARK: Records

    /// Prepares the ring up to an offset.
    func prepare(upTo offset: Int) throws(StorageError) {
        assert(offset <= Self.end, "only the ring is prepared")
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("fstat") }
        let size = Int(status.st_size)
        guard offset > size else { return }
        let target = min(Self.end, max(offset, size + Self.step))
        // The bytes are written and not only reserved: otherwise the first flush of a block would also write metadata.
        let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { zeros.deallocate() }
        zeros.initializeMemory(as: UInt8.self, repeating: 0)
        var end = size
        while end < target {
            let count = min(zeros.count, target - end)
            do throws(StorageError) {
                try write(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: end)
            } catch {
                ftruncate(descriptor, off_t(size))
                throw error
            }
            end += count
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError) {
        let code = self.code(ofWriting: bytes, at: offset)
        guard code == 0 else { throw StorageError(rawCode: code, call: "pwrite", file: path) }
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
        let code: Int32 = bytes.withUnsafeBytes { self.code(ofWriting: $0, at: offset) }
        guard code == 0 else { throw StorageError(rawCode: code, call: "pwrite", file: path) }
    }

    private func code(ofWriting bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done,
                off_t(offset + done))
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? ENOSPC : errno }
            done += count
        }
        return 0
    }

    /// Waits until a record is on the device, together with the other writers of this process.
    ///
    /// Returns the system's error if a flush has failed, or 0.
    func flush(_ record: FlushGroup.Record, isCommitted: Bool) -> Int32 {
        flushes.wait(for: record, isCommitted: isCommitted) {
            Platform.flush(descriptor) ? 0 : errno
        }
    }

    /// Waits until all written data is on the device.
    func flush() throws(StorageError) {
        guard Platform.flush(descriptor) else { throw failure("fdatasync") }
    }

    /// Returns the header of the record at an offset; nil if there is no record with the salt.
    func record(at offset: Int, salt: UInt64) throws(StorageError) -> LogRecord? {
        guard offset >= Self.base, offset + LogRecord.size <= Self.end,
            let bytes = try Platform.read(descriptor, LogRecord.size, at: offset),
            let record = bytes.withUnsafeBytes({ LogRecord($0) }), record.salt == salt,
            offset + record.extent <= Self.end
        else { return nil }
        return record
    }

    /// Returns the record of a version and its offset: after the record that ends at `offset`, or at the beginning of
    /// the ring.
    func find(
        _ version: UInt64, after offset: Int, salt: UInt64
    ) throws(StorageError) -> (Int, LogRecord)? {
        for start in [offset, Self.base] {
            if let record = try record(at: start, salt: salt), record.version == version {
                return (start, record)
            }
        }
        return nil
    }

    /// Invalidates a record without waiting for the device.
    func void(at offset: Int) throws(StorageError) {
        try write([UInt8](repeating: 0, count: LogRecord.size), at: offset)
    }
}

/// The log's header: the version of the data file that is complete on the device, and the offset of the records after
/// it.
///
/// The header is written to two positions alternately, so one copy is complete after a power failure at any time.
struct LogHeader: Equatable {
    var id: UInt64
    /// The number that all records of the log contain.
    var salt: UInt64
    /// The sequence number of the header; the greatest one is valid.
    var sequence: UInt64
    /// The version that is complete on the device.
    var version: UInt64
    /// The offset of the first record after the version, if there is one.
    var start: Int
    var pageSize: Int
    /// LMDB's two headers at the version.
    var metas: [[UInt8]]
    /// The names of the tables; the first has LMDB's number 2.
    var tables: [String]

    private static let magic: UInt64 = 0x4C4F_474D_4F4F_4E48
    /// The size of a header in bytes.
    static let size = 4096
    private static let bodySize = size - 8

    /// The bytes of the header in the log; nil if the names do not fit.
    var bytes: [UInt8]? {
        var writer = ByteWriter(capacity: Self.size)
        for word in [
            Self.magic, id, salt, sequence, version, UInt64(start), UInt64(pageSize),
            UInt64(tables.count),
        ] {
            writer.word(word)
        }
        for meta in metas { meta.withUnsafeBytes { writer.raw($0) } }
        for table in tables {
            let name = Array(table.utf8)
            guard name.count < 256 else { return nil }
            writer.byte(UInt8(name.count))
            name.withUnsafeBytes { writer.raw($0) }
        }
        guard writer.bytes.count <= Self.bodySize else { return nil }
        while writer.bytes.count < Self.bodySize { writer.byte(0) }
        writer.word(writer.bytes.withUnsafeBytes { Checksum.of($0) })
        return writer.bytes
    }

    init(
        id: UInt64, salt: UInt64, sequence: UInt64, version: UInt64, start: Int, pageSize: Int,
        metas: [[UInt8]], tables: [String]
    ) {
        self.id = id
        self.salt = salt
        self.sequence = sequence
        self.version = version
        self.start = start
        self.pageSize = pageSize
        self.metas = metas
        self.tables = tables
    }

    /// Decodes a header; nil if the bytes are not a complete one.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size,
            let header = try? bytes.withUnsafeBytes({ try LogHeader(decoding: $0) })
        else { return nil }
        self = header
    }

    private init(decoding bytes: UnsafeRawBufferPointer) throws(DamagedEncoding) {
        let what = "a header of the log"
        let body = UnsafeRawBufferPointer(rebasing: bytes[..<Self.bodySize])
        var seal = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[Self.bodySize...]), of: what)
        try seal.expect(Checksum.of(body))
        var reader = ByteReader(body, of: what)
        try reader.expect(Self.magic)
        id = try reader.word()
        salt = try reader.word()
        sequence = try reader.word()
        version = try reader.word()
        start = Int(clamping: try reader.word())
        pageSize = Int(clamping: try reader.word())
        let tableCount = try reader.word()
        metas = []
        for _ in 0..<2 { metas.append(Array(try reader.raw(FileHeader.metaSize))) }
        tables = []
        for _ in 0..<min(tableCount, 1000) {
            let count = Int(try reader.byte())
            tables.append(String(decoding: try reader.raw(count), as: UTF8.self))
        }
        guard FileHeader.isPageSize(pageSize) else { throw reader.damaged }
    }
}

/// The header of a record, which describes one commit to redo.
struct LogRecord {
    /// The kind of a record.
    enum Kind: UInt32 {
        /// The record contains the changes of a version.
        case changes = 1
        /// The changes of a version were written to the data file itself, whose header has the version as soon as they
        /// are complete.
        case direct = 2
    }

    var kind: Kind
    /// The number of bytes after the header.
    var length: Int
    /// The number of versions directly before this one whose records may not have been on the device when this one was
    /// written, because writers share flushes.
    var unflushed: UInt64
    var version: UInt64
    var salt: UInt64
    /// The checksum of the other fields and of the bytes after the header.
    var checksum: UInt64

    private static let magic: UInt32 = 0x4D4C_5231
    static let size = 40
    private static let summedSize = 32

    /// The offset of the next record, relative to this one.
    var extent: Int { Self.extent(length) }

    static func extent(_ length: Int) -> Int { (size + length + 7) & ~7 }

    /// Writes a header before its data, which `bytes` already contain.
    static func seal(
        _ bytes: UnsafeMutableRawBufferPointer, _ kind: Kind, version: UInt64,
        unflushed: UInt64, salt: UInt64
    ) {
        assert(
            bytes.count >= size && bytes.count - size <= ChangeRecorder.limit,
            "a record has its header and a length that is accepted")
        bytes.storeBytes(of: magic, as: UInt32.self)
        bytes.storeBytes(of: kind.rawValue, toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: UInt32(bytes.count - size), toByteOffset: 8, as: UInt32.self)
        bytes.storeBytes(of: UInt32(clamping: unflushed), toByteOffset: 12, as: UInt32.self)
        bytes.storeBytes(of: version, toByteOffset: 16, as: UInt64.self)
        bytes.storeBytes(of: salt, toByteOffset: 24, as: UInt64.self)
        bytes.storeBytes(of: sum(UnsafeRawBufferPointer(bytes)), toByteOffset: 32, as: UInt64.self)
    }

    /// Decodes a record's header; nil if the bytes are not valid.
    init?(_ bytes: UnsafeRawBufferPointer) {
        do throws(DamagedEncoding) { try self.init(decoding: bytes) } catch { return nil }
    }

    private init(decoding bytes: UnsafeRawBufferPointer) throws(DamagedEncoding) {
        var reader = ByteReader(bytes, of: "a record of the log")
        try reader.expect(UInt64(Self.magic), bytes: 4)
        guard let kind = Kind(rawValue: UInt32(try reader.word(bytes: 4))) else {
            throw reader.damaged
        }
        self.kind = kind
        length = Int(try reader.word(bytes: 4))
        unflushed = try reader.word(bytes: 4)
        guard length <= ChangeRecorder.limit else { throw reader.damaged }
        version = try reader.word()
        salt = try reader.word()
        checksum = try reader.word()
    }

    /// Returns the checksum of a whole record.
    static func sum(_ record: UnsafeRawBufferPointer) -> UInt64 {
        let head = Checksum.of(UnsafeRawBufferPointer(rebasing: record[..<summedSize]))
        return Checksum.of(UnsafeRawBufferPointer(rebasing: record[size...]), after: head)
    }
}

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
        return LogPin(pointer: begun!, version: FileVersion.of(begun))
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
    func recordPins(_ versions: (UInt64, UInt64)) {
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
    func recordedPins() -> Set<ForeignReader> {
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

/// A 64-bit checksum of bytes, which distinguishes complete records from torn and old ones.
///
/// The checksum does not protect against deliberate forgery.
enum Checksum {
    private static let factors: (UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93)

    /// Returns the checksum of `bytes`, continued from the checksum of preceding bytes.
    ///
    /// Processes about two bytes per cycle.
    static func of(_ bytes: UnsafeRawBufferPointer, after seed: UInt64 = 0) -> UInt64 {
        var first = seed ^ factors.1
        var second = UInt64(bytes.count) &* factors.0
        var offset = 0
        while offset + 16 <= bytes.count {
            first = fold(
                first ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), factors.0)
            second = fold(
                second ^ bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self),
                factors.1)
            offset += 16
        }
        while offset < bytes.count {
            var word: UInt64 = 0
            let rest = min(8, bytes.count - offset)
            withUnsafeMutableBytes(of: &word) {
                $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + rest]))
            }
            first = fold(first ^ word, factors.0)
            offset += rest
        }
        return fold(first ^ second, factors.1) ^ second
    }

    /// Returns the exclusive or of both halves of the product.
    @inline(__always)
    private static func fold(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let product = (value ^ factor).multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }
}

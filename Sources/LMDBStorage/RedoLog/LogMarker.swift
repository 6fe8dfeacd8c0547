import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The data file's record of its log, on its first page after LMDB's header, where LMDB never writes.
///
/// A file with a marker is complete only together with the log of that identity, unless the same file was written since
/// the machine started: in that case the system has all of its data. A copy made by LMDB has no marker, and a file that
/// replaces another one has a different marker, so a log is never applied to the wrong file.
struct LogMarker: Equatable {
    /// The identity of the log; 0 if the file is complete without one.
    var id: UInt64 = 0
    /// The salt of the records that are being written; valid only until the machine restarts.
    var salt: UInt64 = 0
    /// The identity of the machine's boot.
    var boot = BootIdentity()
    /// The device and inode of the file.
    var device: UInt64 = 0
    var inode: UInt64 = 0

    private static let magic: UInt64 = 0x4C4F_474D_4F4F_4E31
    static let size = 56
    /// The offset of the marker, in the same sector as LMDB's header, which ends before it.
    static let offset = 256

    /// Reads the marker of an open data file; the marker is empty if there is none.
    static func read(_ descriptor: Int32) throws(StorageError) -> LogMarker {
        let bytes = try Platform.read(descriptor, size, at: offset)
        return bytes?.withUnsafeBytes { LogMarker($0) } ?? LogMarker()
    }

    /// Writes the marker into an open data file, without waiting for the device.
    func write(_ descriptor: Int32) -> Bool {
        var writer = ByteWriter(capacity: Self.size)
        for word in [id == 0 ? 0 : Self.magic, id, salt, boot.high, boot.low, device, inode] {
            writer.word(word)
        }
        return pwrite(descriptor, writer.bytes, Self.size, off_t(Self.offset)) == Self.size
    }

    /// Makes an open data file complete without its log.
    static func end(_ descriptor: Int32, _ path: String) throws(StorageError) {
        guard Platform.flush(descriptor) else {
            throw StorageError(rawCode: errno, call: "fdatasync", file: path)
        }
        guard LogMarker().write(descriptor) else {
            throw StorageError(rawCode: errno, call: "pwrite", file: path)
        }
        guard Platform.flush(descriptor) else {
            throw StorageError(rawCode: errno, call: "fdatasync", file: path)
        }
    }

    /// Makes an environment's data file complete if a process with another release of LMDB has begun a log.
    static func endIfPresent(_ environment: OpaquePointer, _ path: String) throws(StorageError) {
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        if try read(descriptor).id != 0 { try end(descriptor, path) }
    }

    /// Returns whether the open data file is the one that was written since the machine started.
    func isOfThisRun(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard boot.isKnown, boot == BootIdentity.present, fstat(descriptor, &status) == 0 else {
            return false
        }
        return device == UInt64(status.st_dev) && inode == UInt64(status.st_ino)
    }
}

extension LogMarker {
    /// Decodes a marker; the marker is empty if the bytes are not valid.
    init(_ bytes: UnsafeRawBufferPointer) {
        do throws(DamagedEncoding) { try self.init(decoding: bytes) } catch { self.init() }
    }

    private init(decoding bytes: UnsafeRawBufferPointer) throws(DamagedEncoding) {
        var reader = ByteReader(bytes, of: "a marker of the log")
        try reader.expect(Self.magic)
        id = try reader.word()
        salt = try reader.word()
        boot = BootIdentity(high: try reader.word(), low: try reader.word())
        device = try reader.word()
        inode = try reader.word()
    }
}

/// The identity of the machine's boot: a random number that the kernel generates.
struct BootIdentity: Equatable {
    var high: UInt64 = 0
    var low: UInt64 = 0

    /// Whether the kernel returned the number.
    var isKnown: Bool { high != 0 || low != 0 }

    /// The identity of the current boot.
    static let present = read("/proc/sys/kernel/random/boot_id")

    private static func read(_ path: String) -> BootIdentity {
        let descriptor = Platform.openDescriptor(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return BootIdentity() }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &text, text.count, 0)
        let digits = text.prefix(max(0, count)).compactMap {
            Character(UnicodeScalar($0)).hexDigitValue
        }
        guard digits.count == 32 else { return BootIdentity() }
        func number(_ digits: ArraySlice<Int>) -> UInt64 {
            digits.reduce(0) { $0 << 4 | UInt64($1) }
        }
        return BootIdentity(high: number(digits[..<16]), low: number(digits[16...]))
    }
}

/// The page of an open data file that contains the log's marker.
///
/// Every write reads the marker when it begins. The page is mapped for that, because a system call would take a
/// twentieth of the time of a small commit.
final class MarkerPage: @unchecked Sendable {
    // Unchecked because: the mapping is constant, and only read.
    private let page: UnsafeRawPointer?
    private let descriptor: Int32
    private static let size = 4096

    /// Maps the page; the descriptor is that of LMDB's data file, which is never shorter than its headers.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        let mapped = mmap(nil, Self.size, PROT_READ, MAP_SHARED, descriptor, 0)
        page = mapped == MAP_FAILED ? nil : mapped.map { UnsafeRawPointer($0) }
    }

    deinit { if let page { munmap(UnsafeMutableRawPointer(mutating: page), Self.size) } }

    /// The current marker on the page.
    var marker: LogMarker {
        get throws(StorageError) {
            guard let page else { return try LogMarker.read(descriptor) }
            return LogMarker(
                UnsafeRawBufferPointer(start: page + LogMarker.offset, count: LogMarker.size))
        }
    }
}

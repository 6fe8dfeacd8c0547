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

    /// Sets the access rights, so that all users that may read and write the data file may do the same with the log.
    func adoptOwner(of data: Int32) {
        FileAccess(of: data)?.apply(to: descriptor, mask: 0o666)
    }

    private func failure(_ call: String) -> StorageError {
        StorageError(rawCode: errno, call: call, file: path)
    }

    /// Whether the path still leads to this file, without a symbolic link.
    var isInPlace: Bool { sizeInPlace != nil }

    /// The size of the file; nil if the path no longer leads to it.
    ///
    /// Takes one system call.
    var sizeInPlace: Int? {
        var status = stat()
        guard lstat(path, &status) == 0, UInt64(status.st_dev) == device,
            UInt64(status.st_ino) == inode
        else { return nil }
        return Int(status.st_size)
    }

    /// Removes the file, if the path still leads to it.
    func remove() { if isInPlace { unlink(path) } }

    // MARK: Header

    /// Returns the valid header; nil if no header is complete, or none has the identity.
    func header(id: UInt64) -> LogHeader? {
        var found: LogHeader?
        for slot in 0..<2 {
            var bytes = [UInt8](repeating: 0, count: LogHeader.size)
            guard
                pread(descriptor, &bytes, bytes.count, off_t(slot * LogHeader.size)) == bytes.count,
                let header = LogHeader(bytes), header.id == id,
                header.start >= Self.base, header.start <= Self.end
            else { continue }
            if header.sequence > found?.sequence ?? 0 { found = header }
        }
        return found
    }

    /// Whether a header position has an incomplete header: it was being written, or is damaged.
    var hasTornHeader: Bool {
        (0..<2).contains { slot in
            var bytes = [UInt8](repeating: 0, count: LogHeader.size)
            let count = pread(descriptor, &bytes, bytes.count, off_t(slot * LogHeader.size))
            return count != bytes.count
                || LogHeader(bytes) == nil && bytes.contains { $0 != 0 }
        }
    }

    /// Writes a header to the position of the older one and waits until it is on the device.
    func write(_ header: LogHeader) throws(StorageError) {
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

    /// Waits until all written data is on the device.
    func flush() throws(StorageError) {
        guard Platform.flush(descriptor) else { throw failure("fdatasync") }
    }

    /// Returns the header of the record at an offset; nil if there is no record with the salt.
    func record(at offset: Int, salt: UInt64) -> LogRecord? {
        withUnsafeTemporaryAllocation(byteCount: LogRecord.size, alignment: 8) { bytes in
            guard offset >= Self.base, offset + LogRecord.size <= Self.end,
                pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) == bytes.count,
                let record = LogRecord(UnsafeRawBufferPointer(bytes)), record.salt == salt,
                offset + record.extent <= Self.end
            else { return nil }
            return record
        }
    }

    /// Returns the record of a version and its offset: after the record that ends at `offset`, or at the beginning of
    /// the ring.
    func find(_ version: UInt64, after offset: Int, salt: UInt64) -> (Int, LogRecord)? {
        for start in [offset, Self.base] {
            if let record = record(at: start, salt: salt), record.version == version {
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

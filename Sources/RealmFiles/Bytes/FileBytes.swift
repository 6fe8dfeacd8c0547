#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The bytes of a Realm file, which is mapped read-only; an encrypted file is decrypted page by page as it is read.
///
/// Never writes to a file and creates none. Confined to one thread.
final class FileBytes {
    /// The size of the decrypted file, in bytes.
    let count: Int
    /// The size of the file, in bytes.
    let fileSize: Int
    /// A number that changes when decrypted pages are released, which invalidates earlier views.
    private(set) var generation = 0

    /// The approximate maximum number of decrypted bytes in memory.
    var decryptedLimit = 64 << 20

    private let descriptor: Int32
    private let map: UnsafeMutableRawPointer?
    private let pages: EncryptedPages?

    /// Maps a file.
    ///
    /// Throws if the file cannot be read, or if the key is wrong.
    init(_ path: String, key: RealmKey?) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw RealmFileError(.unreadable, "cannot open '\(path)': \(Self.reason(errno))")
        }
        do {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw RealmFileError(.unreadable, "'\(path)' is not a regular file")
            }
            let size = Int(status.st_size)
            var map: UnsafeMutableRawPointer?
            if size > 0 {
                map = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
                guard map != MAP_FAILED else {
                    throw RealmFileError(
                        .unreadable, "cannot map '\(path)': \(Self.reason(errno))")
                }
            }
            self.descriptor = descriptor
            self.map = map
            fileSize = size
            if let key, let map, !Self.isPlain(UnsafeRawPointer(map), size) {
                do {
                    pages = try EncryptedPages(UnsafeRawPointer(map), size, key)
                } catch {
                    munmap(map, size)
                    throw error
                }
            } else {
                pages = nil
            }
            count = pages?.count ?? size
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        if let map { munmap(map, fileSize) }
        close(descriptor)
    }

    /// Whether the file is encrypted.
    var isEncrypted: Bool { pages != nil }

    /// Returns a range of bytes.
    ///
    /// Throws if the range is outside of the file, or if an encrypted page cannot be decrypted.
    func view(_ offset: Int, _ length: Int) throws -> ByteView {
        guard offset >= 0, length >= 0, length <= count, offset <= count - length else {
            throw RealmFileError.damaged(
                "\(length) bytes at \(RealmFileError.hex(offset)) are beyond the end of the file")
        }
        if let pages { return try pages.view(offset, length) }
        guard let map else { throw RealmFileError.damaged("the file is empty") }
        return ByteView(UnsafeRawPointer(map) + offset, count: length)
    }

    /// Releases all decrypted pages if they exceed ``decryptedLimit``.
    ///
    /// This invalidates earlier views.
    func trim() {
        guard let pages, pages.residentBytes > decryptedLimit else { return }
        pages.releaseAll()
        generation += 1
    }

    /// Returns the current first bytes of the file, which another program may have changed.
    func currentHeader() -> [UInt8] {
        var header = [UInt8](repeating: 0, count: 24)
        if isEncrypted {
            // Every write to the first page also changes its entry.
            var entry = [UInt8](repeating: 0, count: 64)
            let read = pread(descriptor, &entry, entry.count, 0)
            return read == entry.count ? entry : []
        }
        let read = pread(descriptor, &header, header.count, 0)
        return read == header.count ? header : []
    }

    private static func isPlain(_ base: UnsafeRawPointer, _ size: Int) -> Bool {
        guard size >= 24 else { return false }
        return ByteView(base, count: size).load(16, as: UInt32.self) == FileHeader.mark
    }

    private static func reason(_ code: Int32) -> String {
        String(cString: strerror(code))
    }
}

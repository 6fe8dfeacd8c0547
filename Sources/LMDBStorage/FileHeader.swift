#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// LMDB's two meta pages, read before the file is mapped.
///
/// A page beyond the end of a mapped file is a bus error, not an error code, so a truncated file
/// must be found before LMDB sees it.
enum FileHeader {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let formatVersion: UInt32 = 1
    static let pageHeaderSize = 16
    static let metaSize = 136

    /// Throws unless the file is empty or a whole LMDB file of a known version.
    static func check(_ descriptor: Int32, path: String) throws(StorageError) {
        // Others may write meanwhile: what is missing for one version may be there for the next.
        var attempts = 20
        while try !isWhole(descriptor, path, isLast: attempts == 0) { attempts -= 1 }
    }

    /// Whether the newest version's pages are all there; false if it should be looked again.
    private static func isWhole(
        _ descriptor: Int32, _ path: String, isLast: Bool
    ) throws(StorageError) -> Bool {
        if lseek(descriptor, 0, SEEK_END) == 0 { return true }
        guard let first = meta(descriptor, at: 0), first.magic == magic else {
            let call = isRealm(descriptor, path) ? StorageError.realm : "file header"
            throw StorageError(.notAStore, call: call, file: path)
        }
        guard first.format == formatVersion else {
            throw StorageError(.newerFormat, call: "file header", file: path)
        }
        let page = first.pageSize
        guard page >= 512, page <= 65536, page & (page - 1) == 0,
            let second = meta(descriptor, at: page), second.magic == magic
        else { throw StorageError(.damaged, call: "file header", file: path) }
        let newest = second.version > first.version ? second : first
        // After the headers: no file becomes shorter than the content that they name.
        let size = Int(lseek(descriptor, 0, SEEK_END))
        if newest.lastPage >= UInt64(size / page) {
            // Pages that a transaction took and gave back may lie beyond the end, unwritten.
            let reachable = PageWalk(descriptor, pageSize: page, pageCount: UInt64(size / page))
            guard reachable.isWhole(roots: newest.roots) else {
                let versions = [0, page].map { meta(descriptor, at: $0)?.version }
                if !isLast, versions != [first.version, second.version] { return false }
                throw StorageError(.damaged, call: "shorter than its header says", file: path)
            }
        }
        return true
    }

    /// Whether this is a file of Realm: by its mark, or by its name if it is encrypted.
    private static func isRealm(_ descriptor: Int32, _ path: String) -> Bool {
        var mark: UInt32 = 0
        let isRead = pread(descriptor, &mark, 4, 16) == 4
        return isRead && UInt32(littleEndian: mark) == 0x4244_2D54 || path.hasSuffix(".realm")
    }

    /// The largest size that somebody who has written the file lets it reach; 0 for an empty one.
    static func mapSize(_ descriptor: Int32) -> Int {
        guard let first = meta(descriptor, at: 0) else { return 0 }
        let second = meta(descriptor, at: first.pageSize)
        return Int(clamping: max(first.mapSize, second?.mapSize ?? 0))
    }

    struct Meta {
        var magic: UInt32
        var format: UInt32
        var mapSize: UInt64
        var pageSize: Int
        var roots: [UInt64]
        var lastPage: UInt64
        var version: UInt64
    }

    /// Gives the content that one of the headers describes a version.
    ///
    /// The header that the version's parity names describes it, the other one the version before, with the same content.
    /// False if the file cannot be written.
    static func number(_ descriptor: Int32, pageSize: Int, from index: Int, as version: UInt64)
        -> Bool
    {
        var content = [UInt8](repeating: 0, count: metaSize)
        let place = off_t(index * pageSize + pageHeaderSize)
        guard pread(descriptor, &content, metaSize, place) == metaSize else { return false }
        for parity in 0...1 {
            let number = version & 1 == UInt64(parity) ? version : version - 1
            content.withUnsafeMutableBytes { bytes in
                bytes.storeBytes(of: number, toByteOffset: metaSize - 8, as: UInt64.self)
            }
            let offset = off_t(parity * pageSize + pageHeaderSize)
            guard pwrite(descriptor, content, metaSize, offset) == metaSize else { return false }
        }
        return true
    }

    static func meta(_ descriptor: Int32, at offset: Int) -> Meta? {
        var bytes = [UInt8](repeating: 0, count: pageHeaderSize + metaSize)
        let wanted = bytes.count
        guard pread(descriptor, &bytes, wanted, off_t(offset)) == wanted else { return nil }
        return bytes.withUnsafeBytes { raw in
            func load<T: BitwiseCopyable>(_ offset: Int, _: T.Type) -> T {
                raw.loadUnaligned(fromByteOffset: pageHeaderSize + offset, as: T.self)
            }
            return Meta(
                magic: load(0, UInt32.self), format: load(4, UInt32.self),
                mapSize: load(16, UInt64.self),
                pageSize: Int(load(24, UInt32.self)),
                roots: [load(24 + 40, UInt64.self), load(72 + 40, UInt64.self)],
                lastPage: load(120, UInt64.self), version: load(128, UInt64.self))
        }
    }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The log's header: the version of the data file that is complete on the device, and the offset of the records after
/// it.
///
/// It is written to two positions in turn, so one copy is complete after a power failure at any time.
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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.size)
        for word in [
            Self.magic, id, salt, sequence, version, UInt64(start), UInt64(pageSize),
            UInt64(tables.count),
        ] {
            withUnsafeBytes(of: word) { bytes.append(contentsOf: $0) }
        }
        for meta in metas { bytes += meta }
        for table in tables {
            let name = Array(table.utf8)
            guard name.count < 256 else { return nil }
            bytes.append(UInt8(name.count))
            bytes += name
        }
        guard bytes.count <= Self.bodySize else { return nil }
        bytes += [UInt8](repeating: 0, count: Self.bodySize - bytes.count)
        let sum = bytes.withUnsafeBytes { Checksum.of($0) }
        withUnsafeBytes(of: sum) { bytes.append(contentsOf: $0) }
        return bytes
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
        guard bytes.count == Self.size else { return nil }
        func word(_ index: Int) -> UInt64 {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
        }
        let sum = bytes.withUnsafeBytes {
            Checksum.of(UnsafeRawBufferPointer(rebasing: $0[..<Self.bodySize]))
        }
        guard word(0) == Self.magic, word(Self.bodySize / 8) == sum else { return nil }
        id = word(1)
        salt = word(2)
        sequence = word(3)
        version = word(4)
        start = Int(clamping: word(5))
        pageSize = Int(clamping: word(6))
        var offset = 64
        var metas: [[UInt8]] = []
        for _ in 0..<2 {
            metas.append(Array(bytes[offset..<offset + FileHeader.metaSize]))
            offset += FileHeader.metaSize
        }
        self.metas = metas
        var tables: [String] = []
        for _ in 0..<min(word(7), 1000) {
            guard offset < Self.bodySize else { return nil }
            let end = offset + 1 + Int(bytes[offset])
            guard end <= Self.bodySize else { return nil }
            tables.append(String(decoding: bytes[offset + 1..<end], as: UTF8.self))
            offset = end
        }
        self.tables = tables
        guard pageSize >= 512, pageSize <= 65536, pageSize & (pageSize - 1) == 0 else { return nil }
    }
}

extension FileHeader {
    /// Reads the current two headers of LMDB in an open data file, without their page headers.
    static func metas(_ descriptor: Int32, pageSize: Int) -> [[UInt8]]? {
        var metas: [[UInt8]] = []
        for index in 0..<2 {
            var bytes = [UInt8](repeating: 0, count: metaSize)
            let offset = off_t(index * pageSize + pageHeaderSize)
            guard pread(descriptor, &bytes, metaSize, offset) == metaSize else { return nil }
            metas.append(bytes)
        }
        return metas
    }

    /// Writes LMDB's headers back to an open data file.
    static func restore(_ metas: [[UInt8]], _ descriptor: Int32, pageSize: Int) -> Bool {
        for (index, bytes) in metas.enumerated() {
            let offset = off_t(index * pageSize + pageHeaderSize)
            guard bytes.count == metaSize, pwrite(descriptor, bytes, metaSize, offset) == metaSize
            else { return false }
        }
        return true
    }
}

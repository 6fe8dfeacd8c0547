#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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

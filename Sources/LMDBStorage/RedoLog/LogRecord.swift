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
        _ bytes: UnsafeMutableRawBufferPointer, _ kind: Kind, version: UInt64, salt: UInt64
    ) {
        bytes.storeBytes(of: magic, as: UInt32.self)
        bytes.storeBytes(of: kind.rawValue, toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: UInt64(bytes.count - size), toByteOffset: 8, as: UInt64.self)
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
        guard let kind = Kind(rawValue: UInt32(try reader.word(bytes: 4))),
            let length = Int(exactly: try reader.word()), length <= ChangeRecorder.limit
        else { throw reader.damaged }
        self.kind = kind
        self.length = length
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

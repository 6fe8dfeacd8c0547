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
        guard bytes.count >= Self.size, bytes.loadUnaligned(as: UInt32.self) == Self.magic,
            let kind = Kind(rawValue: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)),
            let length = Int(exactly: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            length <= ChangeRecorder.limit
        else { return nil }
        self.kind = kind
        self.length = length
        version = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        salt = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
        checksum = bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    }

    /// Returns the checksum of a whole record.
    static func sum(_ record: UnsafeRawBufferPointer) -> UInt64 {
        let head = Checksum.of(UnsafeRawBufferPointer(rebasing: record[..<summedSize]))
        return Checksum.of(UnsafeRawBufferPointer(rebasing: record[size...]), after: head)
    }
}

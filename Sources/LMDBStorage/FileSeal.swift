#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A checksum of all pages that a version uses, written when a file is closed or copied.
///
/// The seal is on the first page, after LMDB's header, where LMDB never writes. The checksums of the values detect
/// damaged values when they are read. The seal also covers LMDB's data around the values: page headers, branch keys,
/// lists of free pages, and unused bytes. The seal is not valid after another version was committed.
struct FileSeal: Equatable {
    /// The version of the checksum.
    var version: UInt64
    /// The checksum of the pages after the headers.
    var pages: UInt64
    /// The checksum of the two pages with LMDB's headers.
    var headers: UInt64
    /// The identity of the machine's boot; 0 if the file was flushed.
    var boot: UInt64

    init(version: UInt64, pages: UInt64, headers: UInt64, boot: UInt64) {
        self.version = version
        self.pages = pages
        self.headers = headers
        self.boot = boot
    }

    private static let magic: UInt64 = 0x4C4F_4F50_5345_414C
    static let offset = 384
    static let size = 48

    private static let summedSize = size - 8

    /// Writes the seal into an open file.
    ///
    /// Returns false if the system call fails.
    func write(_ descriptor: Int32) -> Bool {
        var writer = ByteWriter(capacity: Self.size)
        for word in [Self.magic, version, pages, headers, boot] { writer.word(word) }
        writer.word(writer.bytes.withUnsafeBytes { ValueSeal.hash($0) })
        return pwrite(descriptor, writer.bytes, Self.size, off_t(Self.offset)) == Self.size
    }

    /// The seal on a file's first page, if there is one.
    enum Found: Equatable {
        case none
        case seal(FileSeal)
        /// Bytes that are not a valid seal.
        case damaged
    }

    /// Reads the seal of an open file.
    static func read(_ descriptor: Int32) -> Found {
        var bytes = [UInt8](repeating: 0, count: size)
        guard pread(descriptor, &bytes, size, off_t(offset)) == size else { return .none }
        if bytes.allSatisfy({ $0 == 0 }) { return .none }
        let seal = try? bytes.withUnsafeBytes { try FileSeal(decoding: $0) }
        return seal.map(Found.seal) ?? .damaged
    }

    private init(decoding bytes: UnsafeRawBufferPointer) throws(DamagedEncoding) {
        var reader = ByteReader(bytes, of: "a seal")
        try reader.expect(Self.magic)
        version = try reader.word()
        pages = try reader.word()
        headers = try reader.word()
        boot = try reader.word()
        let summed = UnsafeRawBufferPointer(rebasing: bytes[..<Self.summedSize])
        try reader.expect(ValueSeal.hash(summed))
    }

    /// Returns the checksum of the pages with LMDB's headers, without the log's marker and the seal.
    static func headers(_ descriptor: Int32, pageSize: Int) -> UInt64? {
        var bytes = [UInt8](repeating: 0, count: 2 * pageSize)
        guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count else { return nil }
        for hole in [LogMarker.offset..<LogMarker.offset + LogMarker.size, offset..<offset + size] {
            for index in hole { bytes[index] = 0 }
        }
        return bytes.withUnsafeBytes { ValueSeal.hash($0) }
    }

    /// Computes the seal of an open file that no process writes in the meantime.
    ///
    /// Returns nil if the pages of the file are damaged or, with `verifiesValues`, a value does not match its checksum.
    static func compute(
        _ descriptor: Int32, isFlushed: Bool, verifiesValues: Bool = false
    ) -> FileSeal? {
        guard let (meta, index) = FileHeader.newest(descriptor),
            let headers = headers(descriptor, pageSize: meta.pageSize),
            var tree = PageTree(
                descriptor, meta, isSummed: true, verifiesValues: verifiesValues),
            tree.isSound(header: index)
        else { return nil }
        return FileSeal(
            version: meta.version, pages: tree.sum, headers: headers,
            boot: isFlushed ? 0 : BootIdentity.present.low | 1)
    }

    /// The size of files that are sealed whenever they are closed, which takes about ten milliseconds.
    static let smallSize = 64 << 20
    /// The factor by which a larger file may exceed the written pages.
    private static let greatestFactor = 16

    /// Returns whether a process that closes a file has written so much to it that sealing it takes little additional
    /// time.
    ///
    /// Sealing a gigabyte in memory takes under half a second, which is a quarter of the time of writing a sixteenth of it.
    static func isWorthwhile(_ descriptor: Int32, size: Int, written: Int) -> Bool {
        size <= smallSize
            || written >= size / greatestFactor
                && Platform.absentBytes(descriptor, size, atMost: written) <= written
    }
}

extension FileHeader {
    /// Returns the header of the newest version, and its index.
    static func newest(_ descriptor: Int32) -> (Meta, Int)? {
        guard let first = meta(descriptor, at: 0), first.hasPageSize,
            let second = meta(descriptor, at: first.pageSize), second.pageSize == first.pageSize
        else { return nil }
        return second.version > first.version ? (second, 1) : (first, 0)
    }
}

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
            var walk = PageWalk(
                descriptor, meta,
                PageWalk.Options(verifiesValues: verifiesValues, isSummed: true))
        else { return nil }
        walk.run(header: index)
        guard walk.isSound else { return nil }
        return FileSeal(
            version: meta.version, pages: walk.sum, headers: headers,
            boot: isFlushed ? 0 : BootIdentity.present.low | 1)
    }

    /// Returns the checksum of a page, or of all pages of a long value, which begins with page `number`.
    static func sum(_ bytes: UnsafeRawBufferPointer, _ number: UInt64) -> UInt64 {
        let mixed = (ValueSeal.hash(bytes) ^ number) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed &>> 29
    }

    /// Returns the errors that the seal of an open file shows; `pages` is the checksum of the pages of a version.
    ///
    /// Also verifies that the first page has a valid marker of the log, or zeros.
    static func faults(_ descriptor: Int32, version: UInt64, pages: UInt64) -> [String] {
        var faults: [String] = []
        var marker = [UInt8](repeating: 0, count: LogMarker.size)
        if pread(descriptor, &marker, marker.count, off_t(LogMarker.offset)) == marker.count,
            marker.contains(where: { $0 != 0 }), LogMarker.read(descriptor).id == 0
        {
            faults.append("the marker of the log is damaged")
        }
        switch read(descriptor) {
        case .none: break
        case .damaged: faults.append("the checksum of the file is damaged")
        case .seal(let seal) where seal.version > version:
            // A file that was not flushed may have lost versions when the machine stopped.
            if seal.boot == 0 || seal.boot == BootIdentity.present.low | 1 {
                faults.append("the header of version \(seal.version) is damaged")
            }
        case .seal(let seal) where seal.version == version:
            if pages != seal.pages {
                faults.append("the unused part of a page has changed since it was written")
            }
            let pageSize = FileHeader.meta(descriptor, at: 0)?.pageSize ?? 0
            if headers(descriptor, pageSize: pageSize) != seal.headers {
                faults.append("a header has changed since it was written")
            }
        case .seal: break
        }
        return faults
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

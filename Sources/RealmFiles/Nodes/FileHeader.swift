/// The first 24 bytes of a Realm file, with the addresses of its two newest versions.
struct FileHeader: Hashable {
    /// The signature `T-DB`, little-endian.
    static let mark: UInt32 = 0x4244_2D54
    private static let streamingMark = UInt64.max
    private static let footerCookie: UInt64 = 0x3034_1252_37E5_26C8

    /// A version of the content.
    struct Version: Hashable {
        /// The address of the top node; 0 for a database without content.
        let top: Int
        /// The file format.
        let format: Int
    }

    /// The current version.
    let live: Version
    /// The version of the previous commit; nil if there is none.
    let previous: Version?
    /// Whether the file was written as a copy, with its top address in the last bytes.
    let isStreaming: Bool

    /// Parses the header.
    ///
    /// `isRescuing` accepts a copy whose last bytes are missing; its top address is then 0.
    init(_ bytes: FileBytes, isRescuing: Bool) throws {
        guard bytes.count >= 24 else {
            throw RealmFileError(
                .notRealm,
                bytes.count == 0
                    ? "the file is empty" : "not a Realm file: it has only \(bytes.count) bytes")
        }
        let header = try bytes.view(0, 24)
        guard header.load(16, as: UInt32.self) == Self.mark else {
            throw RealmFileError(
                .notRealm,
                bytes.isEncrypted
                    ? "not a Realm file: its decrypted content has another format"
                    : "not a Realm file, or an encrypted one; add the key if it is encrypted "
                        + "(--key KEY, in Lua key = KEY)")
        }
        let live = Int(header[23] & 1)
        func version(_ index: Int) -> Version? {
            let top = header.load(8 * index, as: UInt64.self)
            guard let top = Int(exactly: top) else { return nil }
            return Version(top: top, format: Int(header[20 + index]))
        }
        let other = version(1 - live)
        previous = other.flatMap { $0.top == 0 ? nil : $0 }
        guard live == 0, header.load(0, as: UInt64.self) == Self.streamingMark else {
            isStreaming = false
            guard let found = version(live) else {
                throw RealmFileError.damaged("the address of the top node is beyond the file")
            }
            self.live = found
            return
        }
        isStreaming = true
        let top = try Self.footer(bytes)
        guard top != nil || isRescuing else {
            throw RealmFileError.damaged(
                "its last bytes are missing; the copy was cut off. Copy the file again, or read what "
                    + "is left with --rescue")
        }
        self.live = Version(top: top ?? 0, format: Int(header[20]))
    }

    /// Returns the top address in the last bytes of a copy; nil if they are missing.
    private static func footer(_ bytes: FileBytes) throws -> Int? {
        // An encrypted or padded copy ends with zeros.
        let end = bytes.count & ~7
        let first = max(24, end - (bytes.isEncrypted ? 2 * 4096 : 16))
        var offset = end - 16
        while offset >= first {
            let footer = try bytes.view(offset, 16)
            if footer.load(8, as: UInt64.self) == footerCookie {
                return Int(exactly: footer.load(0, as: UInt64.self))
            }
            offset -= 8
        }
        return nil
    }
}

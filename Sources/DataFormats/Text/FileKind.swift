import SystemCalls

/// The binary files that are recognized by their first bytes, whatever their names are.
package enum FileKind: Hashable, Sendable {
    case sqlite, realm, store, encryptedCopy, xz, bzip2, zip

    /// The number of bytes that determine the kind.
    private static let length = 20

    /// Recognizes the first bytes of a file; nil for all others.
    init?(_ bytes: some Collection<UInt8>) {
        let start = Array(bytes.prefix(Self.length))
        let field = Array(start.dropFirst(16))
        // LMDB's magic number, which follows the 16-byte header of the first page in the machine's byte order.
        let magic: [UInt8] = [0xDE, 0xC0, 0xEF, 0xBE]
        if start.starts(with: "SQLite format 3\0".utf8) {
            self = .sqlite
        } else if field.elementsEqual("T-DB".utf8) {
            self = .realm
        } else if field == magic || field == magic.reversed() {
            self = .store
        } else if start.starts(with: ChunkCipher.mark) {
            self = .encryptedCopy
        } else if start.starts(with: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]) {
            self = .xz
        } else if start.starts(with: "BZh".utf8), start.dropFirst(4).starts(with: "1AY&SY".utf8) {
            self = .bzip2
        } else if start.starts(with: "PK\u{3}\u{4}".utf8) {
            self = .zip
        } else {
            return nil
        }
    }

    /// Recognizes a file; nil also for a pipe, and for a file that cannot be read.
    package init?(file path: String) {
        guard let bytes = ProcessServices.read(path, limit: Self.length) else { return nil }
        self.init(bytes)
    }

    /// What such a file is, and how to import it: `is a SQLite database; …`.
    package var advice: String {
        switch self {
        case .sqlite: "is a SQLite database; import it with the format sqlite"
        case .realm: "is a Realm file; import it with the format realm"
        case .store: "is a store; export its objects, and import the exported file"
        case .encryptedCopy: "is an encrypted copy; decrypt it first with moonpool decrypt"
        case .xz: "is compressed with xz; decompress it first"
        case .bzip2: "is compressed with bzip2; decompress it first"
        case .zip: "is a ZIP archive; unpack it first"
        }
    }
}

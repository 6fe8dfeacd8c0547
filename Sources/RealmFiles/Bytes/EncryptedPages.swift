import CCrypto

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The pages of an encrypted Realm file, decrypted when they are first read.
///
/// A page of 4,096 bytes is encrypted with AES-256-CBC and authenticated with HMAC-SHA-224. Each group of 64 pages is
/// preceded by one page with their initialization vectors and authentication codes. Both algorithms come from OpenSSL's
/// libcrypto: swift-crypto has neither SHA-224 nor CBC without padding in its stable interfaces.
final class EncryptedPages {
    private static let pageSize = 4096
    private static let pagesPerBlock = 64
    private static let entrySize = 64

    /// The number of bytes of the decrypted file.
    let count: Int
    /// The number of bytes that are currently decrypted.
    private(set) var residentBytes = 0

    private let file: ByteView
    private let key: RealmKey
    private let plain: UnsafeMutableRawPointer
    private let reserved: Int
    private var isDecrypted: [Bool]
    private let cipher: OpaquePointer

    /// Reserves address space for the decrypted pages and verifies the key.
    init(_ base: UnsafeRawPointer, _ size: Int, _ key: RealmKey) throws {
        let filePages = size / Self.pageSize
        let blocks = (filePages + Self.pagesPerBlock) / (Self.pagesPerBlock + 1)
        let pages = max(filePages - blocks, 0)
        guard pages > 0 else {
            throw RealmFileError(
                .notRealm, "the file is too small for an encrypted Realm file: \(size) bytes")
        }
        file = ByteView(base, count: size)
        count = pages * Self.pageSize
        reserved = count
        self.key = key
        isDecrypted = Array(repeating: false, count: pages)
        let memory = mmap(
            nil, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | Self.noReserve, -1,
            0)
        guard let memory, memory != MAP_FAILED else {
            throw RealmFileError(.unreadable, "no address space for \(reserved) decrypted bytes")
        }
        guard let cipher = EVP_CIPHER_CTX_new() else {
            munmap(memory, reserved)
            throw RealmFileError(.unreadable, "out of memory")
        }
        plain = memory
        self.cipher = cipher
        try verifyKey()
    }

    deinit {
        EVP_CIPHER_CTX_free(cipher)
        munmap(plain, reserved)
    }

    #if canImport(Glibc)
        private static let noReserve = MAP_NORESERVE
    #else
        private static let noReserve: Int32 = 0
    #endif

    /// Decrypts the pages of a range inside the file and returns the range.
    func view(_ offset: Int, _ length: Int) throws -> ByteView {
        if length > 0 {
            let last = (offset + length - 1) / Self.pageSize
            for page in offset / Self.pageSize...last where !isDecrypted[page] {
                try decrypt(page)
            }
        }
        return ByteView(plain + offset, count: length)
    }

    /// Releases the memory of all decrypted pages.
    func releaseAll() {
        madvise(plain, reserved, MADV_DONTNEED)
        residentBytes = 0
        for page in isDecrypted.indices { isDecrypted[page] = false }
    }

    /// The initialization vector for decrypting a page.
    private enum Vector {
        case value(UInt32)
        /// The page was never written, so its content is zero.
        case none
        /// No authentication code matches.
        case unverified
    }

    private func ciphertext(_ page: Int) -> ByteView {
        let block = page / Self.pagesPerBlock
        return file.slice((page + block + 1) * Self.pageSize, Self.pageSize)
    }

    private func vector(_ page: Int) -> Vector {
        let block = page / Self.pagesPerBlock
        let entry = file.slice(
            block * (Self.pagesPerBlock + 1) * Self.pageSize
                + page % Self.pagesPerBlock * Self.entrySize, Self.entrySize)
        let newest = entry.load(0, as: UInt32.self)
        guard newest != 0 else { return .none }
        let text = ciphertext(page)
        let code = authenticationCode(text)
        if code == entry.slice(4, 28).array { return .value(newest) }
        // After an interrupted write, the page can match the previous entry, because an entry is written before its
        // page.
        let previous = entry.load(32, as: UInt32.self)
        if previous != 0, code == entry.slice(36, 28).array { return .value(previous) }
        return text.isZero ? .none : .unverified
    }

    private func authenticationCode(_ text: ByteView) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        text.withSpan { bytes in
            bytes.withUnsafeBytes { bytes in
                _ = HMAC(
                    EVP_sha224(), key.authentication, Int32(key.authentication.count),
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &code,
                    &length)
            }
        }
        return Array(code.prefix(Int(length)))
    }

    private func decrypt(_ page: Int) throws {
        switch vector(page) {
        case .none: break
        case .unverified:
            throw RealmFileError.damaged(
                "encrypted page \(page) (bytes from \(RealmFileError.hex(page * Self.pageSize))) does "
                    + "not match its authentication code")
        case .value(let number):
            var vector = withUnsafeBytes(of: number.littleEndian) { Array($0) }
            withUnsafeBytes(of: UInt64(page * Self.pageSize).littleEndian) { vector += $0 }
            vector += [0, 0, 0, 0]
            let target = plain + page * Self.pageSize
            var written: Int32 = 0
            let isDone = ciphertext(page).withSpan { bytes in
                bytes.withUnsafeBytes { bytes in
                    EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.encryption, vector) == 1
                        && EVP_CIPHER_CTX_set_padding(cipher, 0) == 1
                        && EVP_DecryptUpdate(
                            cipher, target.assumingMemoryBound(to: UInt8.self), &written,
                            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                            Int32(bytes.count)) == 1
                }
            }
            try RealmFileError.require(
                isDone && Int(written) == Self.pageSize,
                "encrypted page \(page) cannot be decrypted")
        }
        isDecrypted[page] = true
        residentBytes += Self.pageSize
        assert(residentBytes <= count, "each page is decrypted once")
    }

    /// Throws if the key matches none of the first pages, and a different error if only the first page is damaged.
    private func verifyKey() throws {
        guard case .unverified = vector(0) else { return }
        let others = isDecrypted.indices.dropFirst().prefix(128)
        let fits = others.contains { page in
            if case .value = vector(page) { return true }
            return false
        }
        try RealmFileError.require(
            !fits, "encrypted page 0 does not match its authentication code; the key is correct")
        throw RealmFileError(
            .wrongKey,
            isDecrypted.count == 1
                ? "the key is wrong, or the only page of the file is damaged"
                : "the key is wrong: it matches none of the first pages")
    }
}

/// The key of an encrypted Realm file: 32 bytes for encryption and 32 for authentication.
///
/// ```swift
/// let key = try RealmKey("@app.key")
/// let file = try RealmFile("app.realm", key: key)
/// ```
package struct RealmKey: Sendable {
    let encryption: [UInt8]
    let authentication: [UInt8]

    /// Creates a key from its 64 bytes; nil for another number of bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 64 else { return nil }
        encryption = Array(bytes[..<32])
        authentication = Array(bytes[32...])
    }

    /// Parses a key: 128 hexadecimal digits, Base64, or `@` and the path of a file that contains the 64 bytes or one of
    /// these forms.
    ///
    /// Throws if the text has none of these forms, or if the file cannot be read.
    package init(_ text: String) throws {
        let bytes: [UInt8]
        if text.hasPrefix("@") {
            let path = String(text.dropFirst())
            let contents = try Self.contents(of: path)
            if let key = Self(bytes: contents) {
                self = key
                return
            }
            bytes = contents
        } else {
            bytes = Array(text.utf8)
        }
        // Whitespace, and `0x` before hexadecimal digits, are ignored.
        var digits = bytes.filter { $0 > 0x20 && $0 != UInt8(ascii: ":") }
        if digits.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]), digits.count == 130 {
            digits.removeFirst(2)
        }
        guard let decoded = Self.hexadecimal(digits) ?? Self.base64(digits),
            let key = Self(bytes: decoded)
        else {
            throw RealmFileError(
                .invalidKey,
                "a key is 64 bytes: pass 128 hexadecimal digits, Base64, or @ and the path of a file "
                    + "that contains the key; got \(digits.count) characters")
        }
        self = key
    }

    private static func contents(of path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw RealmFileError(
                .unreadable,
                "cannot open the key file '\(path)': \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let read = read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(read, 0)))
    }

    private static func hexadecimal(_ digits: [UInt8]) -> [UInt8]? {
        guard digits.count == 128 else { return nil }
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == digits.count else { return nil }
        return stride(from: 0, to: values.count, by: 2).map {
            UInt8(values[$0] * 16 + values[$0 + 1])
        }
    }

    private static func base64(_ digits: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for digit in digits where digit != UInt8(ascii: "=") {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }
}

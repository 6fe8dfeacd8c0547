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
            guard isDone, Int(written) == Self.pageSize else {
                throw RealmFileError.damaged("encrypted page \(page) cannot be decrypted")
            }
        }
        isDecrypted[page] = true
        residentBytes += Self.pageSize
    }

    /// Throws if the key matches none of the first pages, and a different error if only the first page is damaged.
    private func verifyKey() throws {
        guard case .unverified = vector(0) else { return }
        let others = isDecrypted.indices.dropFirst().prefix(128)
        let fits = others.contains { page in
            if case .value = vector(page) { return true }
            return false
        }
        guard !fits else {
            throw RealmFileError.damaged(
                "encrypted page 0 does not match its authentication code; the key is correct")
        }
        throw RealmFileError(
            .wrongKey,
            isDecrypted.count == 1
                ? "the key is wrong, or the only page of the file is damaged"
                : "the key is wrong: it matches none of the first pages")
    }
}

import CCrypto
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Encrypted copies of files, with AES-256-GCM of OpenSSL's libcrypto.
//
// A file begins with a mark of 8 bytes and 32 random bytes. Chunks follow: 65,536 bytes of the content, fewer in the last
// one, and a tag of 16 bytes each. The key of a file is the HMAC-SHA-256 of these 40 bytes with the key of the user, so no
// two files have the same key. The nonce of a chunk is its number in 11 bytes, the most significant byte first, and a byte
// that is 1 for the last chunk. A chunk that was changed, moved, repeated or taken from another file, and a file that was
// cut off or extended, therefore do not match their tags.

/// A secret key for encrypted copies.
package struct CopyKey: Sendable {
    fileprivate let bytes: [UInt8]
    private static let size = 32

    /// Reads a file with 32 bytes, or with 64 hexadecimal digits and a line break.
    ///
    /// Throws a `FormatError` with the name of the file, and never with its content.
    package init(file: String) throws {
        var content: [UInt8]
        do throws(UnreadFile) {
            content = try ProcessServices.readWhole(file, limit: 1024)
        } catch {
            throw FormatError("cannot read the key file '\(file)': \(error.reason)")
        }
        if content.count != Self.size {
            let text = String(decoding: content, as: UTF8.self).filter { !$0.isWhitespace }
            let digits = text.compactMap(\.hexDigitValue)
            content =
                digits.count == text.count && digits.count == 2 * Self.size
                ? stride(from: 0, to: digits.count, by: 2).map {
                    UInt8(digits[$0] << 4 | digits[$0 + 1])
                } : []
        }
        guard content.count == Self.size else {
            throw FormatError(
                "the key file '\(file)' must have 32 bytes or 64 hexadecimal digits; create one with: "
                    + "openssl rand -hex 32 > \(file)")
        }
        bytes = content
    }
}

/// Encrypts or decrypts the chunks of one file, in order.
final class ChunkCipher {
    static let chunkSize = 64 << 10
    static let tagSize = 16
    static let headerSize = 40
    static let mark = Array("MOONSEA1".utf8)

    /// The first bytes of the file.
    let header: [UInt8]
    private let context: OpaquePointer
    private let key: [UInt8]
    private var number: UInt64 = 0

    /// Prepares a new file.
    convenience init(_ key: CopyKey) throws {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<4).flatMap { _ in
            let word: UInt64 = generator.next()
            return (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
        try self.init(key, header: Self.mark + salt)
    }

    /// Prepares reading a file that begins with these bytes; throws a `FormatError` if it is not encrypted.
    init(_ key: CopyKey, header: [UInt8]) throws {
        guard header.starts(with: Self.mark) else {
            throw FormatError("the file is not an encrypted copy")
        }
        guard header.count == Self.headerSize else { throw Self.cut(after: 0) }
        var fileKey = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        guard
            HMAC(
                EVP_sha256(), key.bytes, Int32(key.bytes.count), header, header.count, &fileKey,
                &length) != nil, length == 32, let context = EVP_CIPHER_CTX_new()
        else { throw FormatError("libcrypto has refused memory") }
        self.header = header
        self.context = context
        self.key = fileKey
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    private func nonce(isLast: Bool) -> [UInt8] {
        let count = (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        return [0, 0, 0] + count + [isLast ? 1 : 0]
    }

    /// Returns the encrypted bytes of the next chunk, and their tag.
    func seal(_ chunk: some Collection<UInt8>, isLast: Bool) throws -> [UInt8] {
        let plain = Array(chunk)
        var sealed = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: Self.tagSize)
        var length: Int32 = 0
        guard
            EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce(isLast: isLast)) == 1,
            EVP_EncryptUpdate(context, &sealed, &length, plain, Int32(plain.count)) == 1,
            EVP_EncryptFinal_ex(context, nil, &length) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { throw FormatError("libcrypto cannot encrypt") }
        number += 1
        return sealed + tag
    }

    /// Returns the content of the next chunk.
    ///
    /// Throws a `FormatError` for a chunk that does not match its tag.
    func open(_ chunk: some Collection<UInt8>, isLast: Bool) throws -> [UInt8] {
        if let plain = decrypt(chunk, isLast: isLast) {
            number += 1
            return plain
        }
        let start = number * UInt64(Self.chunkSize)
        if isLast, let plain = decrypt(chunk, isLast: false) {
            throw Self.cut(after: start + UInt64(plain.count))
        }
        throw FormatError(
            number == 0
                ? "the key is not that of the file, or the file was changed or cut off"
                : "the file was changed or cut off after \(start) bytes of content")
    }

    private static func cut(after count: UInt64) -> FormatError {
        FormatError("the file was cut off after \(count) bytes of content")
    }

    /// Returns the content of the next chunk; nil for a chunk that does not match its tag.
    private func decrypt(_ chunk: some Collection<UInt8>, isLast: Bool) -> [UInt8]? {
        let sealed = Array(chunk.dropLast(Self.tagSize))
        var tag = Array(chunk.suffix(Self.tagSize))
        var plain = [UInt8](repeating: 0, count: sealed.count)
        var length: Int32 = 0
        guard tag.count == Self.tagSize,
            EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce(isLast: isLast)) == 1,
            EVP_DecryptUpdate(context, &plain, &length, sealed, Int32(sealed.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1,
            EVP_DecryptFinal_ex(context, nil, &length) == 1
        else { return nil }
        return plain
    }
}

/// Encrypted copies of whole files.
package enum EncryptedFiles {
    /// The name of an encrypted file without `.enc`.
    package static func plainName(_ path: String) -> String {
        path.hasSuffix(".enc") ? String(path.dropLast(4)) : path
    }

    /// Writes an encrypted copy of a file, completely or not at all, with the mode of the file `original`.
    ///
    /// Throws a `FormatError`.
    package static func encrypt(
        _ source: String, to target: String, with key: CopyKey, like original: String
    ) throws {
        let output = try FileWriter(target, like: original, key: key)
        let input = try RawFile(source)
        while case let bytes = try input.read(ChunkCipher.chunkSize), !bytes.isEmpty {
            try output.write(bytes)
        }
        try output.finish()
    }

    /// Writes the content of an encrypted copy, with its mode; `-` is standard input or output.
    ///
    /// A file appears completely or not at all; standard output receives only content that was not changed, and an error
    /// can follow it. Throws a `FormatError`.
    package static func decrypt(_ source: String, to target: String, with key: CopyKey) throws {
        let input = try RawFile(source)
        do {
            let cipher = try ChunkCipher(key, header: input.read(ChunkCipher.headerSize))
            let output = try FileWriter(
                target, like: source == "-" ? nil : source, compresses: false)
            let size = ChunkCipher.chunkSize + ChunkCipher.tagSize
            var chunk = try input.read(size)
            while true {
                // Only the last chunk can be incomplete, or be followed by nothing.
                let next = chunk.count == size ? try input.read(size) : []
                try output.write(cipher.open(chunk, isLast: next.isEmpty))
                if next.isEmpty { break }
                chunk = next
            }
            try output.finish()
        } catch let error as FormatError {
            throw error.inFile(source)
        }
    }
}

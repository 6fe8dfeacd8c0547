import CCrypto

/// Encrypts files as Realm does.
package enum RealmEncryption {
    /// The encrypted form of a file, with a key of 64 bytes.
    ///
    /// The last 16 bytes, which contain the address of a copy's top node, move to the end of the last page.
    package static func encrypt(_ plain: [UInt8], key: [UInt8]) -> [UInt8] {
        let pages = (plain.count + 4095) / 4096
        var padded = Array(plain.dropLast(16))
        padded += [UInt8](repeating: 0, count: pages * 4096 - plain.count)
        padded += plain.suffix(16)
        var result: [UInt8] = []
        for block in stride(from: 0, to: pages, by: 64) {
            var entries: [UInt8] = []
            var texts: [UInt8] = []
            for page in block..<min(block + 64, pages) {
                let vector = UInt32(page + 1)
                let text = cipher(
                    Array(padded[page * 4096..<page * 4096 + 4096]), key, vector, page)
                entries += bytes(vector) + code(text, key) + [UInt8](repeating: 0, count: 32)
                texts += text
            }
            entries += [UInt8](repeating: 0, count: 4096 - entries.count)
            result += entries + texts
        }
        return result
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func cipher(
        _ plain: [UInt8], _ key: [UInt8], _ vector: UInt32, _ page: Int
    ) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: plain.count + 32)
        var written: Int32 = 0
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        let start = bytes(vector) + bytes(UInt64(page * 4096)) + [0, 0, 0, 0]
        EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), nil, Array(key[..<32]), start)
        EVP_CIPHER_CTX_set_padding(context, 0)
        EVP_EncryptUpdate(context, &text, &written, plain, Int32(plain.count))
        return Array(text.prefix(Int(written)))
    }

    private static func code(_ text: [UInt8], _ key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 28)
        var length: UInt32 = 0
        _ = HMAC(EVP_sha224(), Array(key[32...]), 32, text, text.count, &code, &length)
        return code
    }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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

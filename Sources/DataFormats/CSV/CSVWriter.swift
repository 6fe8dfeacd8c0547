/// Writes comma-separated values (RFC 4180) into bytes.
///
/// A record with a single nil is an empty line. In files of one column, ``CSVReader`` reads it as such a record.
package struct CSVWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []
    private let separator: UInt8
    private var isFirst = true

    /// Creates a writer without content; the separator must be an ASCII character.
    package init(separator: Character = ",") { self.separator = separator.asciiValue ?? 0x2C }

    /// Writes a field: no characters for nil, `""` for the empty text, quotes where they are necessary.
    package mutating func field(_ text: String?) {
        guard var text else { return separate() }
        text.withUTF8 { field($0) }
    }

    /// Writes a field of UTF-8 bytes.
    package mutating func field(utf8 text: RawSpan) {
        text.withUnsafeBytes { field($0.bindMemory(to: UInt8.self)) }
    }

    /// Writes a field that needs no quotes, such as a number or a date; `append` adds it to the bytes.
    package mutating func field(plain append: (inout [UInt8]) -> Void) {
        separate()
        let start = bytes.count
        append(&bytes)
        // The separator can be any character, including one that occurs in numbers.
        guard bytes[start...].contains(separator) else { return }
        bytes.insert(0x22, at: start)
        bytes.append(0x22)
    }

    private mutating func separate() {
        if !isFirst { bytes.append(separator) }
        isFirst = false
    }

    private mutating func field(_ text: UnsafeBufferPointer<UInt8>) {
        separate()
        var isPlain = !text.isEmpty
        for byte in text where byte == separator || byte == 0x22 || byte == 0x0A || byte == 0x0D {
            isPlain = false
            break
        }
        if isPlain { return bytes.append(contentsOf: text) }
        bytes.append(0x22)
        for byte in text {
            if byte == 0x22 { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(0x22)
    }

    /// Ends a record with CR LF, as the standard requires.
    package mutating func endRecord() {
        bytes.append(contentsOf: [0x0D, 0x0A])
        isFirst = true
    }

    /// Removes the written bytes, after the caller has used them.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}

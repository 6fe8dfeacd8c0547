/// Writes comma-separated values (RFC 4180) into bytes.
///
/// A record of one nil is an empty line, which ``CSVReader`` reads back as such in files of one column.
package struct CSVWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []
    private let separator: UInt8
    private var isFirst = true

    /// Creates an empty text; the separator is an ASCII character.
    package init(separator: Character = ",") { self.separator = separator.asciiValue ?? 0x2C }

    /// Writes a field: nothing at all for nil, `""` for the empty text, quotes where they are needed.
    package mutating func field(_ text: String?) {
        if !isFirst { bytes.append(separator) }
        isFirst = false
        guard let text else { return }
        let utf8 = text.utf8
        let isPlain =
            !text.isEmpty
            && utf8.allSatisfy { $0 != separator && $0 != 0x22 && $0 != 0x0A && $0 != 0x0D }
        if isPlain { return bytes.append(contentsOf: utf8) }
        bytes.append(0x22)
        for byte in utf8 {
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

    /// Removes the written bytes, after the caller has stored them.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}

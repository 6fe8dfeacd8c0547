/// Writes JSON into bytes.
///
/// The caller keeps the grammar: commas and colons are put where they belong, nesting is up to the calls.
public struct JSONWriter: Sendable {
    /// What has been written.
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// An empty text.
    public init() {}

    /// Begins an object.
    public mutating func beginObject() { begin(0x7B) }
    /// Ends an object.
    public mutating func endObject() { end(0x7D) }
    /// Begins a list.
    public mutating func beginArray() { begin(0x5B) }
    /// Ends a list.
    public mutating func endArray() { end(0x5D) }

    /// A name in an object.
    public mutating func key(_ name: String) {
        string(name)
        bytes.append(0x3A)
        needsComma = false
    }

    /// `null`.
    public mutating func null() { plain("null") }
    /// `true` or `false`.
    public mutating func bool(_ value: Bool) { plain(value ? "true" : "false") }
    /// A whole number.
    public mutating func int(_ value: Int64) {
        separate()
        var digits: [UInt8] = []
        var rest = value.magnitude
        repeat {
            digits.append(0x30 + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        if value < 0 { bytes.append(0x2D) }
        bytes.append(contentsOf: digits.reversed())
        needsComma = true
    }

    /// A number, in the shortest form that reads as the same one; what is not finite becomes text.
    ///
    /// A whole number keeps a `.0`, so that readers that tell ints from doubles see a double.
    public mutating func double(_ value: Double) {
        guard value.isFinite else {
            return string(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
        }
        plain(value.description)
    }

    /// A text that is a JSON number already.
    public mutating func number(_ text: String) { plain(text) }

    /// A text, with what JSON wants escaped.
    public mutating func string(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { append(quoting: $0) }
        needsComma = true
    }

    /// Ends a line, for JSON Lines.
    public mutating func newLine() {
        bytes.append(0x0A)
        needsComma = false
    }

    /// White space for readers before a member or an element: a line break and so many spaces.
    public mutating func indent(_ spaces: Int) {
        if needsComma {
            bytes.append(0x2C)
            needsComma = false
        }
        indentEnd(spaces)
    }

    /// White space for readers before the end of an object or a list.
    public mutating func indentEnd(_ spaces: Int) {
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: spaces))
    }

    /// Forgets what was written, which its owner has put elsewhere.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    private mutating func begin(_ byte: UInt8) {
        separate()
        bytes.append(byte)
        needsComma = false
    }

    private mutating func end(_ byte: UInt8) {
        bytes.append(byte)
        needsComma = true
    }

    private mutating func plain(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() { if needsComma { bytes.append(0x2C) } }

    private mutating func append(quoting text: UnsafeBufferPointer<UInt8>) {
        bytes.append(0x22)
        var start = 0
        for position in 0..<text.count {
            let byte = text[position]
            guard byte < 0x20 || byte == 0x22 || byte == 0x5C else { continue }
            bytes.append(contentsOf: text[start..<position])
            start = position + 1
            escape(byte)
        }
        bytes.append(contentsOf: text[start...])
        bytes.append(0x22)
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(0x5C)
        switch byte {
        case 0x0A: bytes.append(0x6E)
        case 0x0D: bytes.append(0x72)
        case 0x09: bytes.append(0x74)
        case 0x22, 0x5C: bytes.append(byte)
        default:
            bytes.append(contentsOf: [0x75, 0x30, 0x30])
            for digit in [byte >> 4, byte & 15] {
                bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            }
        }
    }
}

/// Writes values as JSON, or in Lua syntax, into bytes.
///
/// The writer adds commas and colons; the caller is responsible for nesting.
package struct JSONWriter: Sendable {
    /// The syntax of values.
    package enum Syntax: Sendable {
        /// JSON: `{"name":"Rex","toys":[null]}`.
        case json
        /// Lua: `{name = "Rex", toys = {nil}}`.
        case lua
    }

    /// An encoded name of an object member.
    package struct Key: Sendable {
        fileprivate let bytes: [UInt8]
    }

    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []
    /// The text written so far.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
    /// Whether values are written in Lua syntax.
    package let isLua: Bool
    private var needsComma = false

    /// Creates a writer without content.
    package init(_ syntax: Syntax = .json) { isLua = syntax == .lua }

    /// Begins an object.
    package mutating func beginObject() { begin(0x7B) }
    /// Ends an object.
    package mutating func endObject() { end(0x7D) }
    /// Begins a list.
    package mutating func beginArray() { begin(isLua ? 0x7B : 0x5B) }
    /// Ends a list.
    package mutating func endArray() { end(isLua ? 0x7D : 0x5D) }

    /// Writes a name in an object.
    package mutating func key(_ name: String) {
        separate()
        append(key: name)
        needsComma = false
    }

    /// Writes an encoded name, which is faster for names that are written many times.
    package mutating func key(_ key: Key) {
        separate()
        bytes.append(contentsOf: key.bytes)
        needsComma = false
    }

    /// Appends a member of an object with a text.
    package mutating func member(_ name: String, _ text: String) {
        key(name)
        string(text)
    }

    /// Appends a member of an object with a number.
    @inlinable  // so that the number is not a generic value
    package mutating func member(_ name: String, _ number: some BinaryInteger) {
        key(name)
        int(Int64(clamping: number))
    }

    /// Appends a member of an object with a Boolean.
    package mutating func member(_ name: String, _ flag: Bool) {
        key(name)
        bool(flag)
    }

    /// Encodes a name that is written many times.
    package func makeKey(_ name: String) -> Key {
        var writer = JSONWriter(isLua ? .lua : .json)
        writer.append(key: name)
        return Key(bytes: writer.bytes)
    }

    private mutating func append(key name: String) {
        var name = name
        guard isLua else {
            name.withUTF8 { append(quoting: $0) }
            bytes.append(0x3A)
            return
        }
        if LuaWords.isName(name) {
            bytes.append(contentsOf: name.utf8)
        } else {
            bytes.append(0x5B)
            name.withUTF8 { append(quoting: $0) }
            bytes.append(0x5D)
        }
        bytes.append(contentsOf: [0x20, 0x3D, 0x20])
    }

    /// Writes text unchanged.
    package mutating func literal(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes `null`, or `nil` in Lua.
    package mutating func null() { plain(isLua ? "nil" : "null") }
    /// Writes `true` or `false`.
    package mutating func bool(_ value: Bool) { plain(value ? "true" : "false") }
    /// Writes an integer.
    package mutating func int(_ value: Int64) {
        separate()
        needsComma = true
        if isLua, value == .min {
            // Lua would parse the digits as a float and negate it.
            return bytes.append(contentsOf: "0x8000000000000000".utf8)
        }
        if value < 0 { bytes.append(0x2D) }
        var rest = value.magnitude
        let start = bytes.count
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(0x30 &+ UInt8(truncatingIfNeeded: digit))
            rest = quotient
        } while rest > 0
        var low = start
        var high = bytes.count - 1
        while low < high {
            bytes.swapAt(low, high)
            low += 1
            high -= 1
        }
    }

    /// Writes a number in the shortest form that is parsed as the same number.
    ///
    /// In JSON, infinities and NaN become text. An integral value keeps a `.0`, so that readers that distinguish
    /// integers from doubles parse a double.
    package mutating func double(_ value: Double) {
        guard value.isFinite else {
            if isLua { return plain(value.isNaN ? "(0/0)" : value < 0 ? "-1e999" : "1e999") }
            return string(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
        }
        plain(value.description)
    }

    /// Writes a text that is a valid JSON number.
    package mutating func number(_ text: String) { plain(text) }

    /// Writes a text, escaped.
    package mutating func string(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { append(quoting: $0) }
        needsComma = true
    }

    /// Writes UTF-8 bytes as a text, escaped.
    package mutating func string(utf8 text: RawSpan) {
        separate()
        text.withUnsafeBytes { append(quoting: $0.bindMemory(to: UInt8.self)) }
        needsComma = true
    }

    /// Writes a text of ASCII characters that need no escapes, which `append` adds to the bytes.
    package mutating func string(ascii append: (inout [UInt8]) -> Void) {
        separate()
        bytes.append(0x22)
        append(&bytes)
        bytes.append(0x22)
        needsComma = true
    }

    /// Ends a line, for JSON Lines.
    package mutating func newLine() {
        bytes.append(0x0A)
        needsComma = false
    }

    /// Writes white space for human readers before a member or an element: a line break and some spaces.
    package mutating func indent(_ spaces: Int) {
        if needsComma {
            bytes.append(0x2C)
            needsComma = false
        }
        indentEnd(spaces)
    }

    /// Writes white space for human readers before the end of an object or a list.
    package mutating func indentEnd(_ spaces: Int) {
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: spaces))
    }

    /// Removes the written bytes, after the caller has used them.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

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

    @inline(__always)
    private mutating func separate() {
        guard needsComma else { return }
        bytes.append(0x2C)
        if isLua { bytes.append(0x20) }
    }

    private mutating func append(quoting text: UnsafeBufferPointer<UInt8>) {
        bytes.append(0x22)
        var start = 0
        for position in 0..<text.count {
            let byte = text[position]
            // U+0080 to U+009F, which control a terminal, have two bytes; the second one is the code.
            let isWide =
                byte == 0xC2 && !isLua && position + 1 < text.count
                && text[position + 1] < 0xA0
            guard
                byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F && !isLua || isWide
            else { continue }
            bytes.append(contentsOf: text[start..<position])
            start = position + (isWide ? 2 : 1)
            escape(isWide ? text[position + 1] : byte)
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
        case _ where isLua:
            // Three digits, so that a following digit is not a part of the escape sequence.
            bytes.append(contentsOf: [0x30, 0x30 + byte / 10, 0x30 + byte % 10])
        default:
            bytes.append(contentsOf: [0x75, 0x30, 0x30])
            for digit in [byte >> 4, byte & 15] {
                bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            }
        }
    }
}

/// Reads one JSON value.
///
///     let tape = JSONTape()
///     try JSONText.read(Array(#"{"a": [1, 2]}"#.utf8), onto: tape)
///     print(JSONNode(tape).kind)  // object
package enum JSONText {
    /// Reads a text with exactly one value, strictly according to RFC 8259.
    ///
    /// A byte order mark is skipped. The tape is cleared first. Throws a `FormatError` with line and column.
    package static func read(_ text: [UInt8], onto tape: JSONTape) throws {
        try text.withUnsafeBufferPointer { try read($0, onto: tape) }
    }

    static func read(
        _ text: UnsafeBufferPointer<UInt8>, onto tape: JSONTape, line: Int = 1
    ) throws {
        tape.clear()
        guard text.count < JSONLimits.size else {
            throw FormatError("the text is longer than \(JSONLimits.size >> 20) MiB")
        }
        let start = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        switch JSONScanner.scan(text, from: start, isWhole: true, onto: tape.buffer) {
        case .value(let end):
            guard let rest = text[end...].firstIndex(where: { !isSpace($0) }) else { return }
            throw fault(
                "expected the end of the text after the value", at: rest, in: text, line: line)
        case .fault(let offset, let reason):
            let isEmpty = text[start...].allSatisfy(isSpace)
            throw fault(isEmpty ? "the text is empty" : reason, at: offset, in: text, line: line)
        case .incomplete:
            throw fault("the text ends too early", at: text.count, in: text, line: line)
        case .exhausted: throw JSONLimits.memoryReached
        }
    }

    /// Returns the line and column of an offset in a text, starting at 1.
    package static func location(_ text: [UInt8], _ offset: Int) -> (line: Int, column: Int) {
        text.withUnsafeBufferPointer { TextPosition.location($0, offset, line: 1, column: 1) }
    }

    private static func fault(
        _ reason: String, at offset: Int, in text: UnsafeBufferPointer<UInt8>, line: Int
    ) -> FormatError {
        let position = TextPosition.location(text, offset, line: line, column: 1)
        return FormatError(line: position.line, column: position.column, "not JSON: \(reason)")
    }

    /// Returns whether JSON allows a byte between values.
    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

import MemoryAccounts

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One JSON value as a flat list of tokens, in the order of the text.
///
/// One tape is reused for many rows, so that reading a million rows allocates little memory. Numbers other than 64-bit
/// integers keep their text, so that they can become decimals without loss. A node is identified by the index of its
/// first token.
package final class JSONTape {
    /// The kind of a token.
    package enum Kind: UInt8, Sendable {
        case null, falsehood, truth
        /// A 64-bit integer.
        case int
        /// Any other number.
        case real
        case string
        case array, object
        /// The end of an array or an object.
        case end
    }

    let buffer: UnsafeMutablePointer<TapeBuffer>

    /// Creates an empty tape.
    package init() {
        buffer = .allocate(capacity: 1)
        buffer.initialize(to: TapeBuffer())
    }

    deinit {
        buffer.pointee.deallocate()
        buffer.deallocate()
    }

    /// The number of tokens.
    package var count: Int { buffer.pointee.count }

    /// Returns the kind of the node at an index.
    package func kind(_ index: Int) -> Kind { buffer.pointee[index].kind }

    /// Returns the index after a node, which is that of its next sibling or of the end of its container.
    package func after(_ index: Int) -> Int {
        let token = buffer.pointee[index]
        switch token.kind {
        case .array, .object: return Int(token.payload)
        default: return index + 1
        }
    }

    /// Returns the value of an `int`.
    package func int(_ index: Int) -> Int64 { buffer.pointee[index].payload }

    /// Returns the text of a string or a `real`; empty for other kinds.
    package func text(_ index: Int) -> String { String(decoding: utf8(index), as: UTF8.self) }

    /// Returns the number of bytes in the text of a string or a `real`.
    package func textLength(_ index: Int) -> Int { utf8(index).count }

    /// Returns the first byte of a string; nil for an empty one.
    package func firstByte(_ index: Int) -> UInt8? { utf8(index).first }

    /// Returns whether a string has these bytes, without creating a string.
    package func equals(_ index: Int, _ other: [UInt8]) -> Bool {
        let token = buffer.pointee[index]
        return other.withUnsafeBufferPointer { buffer.pointee.equals(token, $0) }
    }

    /// Calls the body with the bytes of a string.
    package func withText<Result>(_ index: Int, _ body: (RawSpan) throws -> Result) rethrows
        -> Result
    {
        try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(utf8(index))))
    }

    /// Calls the body with the bytes of a string or a `real`, as a sequence.
    package func withUTF8<Result>(
        _ index: Int, _ body: (Span<UInt8>) throws -> Result
    ) rethrows -> Result {
        try body(utf8(index).span)
    }

    /// Returns the offset of a token in its text, for messages.
    package func offset(_ index: Int) -> Int { Int(buffer.pointee[index].offset) }

    /// Returns an `int` or a `real` as a double; nil if no double has exactly this value.
    ///
    /// A number counts as exact if a double written with the same number of digits has the same digits.
    package func exactDouble(_ index: Int) -> Double? {
        let token = buffer.pointee[index]
        if token.kind == .int { return Double(exactly: token.payload) }
        if let value = NumberText.exactDouble(buffer.pointee.text(of: token)) { return value }
        // Lua source contains values that JSON cannot represent.
        switch text(index) {
        case "inf": return .infinity
        case "-inf": return -.infinity
        case "nan": return .nan
        default: return nil
        }
    }

    /// Returns an `int` or a `real` as a float; nil if no float has exactly this value.
    package func exactFloat(_ index: Int) -> Float? {
        let token = buffer.pointee[index]
        if token.kind == .int { return Float(exactly: token.payload) }
        if let value = NumberText.exactFloat(buffer.pointee.text(of: token)) { return value }
        return exactDouble(index).flatMap { $0.isFinite ? nil : Float($0) }
    }

    /// Returns an `int` or a `real` as an integer, such as 5 for `5.0`; nil for fractions and numbers outside of 64
    /// bits.
    package func exactInt(_ index: Int) -> Int64? {
        let token = buffer.pointee[index]
        if token.kind == .int { return token.payload }
        return NumberText.exactInt(buffer.pointee.text(of: token))
    }

    private func utf8(_ index: Int) -> UnsafeBufferPointer<UInt8> {
        let token = buffer.pointee[index]
        guard token.kind == .string || token.kind == .real else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        return buffer.pointee.text(of: token)
    }
}

// Functions for the parsers that write onto a tape.
extension JSONTape {
    package func clear() { buffer.pointee.clear() }

    func add(_ kind: Kind, _ payload: Int64 = 0) { buffer.pointee.add(kind, payload) }

    func add(_ kind: Kind, _ text: UnsafeBufferPointer<UInt8>) { buffer.pointee.add(kind, text) }

    /// Changes the kind of an open container.
    func become(_ kind: Kind, at start: Int) { buffer.pointee.become(kind, at: start) }

    /// Ends the container that began at an index.
    func close(_ start: Int) { buffer.pointee.close(start) }
}

extension JSONTape {
    /// Appends a node of another tape.
    package func append(_ other: JSONTape, _ index: Int) {
        let source = other.buffer.pointee
        let shift = Int64(count - index)
        for position in index..<other.after(index) {
            let token = source[position]
            switch token.kind {
            case .string, .real:
                buffer.pointee.add(token.kind, source.text(of: token), offset: Int(token.offset))
            case .array, .object:
                buffer.pointee.add(
                    token.kind, token.payload + shift, offset: Int(token.offset))
            default:
                buffer.pointee.add(token.kind, token.payload, offset: Int(token.offset))
            }
        }
    }

    /// Appends the name of a member.
    package func append(name: String) {
        var name = name
        name.withUTF8 { buffer.pointee.add(.string, $0) }
    }

    /// Replaces the content of the tape with an object whose members the body appends, each as a name and a value.
    package func becomeObject(_ body: () -> Void) {
        clear()
        add(.object)
        body()
        close(0)
    }
}

/// The memory of a tape: tokens, and the bytes of their texts.
///
/// The buffer is a struct behind a pointer, because it is used for every token: Swift would check class properties for
/// exclusive access each time, which costs more than the work itself.
struct TapeBuffer {
    struct Token {
        /// The value of an integer, the start of a text, or the index after a container's end.
        var payload: Int64
        /// The number of bytes in the text.
        var length: UInt32
        /// The offset of the token in the source text.
        var offset: UInt32
        var kind: JSONTape.Kind
    }

    private(set) var count = 0
    private var tokens: UnsafeMutablePointer<Token>
    private var capacity = 64
    private var text: UnsafeMutablePointer<UInt8>
    private(set) var textCount = 0
    private var textCapacity = 1024
    /// Whether tokens are dropped if the script has no memory for them, instead of exceeding the limit.
    var obeysLimit = false
    /// Whether tokens were dropped since the last ``clear()``; the tape must not be used then.
    private(set) var isExhausted = false

    init() {
        tokens = .allocate(capacity: capacity)
        text = .allocate(capacity: textCapacity)
    }

    func deallocate() {
        tokens.deallocate()
        text.deallocate()
    }

    /// The token at an existing index.
    subscript(index: Int) -> Token {
        @inline(__always) get {
            precondition(index >= 0 && index < count, "the token is outside the tape")
            return tokens[index]
        }
    }

    /// Returns the bytes of a token's text, which are valid until the next token is added.
    @inline(__always)
    func text(of token: Token) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text + Int(token.payload), count: Int(token.length))
    }

    /// Returns whether a token's text has these bytes.
    @inline(__always)
    func equals(_ token: Token, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard Int(token.length) == other.count, let start = other.baseAddress else {
            return token.length == 0 && other.isEmpty
        }
        return memcmp(text + Int(token.payload), start, other.count) == 0
    }

    mutating func clear() {
        isExhausted = false
        count = 0
        textCount = 0
    }

    /// Adds a token, unless the tape is exhausted.
    @inline(__always)
    mutating func add(
        _ kind: JSONTape.Kind, _ payload: Int64 = 0, length: Int = 0, offset: Int = 0
    ) {
        if count == capacity, !growTokens() { return }
        (tokens + count).initialize(
            to: Token(
                payload: payload, length: UInt32(truncatingIfNeeded: length),
                offset: UInt32(truncatingIfNeeded: offset), kind: kind))
        count &+= 1
    }

    @inline(__always)
    mutating func add(
        _ kind: JSONTape.Kind, _ bytes: UnsafeBufferPointer<UInt8>, offset: Int = 0
    ) {
        let start = textCount
        append(bytes)
        add(kind, Int64(start), length: bytes.count, offset: offset)
    }

    /// Adds bytes to the text of a token that ``add(_:textFrom:offset:)`` completes.
    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        if textCapacity &- textCount < bytes.count, !growText(bytes.count) { return }
        if let start = bytes.baseAddress {
            (text + textCount).update(from: start, count: bytes.count)
        }
        textCount &+= bytes.count
        assert(textCount <= textCapacity, "the texts fit into the buffer")
    }

    /// Adds one byte to the text of a token that ``add(_:textFrom:offset:)`` completes.
    @inline(__always)
    mutating func append(_ byte: UInt8) {
        if textCapacity == textCount, !growText(1) { return }
        text[textCount] = byte
        textCount &+= 1
    }

    /// Adds a token whose text is the bytes that were appended since `start`.
    @inline(__always)
    mutating func add(_ kind: JSONTape.Kind, textFrom start: Int, offset: Int) {
        assert(start <= textCount, "a text begins before its end")
        add(kind, Int64(start), length: textCount &- start, offset: offset)
    }

    /// Changes the kind of an open container.
    mutating func become(_ kind: JSONTape.Kind, at start: Int) {
        precondition(start >= 0 && start < count, "the token is outside the tape")
        tokens[start].kind = kind
    }

    /// Ends the container that began at an index.
    ///
    /// Returns its former payload.
    @discardableResult  // because recursive readers do not need the link to the parent
    mutating func close(_ start: Int, offset: Int = 0) -> Int64 {
        add(.end, offset: offset)
        precondition(start >= 0 && start < count, "the token is outside the tape")
        let parent = tokens[start].payload
        tokens[start].payload = Int64(count)
        return parent
    }

    @inline(never)
    private mutating func growTokens() -> Bool {
        guard let grown: UnsafeMutablePointer<Token> = allocate(2 * capacity) else { return false }
        grown.moveInitialize(from: tokens, count: count)
        tokens.deallocate()
        tokens = grown
        capacity *= 2
        return true
    }

    @inline(never)
    private mutating func growText(_ more: Int) -> Bool {
        let needed = 2 * (textCount + more)
        guard let grown: UnsafeMutablePointer<UInt8> = allocate(needed) else { return false }
        grown.moveInitialize(from: text, count: textCount)
        text.deallocate()
        text = grown
        textCapacity = needed
        return true
    }

    /// Allocates a larger buffer; nil if the script has no memory for it.
    private mutating func allocate<Element>(_ count: Int) -> UnsafeMutablePointer<Element>? {
        guard !isExhausted else { return nil }
        if obeysLimit, count > 2048, let account = MemoryAccount.current,
            !account.hasSpace(for: count * MemoryLayout<Element>.stride)
        {
            isExhausted = true
            return nil
        }
        return .allocate(capacity: count)
    }
}

/// A node on a tape, for code that traverses values as trees.
package struct JSONNode {
    /// The tape that contains the node.
    package let tape: JSONTape
    /// The index of the first token of the node.
    package let index: Int

    /// Creates the node at an index; the index 0 is the whole value.
    package init(_ tape: JSONTape, _ index: Int = 0) {
        self.tape = tape
        self.index = index
    }

    /// The kind of the node.
    package var kind: JSONTape.Kind { tape.kind(index) }
    /// The text of a string, or of a number that is not an `int`.
    package var text: String { tape.text(index) }
    /// The value of an `int`; nil for any other node.
    package var int: Int64? { kind == .int ? tape.int(index) : nil }
    /// The text of a string; nil for any other node.
    package var string: String? { kind == .string ? text : nil }

    /// The members of an object by name, of which the last one with a name counts; empty for any other node.
    package var members: [String: JSONNode] {
        var members: [String: JSONNode] = [:]
        forEachMember { members[$0] = $1 }
        return members
    }

    /// Calls `body` with the members of an object; does nothing for any other node.
    package func forEachMember(_ body: (String, JSONNode) throws -> Void) rethrows {
        guard kind == .object else { return }
        var position = index + 1
        while tape.kind(position) != .end {
            let value = JSONNode(tape, position + 1)
            try body(tape.text(position), value)
            position = tape.after(position + 1)
        }
    }

    /// Calls `body` with the elements of a list; does nothing for any other node.
    package func forEachElement(_ body: (JSONNode) throws -> Void) rethrows {
        guard kind == .array else { return }
        var position = index + 1
        while tape.kind(position) != .end {
            try body(JSONNode(tape, position))
            position = tape.after(position)
        }
    }

    /// Whether the node is an object, or a list without elements: in Lua, an empty object and an empty list look the same.
    package var mayBeObject: Bool {
        kind == .object || kind == .array && tape.kind(index + 1) == .end
    }

    /// Returns the value of an object's only member if it has this name.
    package func only(_ name: String) -> JSONNode? {
        guard kind == .object, tape.kind(index + 1) == .string, tape.text(index + 1) == name,
            tape.kind(tape.after(index + 2)) == .end
        else { return nil }
        return JSONNode(tape, index + 2)
    }

    /// A short description for messages.
    package var description: String {
        switch kind {
        case .null: "null"
        case .truth: "true"
        case .falsehood: "false"
        case .int: String(tape.int(index))
        case .real: text
        case .string: text.count > 40 ? "\"\(text.prefix(40))…\"" : "\"\(text)\""
        case .array: "a list"
        case .object: "an object"
        case .end: "an end"
        }
    }
}

extension JSONNode {
    /// Writes the node as JSON, with numbers as they were read.
    package func write(to json: inout JSONWriter) {
        switch kind {
        case .null, .end: json.null()
        case .truth: json.bool(true)
        case .falsehood: json.bool(false)
        case .int: json.int(tape.int(index))
        case .real:
            // Values of Lua source such as infinity are numbers that JSON represents as text.
            let isFinite = text.utf8.last.map { $0 &- 0x30 < 10 } ?? false
            if isFinite { json.number(text) } else { json.double(Double(text) ?? .nan) }
        case .string: json.string(text)
        case .array:
            json.beginArray()
            forEachElement { $0.write(to: &json) }
            json.endArray()
        case .object:
            json.beginObject()
            forEachMember { name, member in
                json.key(name)
                member.write(to: &json)
            }
            json.endObject()
        }
    }
}

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

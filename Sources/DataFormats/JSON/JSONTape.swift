/// One JSON value as a flat list of tokens, in the order of the text.
///
/// One tape serves many rows, so that reading a million rows allocates little. Numbers that are not 64-bit integers keep
/// their text, and can become decimals without loss. A node is identified by the index of its first token.
package final class JSONTape {
    /// What a token is.
    package enum Kind: UInt8, Sendable {
        case null, falsehood, truth
        /// A whole number of 64 bits.
        case int
        /// Any other number.
        case real
        case string
        case array, object
        /// The end of an array or an object.
        case end
    }

    let buffer: UnsafeMutablePointer<TapeBuffer>

    /// An empty tape.
    package init() {
        buffer = .allocate(capacity: 1)
        buffer.initialize(to: TapeBuffer())
    }

    deinit {
        buffer.pointee.deallocate()
        buffer.deallocate()
    }

    /// How many tokens there are.
    package var count: Int { buffer.pointee.count }

    /// What the node at an index is.
    package func kind(_ index: Int) -> Kind { buffer.pointee[index].kind }

    /// The index behind a node: of its next sibling, or of the end of what holds it.
    package func after(_ index: Int) -> Int {
        let token = buffer.pointee[index]
        switch token.kind {
        case .array, .object: return Int(token.payload)
        default: return index + 1
        }
    }

    /// The value of an `int`.
    package func int(_ index: Int) -> Int64 { buffer.pointee[index].payload }

    /// The text of a string or of a `real`; empty for anything else.
    package func text(_ index: Int) -> String { String(decoding: utf8(index), as: UTF8.self) }

    /// The number of bytes in the text of a string or of a `real`.
    package func textLength(_ index: Int) -> Int { utf8(index).count }

    /// The first byte of a string; nil for an empty one.
    package func firstByte(_ index: Int) -> UInt8? { utf8(index).first }

    /// Whether a string has these bytes, without making one.
    package func equals(_ index: Int, _ other: [UInt8]) -> Bool {
        let token = buffer.pointee[index]
        return other.withUnsafeBufferPointer { buffer.pointee.equals(token, $0) }
    }

    /// Lends the bytes of a string.
    package func withText<Result>(_ index: Int, _ body: (RawSpan) throws -> Result) rethrows
        -> Result
    {
        try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(utf8(index))))
    }

    /// The offset in its text at which a token begins, for messages.
    package func offset(_ index: Int) -> Int { Int(buffer.pointee[index].offset) }

    /// The number of an `int` or a `real` as a double; nil where no double has exactly this value.
    ///
    /// A number counts as exact if a double that is written with as many digits gives the same digits.
    package func exactDouble(_ index: Int) -> Double? {
        let token = buffer.pointee[index]
        if token.kind == .int { return Double(exactly: token.payload) }
        if let value = NumberText.exactDouble(buffer.pointee.text(of: token)) { return value }
        // Lua source has values that JSON does not have.
        switch text(index) {
        case "inf": return .infinity
        case "-inf": return -.infinity
        case "nan": return .nan
        default: return nil
        }
    }

    /// The number of an `int` or a `real` as a float; nil where no float has exactly this value.
    package func exactFloat(_ index: Int) -> Float? {
        let token = buffer.pointee[index]
        if token.kind == .int { return Float(exactly: token.payload) }
        if let value = NumberText.exactFloat(buffer.pointee.text(of: token)) { return value }
        return exactDouble(index).flatMap { $0.isFinite ? nil : Float($0) }
    }

    /// The whole number that an `int` or a `real` is, such as 5 for `5.0`; nil for a fraction and outside of 64 bits.
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

// What readers of texts do.
extension JSONTape {
    package func clear() { buffer.pointee.clear() }

    func add(_ kind: Kind, _ payload: Int64 = 0) { buffer.pointee.add(kind, payload) }

    func add(_ kind: Kind, _ text: UnsafeBufferPointer<UInt8>) { buffer.pointee.add(kind, text) }

    /// Turns a container that was opened into one of another kind.
    func become(_ kind: Kind, at start: Int) { buffer.pointee.become(kind, at: start) }

    /// Ends the container that began at an index.
    func close(_ start: Int) { buffer.pointee.close(start) }
}

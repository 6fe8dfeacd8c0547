/// One JSON value as a flat list of tokens, in the order of the text.
///
/// A tape is filled again and again, so that reading a million rows allocates what their strings need and no more.
/// Numbers keep their text: what is no 64-bit integer can still become a decimal without loss. A node is known by the
/// index of its first token.
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

    /// The number of an `int` or a `real`; infinite where it is too large.
    package func double(_ index: Int) -> Double {
        let token = buffer.pointee[index]
        if token.kind == .int { return Double(token.payload) }
        let text = buffer.pointee.text(of: token)
        return NumberText.double(text) ?? Double(String(decoding: text, as: UTF8.self)) ?? .nan
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
    func clear() { buffer.pointee.clear() }

    func add(_ kind: Kind, _ payload: Int64 = 0) { buffer.pointee.add(kind, payload) }

    func add(_ kind: Kind, _ text: UnsafeBufferPointer<UInt8>) { buffer.pointee.add(kind, text) }

    /// Makes a container that was begun another one.
    func become(_ kind: Kind, at start: Int) { buffer.pointee.become(kind, at: start) }

    /// Ends the container that began at an index.
    func close(_ start: Int) { buffer.pointee.close(start) }
}

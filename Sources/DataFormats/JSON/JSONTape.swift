#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One JSON value as a flat list of tokens, in the order of the text.
///
/// A tape is filled again and again, so that reading a million rows allocates what their strings need and no more.
/// Numbers keep their text: what is no 64-bit integer can still become a decimal without loss. A node is known by the
/// index of its first token.
public final class JSONTape {
    /// What a token is.
    public enum Kind: UInt8, Sendable {
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

    private var kinds: [Kind] = []
    // An integer's value, the start of a text in `bytes`, or the index behind a container's end.
    private var payloads: [Int64] = []
    private var lengths: [Int32] = []
    private var bytes: [UInt8] = []

    /// An empty tape.
    public init() {}

    /// How many tokens there are.
    public var count: Int { kinds.count }

    /// What the node at an index is.
    public func kind(_ index: Int) -> Kind { kinds[index] }

    /// The index behind a node: of its next sibling, or of the end of what holds it.
    public func after(_ index: Int) -> Int {
        switch kinds[index] {
        case .array, .object: Int(payloads[index])
        default: index + 1
        }
    }

    /// The value of an `int`.
    public func int(_ index: Int) -> Int64 { payloads[index] }

    /// The text of a string or of a `real`.
    public func text(_ index: Int) -> String {
        String(decoding: utf8(index), as: UTF8.self)
    }

    /// The bytes of a string or of a `real`.
    public func utf8(_ index: Int) -> ArraySlice<UInt8> {
        let start = Int(payloads[index])
        return bytes[start..<start + Int(lengths[index])]
    }

    /// Whether a string has these bytes, without making one.
    public func equals(_ index: Int, _ other: [UInt8]) -> Bool {
        let count = Int(lengths[index])
        guard count == other.count else { return false }
        let start = Int(payloads[index])
        return bytes.withUnsafeBytes { ours in
            other.withUnsafeBytes { theirs in
                count == 0 || memcmp(ours.baseAddress! + start, theirs.baseAddress!, count) == 0
            }
        }
    }

    /// Lends the bytes of a string.
    public func withText<Result>(_ index: Int, _ body: (RawSpan) throws -> Result) rethrows
        -> Result
    {
        let start = Int(payloads[index])
        let end = start + Int(lengths[index])
        return try bytes.withUnsafeBytes { try body(RawSpan(_unsafeBytes: $0[start..<end])) }
    }

    /// The number of an `int` or a `real`; infinite where it is too large.
    public func double(_ index: Int) -> Double {
        if kinds[index] == .int { return Double(payloads[index]) }
        let start = Int(payloads[index])
        let end = start + Int(lengths[index])
        let quick = bytes.withUnsafeBufferPointer {
            NumberText.double(UnsafeBufferPointer(rebasing: $0[start..<end]))
        }
        return quick ?? Double(text(index)) ?? .nan
    }
}

extension JSONTape {
    func clear() {
        kinds.removeAll(keepingCapacity: true)
        payloads.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    func add(_ kind: Kind, _ payload: Int64 = 0) {
        kinds.append(kind)
        payloads.append(payload)
        lengths.append(0)
    }

    func add(_ kind: Kind, _ text: UnsafeBufferPointer<UInt8>) {
        kinds.append(kind)
        payloads.append(Int64(bytes.count))
        lengths.append(Int32(clamping: text.count))
        bytes.append(contentsOf: text)
    }

    /// A number as JSON writes it.
    func addNumber(_ text: UnsafeBufferPointer<UInt8>) {
        if let value = NumberText.int(text) { add(.int, value) } else { add(.real, text) }
    }

    /// Makes a container that was begun another one.
    func become(_ kind: Kind, at start: Int) { kinds[start] = kind }

    /// Ends the container that began at an index.
    func close(_ start: Int) {
        add(.end)
        payloads[start] = Int64(kinds.count)
    }
}

import MemoryAccounts

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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

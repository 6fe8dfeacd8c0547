/// Opens the nodes of a file, and limits the number of nodes and elements that one pass can read.
///
/// In an intact file every node has one owner, so a pass opens at most one node for every 8 bytes. In a damaged file,
/// nodes may refer to each other in cycles, or claim thousands of elements in 8 bytes. Confined to one thread.
final class NodeReader {
    /// The maximum depth of a tree.
    static let maximumDepth = 20
    /// The maximum number of elements in a leaf of a tree.
    static let maximumLeafCount = 1000

    /// The bytes of the file.
    let bytes: FileBytes
    /// The address after the last node.
    let end: Int

    private var nodesLeft: Int
    private var elementsLeft: Int

    /// The remaining numbers of nodes and elements that may be read.
    var budget: (nodes: Int, elements: Int) {
        get { (nodesLeft, elementsLeft) }
        set { (nodesLeft, elementsLeft) = newValue }
    }

    init(_ bytes: FileBytes, end: Int) {
        self.bytes = bytes
        self.end = end
        nodesLeft = bytes.count / 4 + 1024
        elementsLeft = bytes.count.multipliedReportingOverflow(by: 128).partialValue
        if elementsLeft < 1 << 20 { elementsLeft = 1 << 20 }
    }

    /// Returns the node at an address that another node contains.
    ///
    /// Throws `damaged` if the address or the header is invalid.
    func node(_ reference: Int64) throws -> Node {
        nodesLeft -= 1
        try RealmFileError.require(
            nodesLeft >= 0,
            "its nodes refer to each other in cycles: more nodes than the file can hold")
        return try open(reference)
    }

    /// Opens a node that was counted before, without counting it again.
    func open(_ reference: Int64) throws -> Node {
        try RealmFileError.require(
            reference & 7 == 0 && reference >= 24 && reference < end,
            "\(Self.text(reference)) is not the address of a node")
        let address = Int(reference)
        let header = try bytes.view(address, 8)
        let flags = header[4]
        let width = (1 << Int(flags & 7)) >> 1
        let count = Int(header[5]) << 16 | Int(header[6]) << 8 | Int(header[7])
        let length: Int
        let encoding: Node.Encoding
        switch flags >> 3 & 3 {
        case 0: (encoding, length) = (.integers, (count * width + 7) / 8)
        case 1: (encoding, length) = (.fixed, count * width)
        case 2: (encoding, length) = (.bytes, count)
        default:
            throw RealmFileError.damaged(
                "the node at \(RealmFileError.hex(address)) is compressed, which no released Realm "
                    + "writes")
        }
        let hasReferences = flags & 0x40 != 0
        let isInner = flags & 0x80 != 0
        try RealmFileError.require(
            encoding == .integers || !hasReferences && !isInner,
            "the node at \(RealmFileError.hex(address)) cannot hold addresses")
        try RealmFileError.require(
            address + 8 + length <= bytes.count,
            "the node at \(RealmFileError.hex(address)) is longer than the file")
        return Node(
            address: address, count: count, width: width, encoding: encoding,
            isInner: isInner, hasReferences: hasReferences,
            hasContext: flags & 0x20 != 0, payload: try bytes.view(address + 8, length))
    }

    /// Returns a node that must contain addresses, with a minimum number of elements.
    func references(_ reference: Int64, atLeast count: Int = 0) throws -> Node {
        let node = try node(reference)
        try node.require(
            node.hasReferences && node.count >= count, "the node",
            "holds no \(max(count, 1)) addresses")
        return node
    }

    /// Returns a node that must contain integers, with a maximum number of elements.
    func integers(_ reference: Int64, atMost limit: Int) throws -> Node {
        let node = try node(reference)
        try node.require(node.encoding == .integers, "the node", "holds no integers")
        try check(node, atMost: limit)
        return node
    }

    /// Checks the number of elements before memory for them is allocated.
    func check(_ node: Node, atMost limit: Int) throws {
        try node.require(
            node.count <= limit, "the node",
            "has \(node.count) elements; at most \(limit) are possible")
        try take(elements: node.count)
    }

    /// Counts elements before they are decoded.
    func take(elements: Int) throws {
        elementsLeft -= elements
        try RealmFileError.require(
            elementsLeft >= 0, "it has more elements than a file of its size can hold")
    }

    private static func text(_ reference: Int64) -> String {
        reference < 0 ? "\(reference)" : RealmFileError.hex(Int(reference))
    }
}

/// A node of a Realm file: a header of 8 bytes and an array of packed elements.
///
/// The payload is inside the file; this was checked when the node was opened.
struct Node {
    /// The encoding of the elements in the payload.
    enum Encoding: UInt8 {
        /// Integers with `width` bits.
        case integers
        /// Elements with `width` bytes.
        case fixed
        /// Single bytes.
        case bytes
    }

    /// The address of the header.
    let address: Int
    /// The number of elements.
    let count: Int
    /// The width of an element, in bits for integers and in bytes otherwise.
    let width: Int
    /// The encoding of the elements in the payload.
    let encoding: Encoding
    /// Whether this is an inner node of a tree.
    let isInner: Bool
    /// Whether elements can be addresses of other nodes.
    let hasReferences: Bool
    /// A flag whose meaning depends on the node.
    let hasContext: Bool
    /// The encoded elements.
    let payload: ByteView

    /// Throws `damaged` unless a condition holds; the message consists of a subject, the address and the fault.
    @inline(__always)
    func require(
        _ isSound: Bool, _ subject: @autoclosure () -> String, _ fault: @autoclosure () -> String
    ) throws {
        try RealmFileError.require(
            isSound, "\(subject()) at \(RealmFileError.hex(address)) \(fault())")
    }

    /// Returns the integer at an index below `count`; the node must contain integers.
    @inline(__always)
    func int(_ index: Int) -> Int64 {
        precondition(index >= 0 && index < count && encoding == .integers)
        switch width {
        case 0: return 0
        case 1, 2, 4:
            let bit = index * width
            return Int64(payload[bit >> 3] >> UInt8(bit & 7)) & ((1 << Int64(width)) - 1)
        case 8: return Int64(Int8(truncatingIfNeeded: payload[index]))
        case 16: return Int64(payload.load(index * 2, as: Int16.self))
        case 32: return Int64(payload.load(index * 4, as: Int32.self))
        default: return payload.load(index * 8, as: Int64.self)
        }
    }

    /// Returns the unsigned integer at an index below `count`.
    func unsigned(_ index: Int) -> Int64 {
        let value = int(index)
        return width >= 8 && width < 64 ? value & ((1 << Int64(width)) - 1) : value
    }

    /// Returns the value of a slot; 0 for slots that older files do not have.
    func slot(_ index: Int) -> Int64 {
        index < count ? int(index) : 0
    }

    /// Returns the tagged integer in a slot; 0 if the slot has no tagged integer.
    func tagged(_ index: Int) -> Int64 {
        let value = slot(index)
        return value & 1 == 1 ? Self.untagged(value) : 0
    }

    /// Returns the integer of a tagged value.
    static func untagged(_ value: Int64) -> Int64 {
        Int64(truncatingIfNeeded: UInt64(bitPattern: value) >> 1)
    }

    /// All integers.
    var integers: [Int64] {
        var values: [Int64] = []
        payload.decodeIntegers(width: width, count: count, into: &values)
        return values
    }
}

/// The first 24 bytes of a Realm file, with the addresses of its two newest versions.
struct FileHeader: Hashable {
    /// The signature `T-DB`, little-endian.
    static let mark: UInt32 = 0x4244_2D54
    private static let streamingMark = UInt64.max
    private static let footerCookie: UInt64 = 0x3034_1252_37E5_26C8

    /// A version of the content.
    struct Version: Hashable {
        /// The address of the top node; 0 for a database without content.
        let top: Int
        /// The file format.
        let format: Int
    }

    /// The current version.
    let live: Version
    /// The version of the previous commit; nil if there is none.
    let previous: Version?
    /// Whether the file was written as a copy, with its top address in the last bytes.
    let isStreaming: Bool

    /// Parses the header.
    ///
    /// `isRescuing` accepts a copy whose last bytes are missing; its top address is then 0.
    init(_ bytes: FileBytes, isRescuing: Bool) throws {
        guard bytes.count >= 24 else {
            throw RealmFileError(
                .notRealm,
                bytes.count == 0
                    ? "the file is empty" : "not a Realm file: it has only \(bytes.count) bytes")
        }
        let header = try bytes.view(0, 24)
        guard header.load(16, as: UInt32.self) == Self.mark else {
            throw RealmFileError(
                .notRealm,
                bytes.isEncrypted
                    ? "not a Realm file: its decrypted content has another format"
                    : "not a Realm file, or an encrypted one; add the key if it is encrypted "
                        + "(--key KEY, in Lua key = KEY)")
        }
        let live = Int(header[23] & 1)
        func version(_ index: Int) -> Version? {
            let top = header.load(8 * index, as: UInt64.self)
            guard let top = Int(exactly: top) else { return nil }
            return Version(top: top, format: Int(header[20 + index]))
        }
        let other = version(1 - live)
        previous = other.flatMap { $0.top == 0 ? nil : $0 }
        guard live == 0, header.load(0, as: UInt64.self) == Self.streamingMark else {
            isStreaming = false
            guard let found = version(live) else {
                throw RealmFileError.damaged("the address of the top node is beyond the file")
            }
            self.live = found
            return
        }
        isStreaming = true
        let top = try Self.footer(bytes)
        try RealmFileError.require(
            top != nil || isRescuing,
            "its last bytes are missing; the copy was cut off. Copy the file again, or read what "
                + "is left with --rescue")
        self.live = Version(top: top ?? 0, format: Int(header[20]))
    }

    /// Returns the top address in the last bytes of a copy; nil if they are missing.
    private static func footer(_ bytes: FileBytes) throws -> Int? {
        // An encrypted or padded copy ends with zeros.
        let end = bytes.count & ~7
        let first = max(24, end - (bytes.isEncrypted ? 2 * 4096 : 16))
        var offset = end - 16
        while offset >= first {
            let footer = try bytes.view(offset, 16)
            if footer.load(8, as: UInt64.self) == footerCookie {
                return Int(exactly: footer.load(0, as: UInt64.self))
            }
            offset -= 8
        }
        return nil
    }
}

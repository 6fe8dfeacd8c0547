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
        guard nodesLeft >= 0 else {
            throw RealmFileError.damaged(
                "its nodes refer to each other in cycles: more nodes than the file can hold")
        }
        return try open(reference)
    }

    /// Opens a node that was counted before, without counting it again.
    func open(_ reference: Int64) throws -> Node {
        guard reference & 7 == 0, reference >= 24, reference < end else {
            throw RealmFileError.damaged("\(Self.text(reference)) is not the address of a node")
        }
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
        guard encoding == .integers || !hasReferences && !isInner else {
            throw RealmFileError.damaged(
                "the node at \(RealmFileError.hex(address)) cannot hold addresses")
        }
        guard address + 8 + length <= bytes.count else {
            throw RealmFileError.damaged(
                "the node at \(RealmFileError.hex(address)) is longer than the file")
        }
        return Node(
            address: address, count: count, width: width, encoding: encoding,
            isInner: isInner, hasReferences: hasReferences,
            hasContext: flags & 0x20 != 0, payload: try bytes.view(address + 8, length))
    }

    /// Returns a node that must contain addresses, with a minimum number of elements.
    func references(_ reference: Int64, atLeast count: Int = 0) throws -> Node {
        let node = try node(reference)
        guard node.hasReferences, node.count >= count else {
            throw RealmFileError.damaged(
                "the node at \(RealmFileError.hex(node.address)) holds no \(max(count, 1)) addresses"
            )
        }
        return node
    }

    /// Returns a node that must contain integers, with a maximum number of elements.
    func integers(_ reference: Int64, atMost limit: Int) throws -> Node {
        let node = try node(reference)
        guard node.encoding == .integers else {
            throw RealmFileError.damaged(
                "the node at \(RealmFileError.hex(node.address)) holds no integers")
        }
        try check(node, atMost: limit)
        return node
    }

    /// Checks the number of elements before memory for them is allocated.
    func check(_ node: Node, atMost limit: Int) throws {
        guard node.count <= limit else {
            throw RealmFileError.damaged(
                "the node at \(RealmFileError.hex(node.address)) has \(node.count) elements; at most "
                    + "\(limit) are possible")
        }
        try take(elements: node.count)
    }

    /// Counts elements before they are decoded.
    func take(elements: Int) throws {
        elementsLeft -= elements
        guard elementsLeft >= 0 else {
            throw RealmFileError.damaged("it has more elements than a file of its size can hold")
        }
    }

    private static func text(_ reference: Int64) -> String {
        reference < 0 ? "\(reference)" : RealmFileError.hex(Int(reference))
    }
}

/// A leaf of values of any type: an integer for each, and leaves for values that do not fit in it.
struct MixedLeaf {
    /// The maximum nesting depth of collections.
    static let maximumNesting = 100

    /// The integers, each with the type and either the value, or the leaf that contains the value and its index in this
    /// leaf.
    let composites: Node
    private let integers: Node?
    private let pairs: Node?
    private let texts: [LeafValues.Piece]?
    private let references: Node?

    /// The number of values.
    var count: Int { composites.count }

    init(_ node: Node, _ reader: NodeReader, _ limit: Int) throws {
        try node.require(node.hasReferences && node.count >= 1, "the leaf", "holds no mixed values")
        composites = try reader.integers(node.int(0), atMost: limit)
        func payload(_ slot: Int, _ limit: Int) throws -> Node? {
            let reference = node.slot(slot)
            return reference == 0 ? nil : try reader.integers(reference, atMost: limit)
        }
        // A leaf can still contain values that were replaced.
        integers = try payload(1, limit * 4)
        pairs = try payload(2, limit * 8)
        references = try payload(4, limit * 4)
        if node.slot(3) != 0 {
            var pieces: [LeafValues.Piece] = []
            let leaf = try reader.node(node.int(3))
            try StringLeaf(reader).decode(leaf, isText: true, atMost: limit * 4, into: &pieces)
            texts = pieces
        } else {
            texts = nil
        }
    }

    /// Returns the value of a composite.
    func value(
        of composite: Int64, reader: NodeReader, classes: [Int64: Int], depth: Int
    ) throws -> RealmValue {
        if composite == 0 { return .null }
        let payload = composite >> 5 & 7
        let index = composite >> 8
        switch (composite & 31) - 1 {
        case 0: return .int(payload == 0 ? index : try element(integers, index))
        case 1: return .bool(index != 0)
        case 9:
            let bits = UInt32(truncatingIfNeeded: try element(integers, index))
            return .float(Float(bitPattern: bits))
        case 10:
            return .double(Double(bitPattern: UInt64(bitPattern: try element(integers, index))))
        case 2:
            let piece = try text(index)
            if piece.length == LeafValues.Piece.null { return .string("") }
            return try StringLeaf(reader).value(piece, .string)
        case 4:
            let piece = try text(index)
            if piece.length == LeafValues.Piece.null { return .binary([]) }
            return try StringLeaf(reader).value(piece, .binary)
        case 8:
            let (seconds, nanoseconds) = try pair(index)
            return .timestamp(RealmTimestamp(seconds: seconds, nanoseconds: nanoseconds))
        case 11:
            let (low, high) = try pair(index)
            return .decimal(
                RealmDecimal(high: UInt64(bitPattern: high), low: UInt64(bitPattern: low)))
        case 12:
            let key = try element(integers, index)
            return key < 0 ? .null : .link(RealmLink(target: -1, key: key))
        case 15:
            let bytes = try identifier(index, 12, reader)
            return .objectID(
                RealmObjectID(
                    high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                    low: bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt32($1) }))
        case 16:
            let (table, key) = try pair(index)
            if key < 0 { return .null }
            return .link(RealmLink(target: classes[table & 0x7FFF_FFFF] ?? -1, key: key))
        case 17:
            let bytes = try identifier(index, 16, reader)
            return .uuid(
                RealmUUID(
                    high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                    low: bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }))
        case 19, 20, 21:
            try RealmFileError.require(
                depth < Self.maximumNesting, "collections are nested more than 100 deep")
            let reference = try element(references, index)
            let collections = CollectionReader(reader, classes)
            switch (composite & 31) - 1 {
            case 21: return .dictionary(try collections.entries(reference, depth: depth + 1))
            case 20: return .set(try collections.mixed(reference, depth: depth + 1))
            default: return .list(try collections.mixed(reference, depth: depth + 1))
            }
        case let type: throw RealmFileError.damaged("a mixed value has the unknown type \(type)")
        }
    }

    private func element(_ node: Node?, _ index: Int64) throws -> Int64 {
        guard let node, index >= 0, index < Int64(node.count) else {
            throw RealmFileError.damaged(
                "a mixed value refers to element \(index), which is missing")
        }
        return node.int(Int(index))
    }

    private func pair(_ index: Int64) throws -> (Int64, Int64) {
        guard let pairs, index >= 0, index < Int64(pairs.count / 2) else {
            throw RealmFileError.damaged("a mixed value refers to pair \(index), which is missing")
        }
        return (pairs.int(Int(index) * 2), pairs.int(Int(index) * 2 + 1))
    }

    private func text(_ index: Int64) throws -> LeafValues.Piece {
        guard let texts, index >= 0, index < Int64(texts.count) else {
            throw RealmFileError.damaged("a mixed value refers to text \(index), which is missing")
        }
        return texts[Int(index)]
    }

    private func identifier(_ index: Int64, _ size: Int, _ reader: NodeReader) throws -> [UInt8] {
        let bytes = try StringLeaf(reader).bytes(try text(index))
        try RealmFileError.require(
            bytes.count == size, "an identifier has \(bytes.count) bytes, not \(size)")
        return bytes
    }
}

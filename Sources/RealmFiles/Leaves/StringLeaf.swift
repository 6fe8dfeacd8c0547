/// Finds the texts and byte strings of a leaf.
///
/// Each leaf has one of three forms, even in the same column: short values have equal widths, medium values follow each
/// other in one blob, and each large value has its own blob, which may be split into parts.
struct StringLeaf {
    typealias Piece = LeafValues.Piece

    private let reader: NodeReader

    init(_ reader: NodeReader) { self.reader = reader }

    /// Replaces `pieces` with those of a leaf, with null values marked.
    func decode(
        _ node: Node, isText: Bool, hasOldNulls: Bool = false, atMost limit: Int,
        into pieces: inout [Piece]
    ) throws {
        pieces.removeAll(keepingCapacity: true)
        if !node.hasReferences {
            try node.require(
                (isText || node.count == 0) && (node.encoding == .fixed || node.count == 0),
                "the leaf", "holds no " + (isText ? "texts" : "byte strings"))
            try reader.check(node, atMost: limit)
            try decodeShort(node, &pieces)
        } else if node.hasContext {
            try reader.check(node, atMost: limit)
            try decodeLarge(node, isText, &pieces)
        } else {
            try decodeMedium(
                node, isText: isText, hasOldNulls: hasOldNulls, limit: limit, into: &pieces)
        }
    }

    private func decodeShort(_ node: Node, _ pieces: inout [Piece]) throws {
        let width = node.width
        let start = node.address + 8
        let bytes = node.payload
        pieces.reserveCapacity(node.count)
        for index in 0..<node.count {
            guard width > 0 else {
                pieces.append(Piece(start: 0, length: Piece.null))
                continue
            }
            // The last byte is the number of unused bytes before it; the width itself means null.
            let unused = Int(bytes[(index + 1) * width - 1])
            try node.require(unused <= width, "a text", "has \(unused) unused bytes of \(width)")
            let length = width - 1 - unused
            pieces.append(
                Piece(start: start + index * width, length: length < 0 ? Piece.null : length))
        }
    }

    private func decodeMedium(
        _ node: Node, isText: Bool, hasOldNulls: Bool, limit: Int, into pieces: inout [Piece]
    ) throws {
        try node.require(node.count >= 2, "the leaf", "has no offsets or bytes")
        let ends = try reader.integers(node.int(0), atMost: limit)
        let blob = try reader.node(node.int(1))
        try blob.require(blob.encoding == .bytes || blob.count == 0, "the node", "holds no bytes")
        var nulls: Node?
        if node.slot(2) != 0 {
            let marks = try reader.integers(node.int(2), atMost: limit)
            try node.require(
                marks.count >= ends.count, "\(ends.count) values",
                "have \(marks.count) null marks")
            nulls = marks
        }
        pieces.reserveCapacity(ends.count)
        var start: Int64 = 0
        for index in 0..<ends.count {
            let end = ends.int(index)
            try node.require(
                end >= start && end <= Int64(blob.count), "value \(index)",
                "ends at \(end) of \(blob.count) bytes")
            let isNull = nulls.map { ($0.int(index) == 0) == hasOldNulls } ?? false
            // A text ends with a zero byte.
            let length = Int(end - start) - (isText && end > start ? 1 : 0)
            pieces.append(
                Piece(
                    start: blob.address + 8 + Int(start), length: isNull ? Piece.null : length))
            start = end
        }
    }

    private func decodeLarge(_ node: Node, _ isText: Bool, _ pieces: inout [Piece]) throws {
        pieces.reserveCapacity(node.count)
        for index in 0..<node.count {
            let reference = node.int(index)
            guard reference != 0 else {
                pieces.append(Piece(start: 0, length: Piece.null))
                continue
            }
            let blob = try reader.node(reference)
            if blob.hasReferences {
                try blob.require(blob.hasContext, "the node", "holds no bytes")
                pieces.append(Piece(start: blob.address, length: Piece.parts))
                continue
            }
            try blob.require(
                blob.encoding == .bytes || blob.count == 0, "the node", "holds no bytes")
            let length = isText && blob.count > 0 ? blob.count - 1 : blob.count
            pieces.append(Piece(start: blob.address + 8, length: length))
        }
    }

    /// Returns the value of a piece.
    func value(_ piece: Piece, _ type: RealmType) throws -> RealmValue {
        switch piece.length {
        case Piece.null: return .null
        case Piece.parts:
            let bytes = try joined(piece)
            guard type == .string else { return .binary(bytes) }
            return String(validating: bytes, as: UTF8.self).map(RealmValue.string)
                ?? .malformedString(bytes)
        default:
            let view = try reader.bytes.view(piece.start, piece.length)
            guard type == .string else { return .binary(view.array) }
            return view.text.map(RealmValue.string) ?? .malformedString(view.array)
        }
    }

    /// Returns the bytes of a piece that is not null.
    func bytes(_ piece: Piece) throws -> [UInt8] {
        piece.length == Piece.parts
            ? try joined(piece) : try reader.bytes.view(piece.start, max(piece.length, 0)).array
    }

    /// Returns the bytes of a value that is split into parts.
    ///
    /// Unlike other texts, such a text does not end with a zero byte.
    private func joined(_ piece: Piece) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try append(Int64(piece.start), 0, &bytes)
        return bytes
    }

    private func append(_ reference: Int64, _ depth: Int, _ bytes: inout [UInt8]) throws {
        try RealmFileError.require(depth < 4, "the parts of a value are nested")
        let blob = try reader.node(reference)
        if blob.hasReferences {
            try reader.take(elements: blob.count)
            for index in 0..<blob.count { try append(blob.int(index), depth + 1, &bytes) }
            return
        }
        try blob.require(
            (blob.encoding == .bytes || blob.count == 0)
                && bytes.count + blob.count <= reader.bytes.count, "the parts of a value",
            "are longer than the file")
        bytes += blob.payload.array
    }
}

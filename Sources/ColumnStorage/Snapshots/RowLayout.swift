/// The layout of a row of the tail in its node.
///
/// The layout depends on the table's definition, so the tail is packed before the definition changes.
///
///     0   u8   1 = a row; 0 = the row was deleted, and no bytes follow
///     1        a bit for each column: null
///              a bit for each column: the value is in the table of long values
///              the values of fixed size, in the order of the columns
///              u32 end of each text value, then the bytes of all of them
///
/// For a long value, the length in eight bytes replaces the text.
struct RowLayout {
    static let row: UInt8 = 1
    static let gone: UInt8 = 0

    /// The location of a column's value: an offset, or the number of a text value.
    ///
    /// It is -1 for a hole.
    private(set) var offsets: [Int] = []
    private(set) var kinds: [ColumnKind] = []
    private(set) var texts = 0
    let bitmapBytes: Int
    /// The offset of the ends of the text values.
    let endsOffset: Int

    init(_ definition: TableDefinition) {
        bitmapBytes = (definition.columns.count + 7) / 8
        var offset = 1 + 2 * bitmapBytes
        for column in definition.columns {
            kinds.append(column.kind)
            if column.isDropped {
                offsets.append(-1)
            } else if column.kind == .string || column.kind == .data {
                offsets.append(texts)
                texts += 1
            } else {
                offsets.append(offset)
                offset += UnpackedLeaf.width(of: column.kind)
            }
        }
        endsOffset = offset
    }

    var textOffset: Int { endsOffset + 4 * texts }

    func isText(_ column: Int) -> Bool { kinds[column] == .string || kinds[column] == .data }

    /// Returns whether the bytes are a valid node for the functions below.
    func isWhole(_ node: UnsafeRawBufferPointer) -> Bool {
        guard let form = node.first else { return false }
        if form == Self.gone { return node.count == 1 }
        guard form == Self.row, node.count >= textOffset else { return false }
        var last = 0
        for text in 0..<texts {
            let end = self.end(of: text, node)
            guard end >= last else { return false }
            last = end
        }
        return node.count == textOffset + last
    }

    private func end(of text: Int, _ node: UnsafeRawBufferPointer) -> Int {
        Int(node.loadUnaligned(fromByteOffset: endsOffset + 4 * text, as: UInt32.self))
    }

    func isNull(_ column: Int, _ node: UnsafeRawBufferPointer) -> Bool {
        node[1 + column >> 3] >> UInt8(column & 7) & 1 != 0
    }

    func isLong(_ column: Int, _ node: UnsafeRawBufferPointer) -> Bool {
        node[1 + bitmapBytes + column >> 3] >> UInt8(column & 7) & 1 != 0
    }

    func text(_ column: Int, _ node: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let offset = offsets[column]
        let start = offset == 0 ? 0 : end(of: offset - 1, node)
        return UnsafeRawBufferPointer(
            rebasing: node[textOffset + start..<textOffset + end(of: offset, node)])
    }

    /// Reads the value of one column from a node into an unpacked leaf, and copies its text to `arena`.
    func read(
        _ column: Int, of node: UnsafeRawBufferPointer, into leaf: UnpackedLeaf, row: Int,
        arena: TextArena
    ) {
        let offset = offsets[column]
        // because: a valid node is not empty.
        guard offset >= 0, let base = node.baseAddress else { return }
        leaf.setNull(row, isNull(column, node))
        guard isText(column) else {
            let width = UnpackedLeaf.width(of: kinds[column])
            (leaf.payload + width * row).copyMemory(from: base + offset, byteCount: width)
            return
        }
        let bytes = text(column, node)
        var longs = leaf.longs
        if isLong(column, node) {
            longs.insert(row)
            leaf.setElsewhere(
                row, count: bytes.count == 8 ? max(0, bytes.loadUnaligned(as: Int.self)) : 0)
        } else {
            longs.remove(row)
            leaf.setPointer(row, arena.copy(bytes))
        }
        leaf.longs = longs
    }

    /// Returns the size in bytes of a row's node.
    func size(_ leaves: [UnpackedLeaf], _ row: Int) -> Int {
        var size = textOffset
        for column in kinds.indices where isText(column) && offsets[column] >= 0 {
            let leaf = leaves[column + 1]
            size += leaf.longs.contains(row) ? LeafFormat.longMarkSize : leaf.pointer(row).count
        }
        return size
    }

    /// Writes the node of a row from the unpacked leaves of its slots; long values are marked in their leaves.
    func write(_ leaves: [UnpackedLeaf], _ row: Int, to node: UnsafeMutableRawBufferPointer) {
        guard let base = node.baseAddress else { return }
        base.initializeMemory(as: UInt8.self, repeating: 0, count: 1 + 2 * bitmapBytes)
        base.storeBytes(of: Self.row, as: UInt8.self)
        var end = 0
        for column in kinds.indices where offsets[column] >= 0 {
            let leaf = leaves[column + 1]
            if leaf.isNull(row) { node[1 + column >> 3] |= 1 << UInt8(column & 7) }
            guard isText(column) else {
                let width = UnpackedLeaf.width(of: kinds[column])
                (base + offsets[column]).copyMemory(
                    from: leaf.payload + width * row, byteCount: width)
                continue
            }
            let (address, count) = leaf.pointer(row)
            if leaf.longs.contains(row) {
                node[1 + bitmapBytes + column >> 3] |= 1 << UInt8(column & 7)
                (base + textOffset + end).storeBytes(of: count, as: Int.self)
                end += LeafFormat.longMarkSize
            } else if let address, count > 0 {
                (base + textOffset + end).copyMemory(from: address, byteCount: count)
                end += count
            }
            base.storeBytes(
                of: UInt32(truncatingIfNeeded: end),
                toByteOffset: endsOffset + 4 * offsets[column], as: UInt32.self)
        }
    }
}

/// Checks that bytes from the file are a leaf that the inlined readers can read without further checks.
///
/// The check runs once, when an address is added to a directory. Text offsets are checked at each read, against the
/// size that is checked here.
enum LeafCheck {
    static func isWhole(_ bytes: UnsafeRawBufferPointer, _ kind: ColumnKind) -> Bool {
        guard bytes.count >= LeafFormat.headerSize, let address = bytes.baseAddress else {
            return false
        }
        let leaf = Leaf(address)
        let rows = address.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
        guard rows == UInt16(Cluster.rows), leaf.flags & ~3 == 0 else { return false }
        guard let size = payloadSize(leaf, kind, bytes.count) else { return false }
        let bitmaps = (leaf.hasNulls ? 1 : 0) + (leaf.hasLong ? 1 : 0)
        return LeafFormat.headerSize + bitmaps * Cluster.bitmapBytes + size <= bytes.count
    }

    /// Returns the minimum size of the payload; nil if the encoding does not belong to the kind.
    private static func payloadSize(_ leaf: Leaf, _ kind: ColumnKind, _ available: Int) -> Int? {
        let encoding = leaf.encoding
        switch kind {
        case .bool, .int, .link, .list:
            guard !leaf.hasLong else { return nil }
            return switch encoding {
            case LeafEncoding.constant: 0
            case LeafEncoding.bits1: Cluster.bitmapBytes
            case LeafEncoding.bits8: Cluster.rows
            case LeafEncoding.bits16: 2 * Cluster.rows
            case LeafEncoding.bits32: 4 * Cluster.rows
            case LeafEncoding.bits64: 8 * Cluster.rows
            default: nil
            }
        case .float:
            guard !leaf.hasLong else { return nil }
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.float ? 4 * Cluster.rows : nil
        case .double:
            guard !leaf.hasLong else { return nil }
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.double ? 8 * Cluster.rows : nil
        case .bytes12:
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.fixed12 ? 12 * Cluster.rows : nil
        case .bytes16:
            if encoding == LeafEncoding.constant { return 0 }
            return encoding == LeafEncoding.fixed16 ? 16 * Cluster.rows : nil
        case .string, .data:
            return switch encoding {
            case LeafEncoding.constant: 0
            case LeafEncoding.text16: 2 * Cluster.rows + leaf.textSize
            case LeafEncoding.text32: 4 * Cluster.rows + leaf.textSize
            case LeafEncoding.dictionary:
                leaf.entryCount <= 256
                    ? Cluster.rows + 2 * leaf.entryCount + leaf.textSize : nil
            default: nil
            }
        }
    }
}

/// The leaves that are read instead of missing ones.
enum LeafDefaults {
    // because: the leaves are written once here and only read afterward.
    nonisolated(unsafe) static let zeros = make(nulls: false)
    nonisolated(unsafe) static let nulls = make(nulls: true)
    nonisolated(unsafe) static let absent: UnsafeRawPointer = {
        let bits = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
        bits.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
        return UnsafeRawPointer(bits)
    }()

    private static func make(nulls: Bool) -> UnsafeRawPointer {
        let size = LeafFormat.headerSize + Cluster.bitmapBytes
        let leaf = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        leaf.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        leaf.storeBytes(of: UInt16(Cluster.rows), toByteOffset: 2, as: UInt16.self)
        if nulls {
            leaf.storeBytes(of: LeafFormat.hasNulls, toByteOffset: 1, as: UInt8.self)
            (leaf + LeafFormat.headerSize).initializeMemory(
                as: UInt8.self, repeating: 0xFF, count: Cluster.bitmapBytes)
        }
        return UnsafeRawPointer(leaf)
    }

    /// Returns the leaf with the values of a column's rows before they are set.
    static func leaf(for column: ColumnDefinition) -> UnsafeRawPointer {
        column.isOptional && column.kind != .link && column.kind != .list ? nulls : zeros
    }
}

/// The decoded values of one leaf.
///
/// Texts and bytes stay in the file and are read on demand. One instance is reused for many leaves.
final class LeafValues {
    /// The location of a text or a byte string.
    struct Piece {
        /// The address of the bytes, or of the node that lists the parts of a large value.
        var start: Int
        /// The number of bytes, ``null`` or ``parts``.
        var length: Int

        static let null = -1
        static let parts = -2
    }

    let form: ElementForm
    let reader: NodeReader
    /// The index of each class by its table key in typed links.
    let classes: [Int64: Int]
    private(set) var count = 0
    /// Integers, booleans, bit patterns of numbers, seconds, object keys, or the upper part of longer values.
    private(set) var numbers: [Int64] = []
    /// Nanoseconds, or the lower part of longer values.
    private(set) var others: [Int64] = []
    /// Whether each element is null; meaningful if ``hasNulls`` is true.
    private(set) var nulls: [Bool] = []
    private(set) var hasNulls = false
    private(set) var pieces: [Piece] = []
    private var mixed: MixedLeaf?
    private var enumeration: [Piece]?

    init(_ form: ElementForm, _ reader: NodeReader, _ classes: [Int64: Int]) {
        self.form = form
        self.reader = reader
        self.classes = classes
    }

    /// Decodes a leaf.
    ///
    /// `limit` is the maximum number of elements. Throws `damaged` if the leaf is inconsistent.
    func decode(_ node: Node, atMost limit: Int) throws {
        hasNulls = false
        switch form.type {
        case .int: try decodeInts(node, limit)
        case .bool: try decodeBools(node, limit)
        case .string, .binary: try decodePieces(node, limit)
        case .timestamp: try decodeTimestamps(node, limit)
        case .float: try decodeFloats(node, limit, bytes: 4, null: 0x7FC0_00AA)
        case .double: try decodeFloats(node, limit, bytes: 8, null: 0x7FF8_0000_0000_00AA)
        case .decimal: try decodeDecimals(node, limit)
        case .link: try decodeLinks(node, limit)
        case .objectID: try decodeFixed(node, limit, size: 12)
        case .uuid: try decodeFixed(node, limit, size: 16)
        case .mixed: try decodeMixed(node, limit)
        case .table: try decodePlain(node, limit)
        }
    }

    /// Replaces the values of a leaf that cannot be read with nulls.
    func decodeNothing(count: Int) {
        self.count = count
        mixed = nil
        fill(&numbers, count)
        fill(&others, count)
        pieces = Array(repeating: Piece(start: 0, length: Piece.null), count: count)
        nulls = Array(repeating: true, count: count)
        hasNulls = true
        isLost = true
    }

    /// Whether the leaf could not be read and its values were replaced with nulls.
    private(set) var isLost = false

    /// Returns whether an element is null; true for all elements of a leaf that could not be read.
    func isNull(_ index: Int) -> Bool {
        if isLost { return true }
        switch form.type {
        case .string, .binary: return pieces[index].length == Piece.null
        case .mixed: return numbers[index] == 0
        default: return hasNulls && nulls[index]
        }
    }

    // MARK: - Decoding

    private func integers(_ node: Node, _ limit: Int) throws {
        try node.require(node.encoding == .integers, "the leaf", "holds no integers")
        try reader.check(node, atMost: limit)
    }

    private func begin(_ count: Int) {
        self.count = count
        isLost = false
    }

    private func fill(_ values: inout [Int64], _ count: Int) {
        if values.count < count {
            values.append(contentsOf: repeatElement(0, count: count - values.count))
        }
    }

    private func prepareNulls(_ count: Int) {
        if nulls.count < count {
            nulls.append(contentsOf: repeatElement(false, count: count - nulls.count))
        }
        hasNulls = true
    }

    private func decodePlain(_ node: Node, _ limit: Int) throws {
        try integers(node, limit)
        begin(node.count)
        node.payload.decodeIntegers(width: node.width, count: node.count, into: &numbers)
    }

    /// Decodes integers; the first one is the representation of null.
    private func decodeNullable(_ node: Node, _ limit: Int) throws {
        try decodePlain(node, limit + 1)
        guard count > 0 else { return }
        let null = numbers[0]
        numbers.withUnsafeMutableBufferPointer { numbers in
            for index in 1..<count { numbers[index - 1] = numbers[index] }
        }
        count -= 1
        prepareNulls(count)
        for index in 0..<count { nulls[index] = numbers[index] == null }
    }

    private func decodeInts(_ node: Node, _ limit: Int) throws {
        if form.isNullable { try decodeNullable(node, limit) } else { try decodePlain(node, limit) }
    }

    private func decodeBools(_ node: Node, _ limit: Int) throws {
        if form.isNullable, form.isOld { return try decodeNullable(node, limit) }
        try decodePlain(node, limit)
        guard form.isNullable else { return }
        prepareNulls(count)
        for index in 0..<count { nulls[index] = numbers[index] == 3 }
    }

    private func decodeTimestamps(_ node: Node, _ limit: Int) throws {
        if form.isOldDate {
            if form.isNullable {
                try decodeNullable(node, limit)
            } else {
                try decodePlain(node, limit)
            }
            fill(&others, count)
            for index in 0..<count { others[index] = 0 }
            return
        }
        try node.require(
            node.hasReferences && node.count >= 2, "the dates", "have no seconds or nanoseconds")
        let nanoseconds = try reader.integers(node.int(1), atMost: limit)
        nanoseconds.payload.decodeIntegers(
            width: nanoseconds.width, count: nanoseconds.count, into: &others)
        try decodeNullable(try reader.integers(node.int(0), atMost: limit + 1), limit)
        try node.require(
            nanoseconds.count == count, "\(count) dates",
            "have \(nanoseconds.count) nanoseconds")
    }

    private func decodeFloats(_ node: Node, _ limit: Int, bytes: Int, null: Int64) throws {
        try reader.check(node, atMost: limit)
        begin(node.count)
        if node.width == 0 || node.count == 0 {
            fill(&numbers, count)
            for index in 0..<count { numbers[index] = 0 }
            return
        }
        try node.require(
            node.encoding == .fixed && node.width == bytes, "the numbers",
            "have \(node.width) bytes each, not \(bytes)")
        node.payload.decodeIntegers(width: bytes * 8, count: count, into: &numbers)
        guard form.isNullable else { return }
        prepareNulls(count)
        for index in 0..<count { nulls[index] = numbers[index] == null }
    }

    private func decodeDecimals(_ node: Node, _ limit: Int) throws {
        try reader.check(node, atMost: limit)
        try node.require(
            node.width == 0 || node.encoding == .fixed && [4, 8, 16].contains(node.width),
            "the decimals", "have \(node.width) bytes each")
        begin(node.count)
        fill(&numbers, count)
        fill(&others, count)
        prepareNulls(count)
        let bytes = node.payload
        for index in 0..<count {
            var value: RealmDecimal?
            switch node.width {
            case 0: value = node.hasContext ? .zero : nil
            case 4:
                let bits = bytes.load(index * 4, as: UInt32.self)
                value = bits == 0x7C00_00AA ? nil : RealmDecimal(bits32: bits)
            case 8:
                let bits = bytes.load(index * 8, as: UInt64.self)
                value = bits == 0x7C00_0000_0000_00AA ? nil : RealmDecimal(bits64: bits)
            default:
                let low = bytes.load(index * 16, as: UInt64.self)
                let high = bytes.load(index * 16 + 8, as: UInt64.self)
                let isNull = low == 0xAA && high == 0x7C00_0000_0000_0000
                value = isNull ? nil : RealmDecimal(high: high, low: low)
            }
            nulls[index] = value == nil
            numbers[index] = Int64(bitPattern: value?.high ?? 0)
            others[index] = Int64(bitPattern: value?.low ?? 0)
        }
    }

    private func decodeLinks(_ node: Node, _ limit: Int) throws {
        if form.isTypedLink { return try decodeTypedLinks(node, limit) }
        try decodePlain(node, limit)
        prepareNulls(count)
        for index in 0..<count {
            numbers[index] &-= form.linkOffset
            nulls[index] = numbers[index] < 0
        }
    }

    private func decodeTypedLinks(_ node: Node, _ limit: Int) throws {
        try decodePlain(node, limit * 2)
        try node.require(count % 2 == 0, "the links", "have an odd number of parts")
        count /= 2
        prepareNulls(count)
        fill(&others, count)
        for index in 0..<count {
            let table = numbers[index * 2]
            others[index] = (table &- 1) & 0x7FFF_FFFF
            numbers[index] = numbers[index * 2 + 1] &- 1
            nulls[index] = table == 0 || numbers[index] < 0
        }
    }

    /// Decodes object ids or UUIDs, stored in blocks of a byte of null flags and 8 values.
    private func decodeFixed(_ node: Node, _ limit: Int, size: Int) throws {
        let block = size * 8 + 1
        let found = (node.count - (node.count + block - 1) / block) / size
        try node.require(
            (node.encoding == .fixed || node.count == 0 || node.width == 0) && node.width <= 1
                && found <= limit, "the identifiers", "are not valid")
        try reader.take(elements: found)
        begin(found)
        fill(&numbers, found)
        fill(&others, found)
        prepareNulls(found)
        let bytes = node.payload
        for index in 0..<found {
            let start = index / 8 * block
            nulls[index] = node.width == 0 || bytes[start] >> UInt8(index % 8) & 1 == 1
            guard !nulls[index] else { continue }
            let value = start + 1 + index % 8 * size
            numbers[index] = Int64(bigEndian: bytes.load(value, as: Int64.self))
            others[index] =
                size == 16
                ? Int64(bigEndian: bytes.load(value + 8, as: Int64.self))
                : Int64(UInt32(bigEndian: bytes.load(value + 8, as: UInt32.self)))
        }
    }

    private func decodePieces(_ node: Node, _ limit: Int) throws {
        let isText = form.type == .string
        if isText, !node.hasReferences, node.encoding == .integers,
            form.enumeration != 0 || node.count > 0
        {
            try decodeEnumerated(node, limit)
        } else {
            try StringLeaf(reader).decode(
                node, isText: isText, hasOldNulls: isText && form.isOld, atMost: limit,
                into: &pieces)
            begin(pieces.count)
        }
        guard !form.isNullable else { return }
        for index in 0..<count where pieces[index].length == Piece.null {
            pieces[index] = Piece(start: 24, length: 0)
        }
    }

    private func decodeEnumerated(_ node: Node, _ limit: Int) throws {
        try node.require(form.enumeration != 0, "the texts", "are numbers without a list of texts")
        if enumeration == nil {
            var all: [Piece] = []
            var some: [Piece] = []
            let leaf = StringLeaf(reader)
            try reader.forEachLeaf(form.enumeration) { node in
                try leaf.decode(
                    node, isText: true, hasOldNulls: form.isOld,
                    atMost: NodeReader.maximumLeafCount,
                    into: &some)
                all += some
                return some.count
            }
            enumeration = all
        }
        let texts = enumeration ?? []
        try decodePlain(node, limit)
        pieces.removeAll(keepingCapacity: true)
        for index in 0..<count {
            let number = numbers[index]
            try RealmFileError.require(
                number >= 0 && number < Int64(texts.count),
                "text number \(number) of \(texts.count)")
            pieces.append(texts[Int(number)])
        }
    }

    private func decodeMixed(_ node: Node, _ limit: Int) throws {
        let leaf = try MixedLeaf(node, reader, limit)
        begin(leaf.count)
        leaf.composites.payload.decodeIntegers(
            width: leaf.composites.width, count: leaf.count, into: &numbers)
        mixed = leaf
    }

    /// Copies plain values to cells.
    func copy(_ range: Range<Int>, to cells: PlainCells, at start: Int) {
        if isLost {
            cells.setNull(start..<start + range.count)
        } else if form.type == .string || form.type == .binary {
            cells.set(start, pieces: pieces[range])
        } else {
            cells.set(start, numbers: numbers[range], nulls: hasNulls ? nulls[range] : nil)
        }
    }

    // MARK: - Values

    /// Returns the value of an element.
    ///
    /// `depth` is the number of enclosing collections.
    func value(_ index: Int, depth: Int = 0) throws -> RealmValue {
        if form.type != .mixed, isNull(index) { return .null }
        let number = numbers.count > index ? numbers[index] : 0
        switch form.type {
        case .int, .table: return .int(number)
        case .bool: return .bool(number != 0)
        case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: number)))
        case .double: return .double(Double(bitPattern: UInt64(bitPattern: number)))
        case .timestamp:
            return .timestamp(RealmTimestamp(seconds: number, nanoseconds: others[index]))
        case .decimal:
            return .decimal(
                RealmDecimal(
                    high: UInt64(bitPattern: number), low: UInt64(bitPattern: others[index])))
        case .objectID:
            return .objectID(
                RealmObjectID(
                    high: UInt64(bitPattern: number), low: UInt32(truncatingIfNeeded: others[index])
                ))
        case .uuid:
            return .uuid(
                RealmUUID(high: UInt64(bitPattern: number), low: UInt64(bitPattern: others[index])))
        case .link:
            let target = form.isTypedLink ? classes[others[index]] ?? -1 : form.target
            return .link(RealmLink(target: target, key: number))
        case .string, .binary: return try StringLeaf(reader).value(pieces[index], form.type)
        case .mixed:
            if isLost { return .null }
            return try mixed?.value(of: number, reader: reader, classes: classes, depth: depth)
                ?? .null
        }
    }
}

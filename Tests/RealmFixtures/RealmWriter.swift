import RealmFiles

/// Writes Realm files in the streaming form, for tests of their reader.
///
/// Uses every form of leaf that Realm writes, with small leaves, so that few rows form trees.
package struct RealmWriter {
    /// A table to write.
    package struct Table {
        package var name: String
        package var kind = RealmClass.Kind.object
        package var properties: [Property]
        package var primaryKey: Int?
        /// The rows by object key, ascending; in formats below 10 keys count from 0.
        package var rows: [(key: Int64, values: [RealmValue])]

        package init(
            _ name: String, _ properties: [Property], kind: RealmClass.Kind = .object,
            primaryKey: Int? = nil, rows: [(key: Int64, values: [RealmValue])] = []
        ) {
            self.name = name
            self.kind = kind
            self.properties = properties
            self.primaryKey = primaryKey
            self.rows = rows
        }
    }

    /// A property to write.
    package struct Property {
        package var name: String
        package var type: RealmType
        package var isNullable: Bool
        package var collection: RealmCollection?
        /// The index of the target table of links.
        package var target: Int?
        package var isIndexed: Bool

        package init(
            _ name: String, _ type: RealmType, isNullable: Bool = false,
            collection: RealmCollection? = nil, target: Int? = nil, isIndexed: Bool = false
        ) {
            self.name = name
            self.type = type
            self.isNullable = isNullable
            self.collection = collection
            self.target = target
            self.isIndexed = isIndexed
        }
    }

    /// The maximum number of elements of a B+tree leaf.
    static let leafCount = 5

    let format: Int
    /// The maximum number of rows of a cluster.
    let clusterSize: Int
    /// The number of bytes between the header and the first node.
    private let hole: Int
    private(set) var bytes = [UInt8](repeating: 0, count: 24)

    /// Creates a file with these tables, with at most this number of rows in a cluster: Realm's own files have 256.
    ///
    /// `hole` bytes are missing after the header; ``write(_:to:hole:)`` adds them.
    package static func file(
        format: Int, clusterSize: Int = 20, hole: Int = 0, _ tables: [Table]
    ) -> [UInt8] {
        var writer = RealmWriter(format: format, clusterSize: clusterSize, hole: hole)
        let references =
            format < 10
            ? tables.indices.map { writer.oldTable($0, tables) }
            : tables.indices.map { writer.table($0, tables) }
        return writer.finish(tables.map(\.name), references)
    }

    private init(format: Int, clusterSize: Int, hole: Int) {
        self.hole = hole
        self.format = format
        self.clusterSize = clusterSize
    }

    private mutating func finish(_ names: [String], _ tables: [Int64]) -> [UInt8] {
        let nameLeaf = strings(names.map { Array($0.utf8) })
        let list = references(tables)
        // The logical size is part of the last node, whose width a first attempt determines.
        let start = bytes.count
        var size = hole + start
        var top: Int64 = 0
        for _ in 0..<3 {
            bytes.removeLast(bytes.count - start)
            top = references([nameLeaf, list, Self.tagged(Int64(size))])
            size = hole + bytes.count
        }
        bytes.replaceSubrange(0..<8, with: [UInt8](repeating: 0xFF, count: 8))
        bytes.replaceSubrange(16..<20, with: Array("T-DB".utf8))
        bytes[20] = UInt8(format)
        append(UInt64(top))
        append(0x3034_1252_37E5_26C8 as UInt64)
        return bytes
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    static func tagged(_ value: Int64) -> Int64 { value << 1 | 1 }

    // MARK: - Nodes

    /// Writes a node; `width` is the code of the header, 0 to 7.
    mutating func node(_ flags: UInt8, width: UInt8, count: Int, _ payload: [UInt8]) -> Int64 {
        let address = hole + bytes.count
        bytes += [0x41, 0x41, 0x41, 0x41, flags | width]
        bytes += [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        bytes += payload
        while bytes.count % 8 != 0 { bytes.append(0) }
        return Int64(address)
    }

    /// Writes integers in the narrowest width.
    mutating func integers(_ values: [Int64], flags: UInt8 = 0) -> Int64 {
        let minimum = values.min() ?? 0
        let maximum = values.max() ?? 0
        let code: UInt8
        switch (minimum, maximum) {
        case (0, 0): code = 0
        case (0..., ...1): code = 1
        case (0..., ...3): code = 2
        case (0..., ...15): code = 3
        case (Int64(-128)..., ...127): code = 4
        case (Int64(-32768)..., ...32767): code = 5
        case (Int64(-2_147_483_648)..., ...2_147_483_647): code = 6
        default: code = 7
        }
        let width = (1 << Int(code)) >> 1
        var payload = [UInt8](repeating: 0, count: (values.count * width + 7) / 8)
        for (index, value) in values.enumerated() where width > 0 {
            let bit = index * width
            if width < 8 {
                payload[bit / 8] |= UInt8(value) << UInt8(bit % 8)
            } else {
                for byte in 0..<width / 8 {
                    payload[bit / 8 + byte] = UInt8(truncatingIfNeeded: value >> (8 * Int64(byte)))
                }
            }
        }
        return node(flags, width: code, count: values.count, payload)
    }

    /// Writes addresses and tagged integers.
    mutating func references(_ values: [Int64], isInner: Bool = false, hasContext: Bool = false)
        -> Int64
    {
        integers(values, flags: 0x40 | (isInner ? 0x80 : 0) | (hasContext ? 0x20 : 0))
    }

    /// Writes a B+tree of elements, given a function that writes a leaf.
    mutating func tree<Element>(
        _ elements: [Element], _ leaf: (inout RealmWriter, [Element]) -> Int64
    ) -> Int64 {
        guard elements.count > Self.leafCount else { return leaf(&self, elements) }
        // Creates two levels of inner nodes for many leaves.
        var level: [(address: Int64, count: Int)] = stride(
            from: 0, to: elements.count, by: Self.leafCount
        ).map { start in
            let part = Array(elements[start..<min(start + Self.leafCount, elements.count)])
            return (leaf(&self, part), part.count)
        }
        var perChild = Self.leafCount
        while level.count > 1 {
            level = stride(from: 0, to: level.count, by: 4).map { start in
                let children = level[start..<min(start + 4, level.count)]
                let total = children.reduce(0) { $0 + $1.count }
                let head = Self.tagged(Int64(perChild))
                return (
                    references(
                        [head] + children.map(\.address) + [Self.tagged(Int64(total))],
                        isInner: true), total
                )
            }
            perChild *= 4
        }
        return level[0].address
    }

    // MARK: - Leaves

    /// Writes texts or byte strings: short, medium or large, depending on the longest one.
    mutating func strings(_ values: [[UInt8]?], isText: Bool = true, isOld: Bool = false) -> Int64 {
        let longest = values.map { $0?.count ?? 0 }.max() ?? 0
        if isText, longest < 16 {
            var code: UInt8 = 1
            while (1 << Int(code)) >> 1 <= longest { code += 1 }
            let width = (1 << Int(code)) >> 1
            let payload = values.flatMap { value -> [UInt8] in
                guard let value else {
                    return [UInt8](repeating: 0, count: width - 1) + [UInt8(width)]
                }
                return value + [UInt8](repeating: 0, count: width - 1 - value.count)
                    + [UInt8(width - 1 - value.count)]
            }
            return node(0x08, width: code, count: values.count, payload)
        }
        if longest < 64 {
            var ends: [Int64] = []
            var all: [UInt8] = []
            for value in values {
                all += (value ?? []) + (isText ? [0] : [])
                ends.append(Int64(all.count))
            }
            let offsets = integers(ends)
            let blob = node(0x10, width: 0, count: all.count, all)
            // In formats below 10, texts have a mark for values other than null.
            let marks = values.map { Int64(($0 == nil) != (isOld && isText) ? 1 : 0) }
            let nulls = integers(marks)
            return references([offsets, blob, nulls])
        }
        let blobs = values.map { value -> Int64 in
            guard let value else { return 0 }
            let stored = value + (isText ? [0] : [])
            return node(0x10, width: 0, count: stored.count, stored)
        }
        return references(blobs, hasContext: true)
    }

    private mutating func nullable(_ values: [Int64?]) -> Int64 {
        let used = Set(values.compactMap { $0 })
        var null: Int64 = 0
        while used.contains(null) { null += 1 }
        return integers([null] + values.map { $0 ?? null })
    }

    private mutating func identifiers(_ values: [[UInt8]?], size: Int) -> Int64 {
        var payload: [UInt8] = []
        for start in stride(from: 0, to: values.count, by: 8) {
            let group = values[start..<min(start + 8, values.count)]
            var marks: UInt8 = 0
            for (index, value) in group.enumerated() where value == nil {
                marks |= 1 << UInt8(index)
            }
            payload.append(marks)
            for value in group { payload += value ?? [UInt8](repeating: 0, count: size) }
        }
        return node(0x08, width: 1, count: payload.count, payload)
    }

    private mutating func decimals(_ values: [RealmDecimal?]) -> Int64 {
        let isNarrow =
            format >= 24
            && values.allSatisfy { value in
                guard let value else { return true }
                return !value.isNotANumber && !value.isInfinite && value.parts.coefficient < 1 << 53
                    && abs(value.parts.exponent) < 369
            }
        var payload: [UInt8] = []
        func add(_ number: UInt64) {
            withUnsafeBytes(of: number.littleEndian) { payload += $0 }
        }
        for value in values {
            if isNarrow {
                let bits = value.map {
                    ($0.isNegative ? 1 << 63 : 0) | UInt64($0.parts.exponent + 398) << 53
                        | UInt64($0.parts.coefficient)
                }
                add(bits ?? 0x7C00_0000_0000_00AA)
            } else {
                add(value?.low ?? 0xAA)
                add(value?.high ?? 0x7C00_0000_0000_0000)
            }
        }
        return node(0x08, width: isNarrow ? 4 : 5, count: values.count, payload)
    }

    /// Writes the values of a column or of the elements of a collection.
    mutating func leaf(
        _ values: [RealmValue], _ property: Property, inCollection: Bool, isOld: Bool = false
    ) -> Int64 {
        switch property.type {
        case .int, .bool:
            let numbers = values.map { value -> Int64? in
                switch value {
                case .int(let number): number
                case .bool(let flag): flag ? 1 : 0
                default: nil
                }
            }
            if property.isNullable, property.type == .int || isOld { return nullable(numbers) }
            return integers(numbers.map { $0 ?? 3 })
        case .float:
            let payload = values.flatMap { value -> [UInt8] in
                var bits: UInt32 = 0x7FC0_00AA
                if case .float(let number) = value { bits = number.bitPattern }
                return withUnsafeBytes(of: bits.littleEndian) { Array($0) }
            }
            return node(0x08, width: 3, count: values.count, payload)
        case .double:
            let payload = values.flatMap { value -> [UInt8] in
                var bits: UInt64 = 0x7FF8_0000_0000_00AA
                if case .double(let number) = value { bits = number.bitPattern }
                return withUnsafeBytes(of: bits.littleEndian) { Array($0) }
            }
            return node(0x08, width: 4, count: values.count, payload)
        case .string, .binary:
            return strings(
                values.map(Self.bytes), isText: property.type == .string, isOld: isOld)
        case .timestamp:
            let seconds = nullable(
                values.map { if case .timestamp(let moment) = $0 { moment.seconds } else { nil } })
            let nanoseconds = integers(
                values.map { if case .timestamp(let moment) = $0 { moment.nanoseconds } else { 0 } }
            )
            return references([seconds, nanoseconds])
        case .decimal:
            return decimals(
                values.map { if case .decimal(let number) = $0 { number } else { nil } })
        case .link:
            return integers(
                values.map { value in
                    guard case .link(let link) = value else { return inCollection ? -1 : 0 }
                    return link.key + (inCollection ? 0 : 1)
                })
        case .objectID, .uuid:
            return identifiers(
                values.map { $0 == .null ? nil : Self.identifier($0) },
                size: property.type == .uuid ? 16 : 12)
        case .mixed, .table: return mixed(values)
        }
    }

    private static func bytes(_ value: RealmValue) -> [UInt8]? {
        switch value {
        case .string(let text): Array(text.utf8)
        case .malformedString(let bytes), .binary(let bytes): bytes
        default: nil
        }
    }

    private static func identifier(_ value: RealmValue) -> [UInt8] {
        func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }
        switch value {
        case .uuid(let id): return bytes(id.high) + bytes(id.low)
        case .objectID(let id): return bytes(id.high) + bytes(id.low)
        default: return []
        }
    }

    /// Writes values of any type.
    mutating func mixed(_ values: [RealmValue]) -> Int64 {
        var numbers: [Int64] = []
        var pairs: [Int64] = []
        var texts: [[UInt8]?] = []
        var collections: [Int64] = []
        func composite(_ type: Int64, _ index: Int64, _ value: Int) -> Int64 {
            Int64(value) << 8 | index << 5 | (type + 1)
        }
        func number(_ type: Int64, _ value: Int64) -> Int64 {
            numbers.append(value)
            return composite(type, 1, numbers.count - 1)
        }
        func pair(_ type: Int64, _ first: Int64, _ second: Int64) -> Int64 {
            pairs += [first, second]
            return composite(type, 2, pairs.count / 2 - 1)
        }
        func text(_ type: Int64, _ bytes: [UInt8]) -> Int64 {
            texts.append(bytes)
            return composite(type, 3, texts.count - 1)
        }
        let composites = values.map { value -> Int64 in
            switch value {
            case .null: return 0
            case .int(let value):
                return abs(value) < 1 << 30
                    ? composite(0, 0, Int(value)) : number(0, value)
            case .bool(let flag): return composite(1, 0, flag ? 1 : 0)
            case .float(let value): return number(9, Int64(value.bitPattern))
            case .double(let value): return number(10, Int64(bitPattern: value.bitPattern))
            case .string(let value): return text(2, Array(value.utf8))
            case .malformedString(let bytes): return text(2, bytes)
            case .binary(let bytes): return text(4, bytes)
            case .objectID: return text(15, Self.identifier(value))
            case .uuid: return text(17, Self.identifier(value))
            case .timestamp(let moment): return pair(8, moment.seconds, moment.nanoseconds)
            case .decimal(let number):
                return pair(11, Int64(bitPattern: number.low), Int64(bitPattern: number.high))
            case .link(let link): return pair(16, Int64(link.target), link.key)
            case .list(let elements), .set(let elements):
                collections.append(
                    elements.isEmpty ? 0 : tree(elements) { $0.mixed($1) })
                return composite(19, 4, collections.count - 1)
            case .dictionary(let entries), .object(let entries):
                collections.append(dictionary(entries))
                return composite(21, 4, collections.count - 1)
            }
        }
        return references([
            integers(composites), numbers.isEmpty ? 0 : integers(numbers),
            pairs.isEmpty ? 0 : integers(pairs), texts.isEmpty ? 0 : strings(texts),
            collections.isEmpty ? 0 : references(collections),
        ])
    }

    /// Writes a dictionary: two B+trees, or rows of key and value before format 23.
    mutating func dictionary(_ entries: [RealmEntry]) -> Int64 {
        if entries.isEmpty { return 0 }
        func keys(_ writer: inout RealmWriter, _ entries: [RealmEntry]) -> Int64 {
            if case .int = entries[0].key {
                return writer.integers(
                    entries.map { if case .int(let number) = $0.key { number } else { 0 } })
            }
            return writer.strings(entries.map { Self.bytes($0.key) })
        }
        if format >= 23 {
            return references([
                tree(entries, keys), tree(entries.map(\.value)) { $0.mixed($1) },
            ])
        }
        return clusters(Array(entries.indices).map { Int64($0 * 3) }) { writer, range in
            let part = Array(entries[range])
            return [keys(&writer, part), writer.mixed(part.map(\.value))]
        }
    }

    /// Writes a cluster tree; `columns` writes the leaves of some rows.
    mutating func clusters(
        _ keys: [Int64], _ columns: (inout RealmWriter, Range<Int>) -> [Int64]
    ) -> Int64 {
        func leaf(_ writer: inout RealmWriter, _ range: Range<Int>, _ offset: Int64) -> Int64 {
            let own = range.map { keys[$0] - offset }
            let isDense = own.enumerated().allSatisfy { Int64($0) == $1 }
            let head = isDense ? Self.tagged(Int64(range.count)) : writer.integers(own)
            return writer.references([head] + columns(&writer, range))
        }
        let size = clusterSize
        /// Rows below a node of a level: leaves are level 0, a node has up to 60 children.
        func subtree(
            _ writer: inout RealmWriter, _ range: Range<Int>, _ level: Int, _ offset: Int64
        )
            -> Int64
        {
            guard level > 0 else { return leaf(&writer, range, offset) }
            let step = (1..<level).reduce(size) { step, _ in step * 60 }
            var children: [Int64] = []
            var offsets: [Int64] = []
            for start in stride(from: range.lowerBound, to: range.upperBound, by: step) {
                let part = start..<min(start + step, range.upperBound)
                offsets.append(keys[start] - offset)
                children.append(subtree(&writer, part, level - 1, keys[start]))
            }
            let counts = [Self.tagged(Int64(level)), Self.tagged(Int64(range.count))]
            return writer.references(
                [writer.integers(offsets)] + counts + children, isInner: true)
        }
        var level = 0
        var capacity = size
        while capacity < keys.count {
            level += 1
            capacity *= 60
        }
        return subtree(&self, 0..<keys.count, level, 0)
    }
}

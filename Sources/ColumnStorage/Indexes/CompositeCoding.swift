/// A value as a composite index orders it.
package enum IndexValue: Hashable, Sendable {
    /// Nil, which comes first.
    case null
    /// An integer, a date in microseconds, a flag as 0 or 1, or the key of a linked row.
    case int(Int64)
    /// A number of a float or double column, ordered as ``RealOrder`` defines.
    case double(Double)
    /// Text, data or a fixed-size value.
    case bytes([UInt8])
}

/// A stretch of a composite index: its first columns have given values, and the column after them
/// may be limited.
package struct CompositeRange: Hashable, Sendable {
    /// The values of the first columns.
    package var equal: [IndexValue]
    /// The least value of the column after those, and whether it belongs to the range.
    package var lower: Bound?
    /// The greatest value of that column, and whether it belongs to the range.
    package var upper: Bound?

    /// One end of a range.
    package struct Bound: Hashable, Sendable {
        /// The value.
        package var value: IndexValue
        /// Whether rows with this very value belong to the range.
        package var isIncluded: Bool

        /// Makes a bound.
        package init(_ value: IndexValue, isIncluded: Bool) {
            self.value = value
            self.isIncluded = isIncluded
        }
    }

    /// Describes a stretch; a range leaves out nil.
    package init(equal: [IndexValue], lower: Bound? = nil, upper: Bound? = nil) {
        self.equal = equal
        self.lower = lower
        self.upper = upper
    }
}

/// The entries of composite indexes: the values of the columns one behind the other, so that the
/// order of the bytes is the order of the values, and none begins another.
///
/// A byte for nil (0) or a value (1), then: integers and links in eight bytes with the sign flipped,
/// flags in one, floats and doubles in eight whose order is that of the numbers, fixed-size values
/// as they are, text and data with zeros escaped as 0 255 and 0 1 at the end.
enum CompositeCoding {
    /// Appends what the index holds for a row.
    static func append(
        _ columns: [ColumnID], _ reader: TableReader, _ key: ObjectKey,
        to target: inout GrowableBuffer<UInt8>
    ) {
        for column in columns {
            guard let kind = reader.kind(of: column) else {
                target.append(0)
                continue
            }
            switch kind {
            case .bool:
                append(reader.bool(column, key).map { IndexValue.int($0 ? 1 : 0) }, kind, &target)
            case .int: append(reader.int(column, key).map(IndexValue.int), kind, &target)
            case .link:
                append(reader.link(column, key).map { .int($0.rawValue) }, kind, &target)
            case .float:
                append(reader.float(column, key).map { .double(Double($0)) }, kind, &target)
            case .double: append(reader.double(column, key).map(IndexValue.double), kind, &target)
            case .string, .data, .bytes12, .bytes16:
                if let bytes = reader.borrowedBytes(column, key) {
                    target.append(1)
                    appendBytes(bytes, kind, &target)
                } else {
                    target.append(0)
                }
            default: target.append(0)
            }
        }
    }

    private static func append(
        _ value: IndexValue?, _ kind: ColumnKind, _ target: inout GrowableBuffer<UInt8>
    ) {
        switch value ?? .null {
        case .null: target.append(0)
        case .int(let number):
            target.append(1)
            if kind == .bool {
                target.append(number == 0 ? 0 : 1)
            } else {
                appendWord(UInt64(bitPattern: number) ^ 1 << 63, &target)
            }
        case .double(let number):
            target.append(1)
            appendWord(RealOrder.code(number), &target)
        case .bytes(let bytes):
            target.append(1)
            bytes.withUnsafeBytes { appendBytes($0, kind, &target) }
        }
    }

    private static func appendWord(_ word: UInt64, _ target: inout GrowableBuffer<UInt8>) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            target.append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }

    private static func appendBytes(
        _ bytes: UnsafeRawBufferPointer, _ kind: ColumnKind,
        _ target: inout GrowableBuffer<UInt8>
    ) {
        let isFixed = kind == .bytes12 || kind == .bytes16
        for byte in bytes {
            target.append(byte)
            if byte == 0 && !isFixed { target.append(255) }
        }
        if isFixed { return }
        target.append(0)
        target.append(1)
    }

    /// The entries of a range: from the first bytes on, below the second.
    static func bounds(
        _ range: CompositeRange, _ columns: [ColumnID], _ reader: TableReader
    ) -> (from: [UInt8], below: [UInt8])? {
        guard range.equal.count <= columns.count else { return nil }
        var beginning = GrowableBuffer<UInt8>()
        defer { beginning.deallocate() }
        for (value, column) in zip(range.equal, columns) {
            append(value, reader.kind(of: column) ?? .int, &beginning)
        }
        let start = [UInt8](beginning.elements)
        guard range.lower != nil || range.upper != nil, range.equal.count < columns.count else {
            // Every column begins with 0 or 1.
            return (start, start + [2])
        }
        let kind = reader.kind(of: columns[range.equal.count]) ?? .int
        func end(_ bound: CompositeRange.Bound, isPast: Bool) -> [UInt8] {
            beginning.truncate(to: start.count)
            append(bound.value, kind, &beginning)
            return [UInt8](beginning.elements) + (isPast ? [2] : [])
        }
        return (
            range.lower.map { end($0, isPast: !$0.isIncluded) } ?? start + [1],
            range.upper.map { end($0, isPast: $0.isIncluded) } ?? start + [2]
        )
    }
}

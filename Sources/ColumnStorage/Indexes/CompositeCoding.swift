/// A value in the order of composite indexes.
package enum IndexValue: Hashable, Sendable {
    /// Nil, which comes first.
    case null
    /// An integer, a date in microseconds, a flag as 0 or 1, or the key of a linked row.
    case int(Int64)
    /// A number of a float or double column, in the order of ``RealOrder``.
    case double(Double)
    /// Text, data or a fixed-size value.
    case bytes([UInt8])
}

/// A range of a composite index: its first columns have given values, and the next column may be limited.
package struct CompositeRange: Hashable, Sendable {
    /// The values of the first columns.
    package var equal: [IndexValue]
    /// The lower bound of the next column.
    package var lower: Bound?
    /// The upper bound of the next column.
    package var upper: Bound?

    /// One end of a range.
    package struct Bound: Hashable, Sendable {
        /// The value.
        package var value: IndexValue
        /// Whether rows with the value itself belong to the range.
        package var isIncluded: Bool

        /// Creates a bound.
        package init(_ value: IndexValue, isIncluded: Bool) {
            self.value = value
            self.isIncluded = isIncluded
        }
    }

    /// Creates a range; if it has a bound, nil values are not part of it.
    package init(equal: [IndexValue], lower: Bound? = nil, upper: Bound? = nil) {
        self.equal = equal
        self.lower = lower
        self.upper = upper
    }
}

/// The encoding of composite index entries, whose byte order is the order of the values.
///
/// The values of the columns follow one another, and no entry is a prefix of another one. Each value begins with a
/// byte, 0 for nil or 1 for a value. Integers and links take eight bytes with the sign flipped, flags take one byte,
/// and floats and doubles take eight bytes in the order of the numbers. Fixed-size values are stored unchanged. Text
/// and data have zeros escaped as 0 255, and 0 1 at the end.
enum CompositeCoding {
    /// Appends the index entry of a row.
    static func append(
        _ columns: [ColumnID], _ reader: TableReader, _ key: ObjectKey,
        to target: inout GrowableBuffer<UInt8>
    ) throws(StorageError) {
        for column in columns {
            guard let kind = reader.kind(of: column) else {
                target.append(0)
                continue
            }
            switch kind {
            case .bool:
                try append(
                    reader.bool(column, key).map { IndexValue.int($0 ? 1 : 0) }, kind, &target)
            case .int: try append(reader.int(column, key).map(IndexValue.int), kind, &target)
            case .link:
                try append(reader.link(column, key).map { .int($0.rawValue) }, kind, &target)
            case .float:
                try append(reader.float(column, key).map { .double(Double($0)) }, kind, &target)
            case .double:
                try append(reader.double(column, key).map(IndexValue.double), kind, &target)
            case .string, .data, .bytes12, .bytes16:
                if let bytes = try reader.borrowedBytes(column, key) {
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

    /// Returns the entries of a range: from the first bytes on, below the second.
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
            // The encoding of every column begins with 0 or 1.
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

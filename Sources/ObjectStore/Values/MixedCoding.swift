import ColumnStorage

/// The encoding of mixed values in a file; see ``ColumnStorage/MixedTag``.
enum MixedCoding {
    /// The maximum depth of nested lists and maps.
    static let deepest = StoreLimits.nesting

    // MARK: - To bytes

    /// Encodes a valid value; the result is empty for nil.
    static func encode(_ value: Value) -> [UInt8] {
        if value == .null { return [] }
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    private static func append(_ value: Value, to bytes: inout [UInt8]) {
        func tag(_ tag: MixedTag) { bytes.append(tag.rawValue) }
        switch value {
        case .null: tag(.empty)
        case .bool(let flag): tag(flag ? .yes : .no)
        case .int(let number):
            tag(.int)
            append(UInt64(bitPattern: number), to: &bytes)
        case .date(let moment):
            tag(.date)
            append(UInt64(bitPattern: moment.microseconds), to: &bytes)
        case .float(let number):
            tag(.float)
            append(number.bitPattern, to: &bytes)
        case .double(let number):
            tag(.double)
            append(number.bitPattern, to: &bytes)
        case .decimal(let number):
            tag(.decimal)
            bytes += number.bytes
        case .uuid(let identifier):
            tag(.uuid)
            bytes += identifier.bytes
        case .objectID(let identifier):
            tag(.objectID)
            bytes += identifier.bytes
        case .string(let text):
            tag(.string)
            append(text.utf8, to: &bytes)
        case .data(let data):
            tag(.data)
            append(data, to: &bytes)
        case .object(let reference):
            tag(.link)
            append(reference.table.rawValue, to: &bytes)
            append(UInt64(bitPattern: reference.key.rawValue), to: &bytes)
        case .list(let elements):
            tag(.list)
            appendSized(count: elements.count, to: &bytes) { bytes in
                for element in elements { append(element, to: &bytes) }
            }
        case .dictionary(let entries):
            tag(.map)
            appendSized(count: entries.count, to: &bytes) { bytes in
                for (key, element) in sorted(entries) {
                    bytes.append(MixedTag.key.rawValue)
                    append(key.utf8, to: &bytes)
                    append(element, to: &bytes)
                }
            }
        }
    }

    /// Returns the entries of a map in byte order of their keys.
    static func sorted(_ entries: [String: Value]) -> [(key: String, value: Value)] {
        entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            .map { (key: $0.key, value: $0.value) }
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        var rest = number
        for _ in 0..<(number.bitWidth / 8) {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    private static func append(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
        append(UInt32(truncatingIfNeeded: text.count), to: &bytes)
        bytes += text
    }

    /// Appends a count and a body, after the length of both.
    private static func appendSized(
        count: Int, to bytes: inout [UInt8], _ body: (inout [UInt8]) -> Void
    ) {
        let start = bytes.count
        append(UInt32(0), to: &bytes)
        append(UInt32(truncatingIfNeeded: count), to: &bytes)
        body(&bytes)
        var length = UInt32(truncatingIfNeeded: bytes.count - start - 4)
        for position in start..<start + 4 {
            bytes[position] = UInt8(truncatingIfNeeded: length)
            length >>= 8
        }
    }

    // MARK: - From bytes

    /// Decodes a value; nil for empty or damaged bytes and for a link that was removed.
    static func decode(_ bytes: [UInt8]) -> Value {
        var reader = MixedReader(bytes)
        return reader.value() ?? .null
    }
}

/// Reads tokens one after the other; invalid bytes cause neither traps nor reads out of bounds.
struct MixedReader {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the next value; nil at the end and for damaged bytes.
    mutating func value(depth: Int = 0) -> Value? {
        guard depth <= MixedCoding.deepest, let tag = tag() else { return nil }
        switch tag {
        case .empty: return .null
        case .no: return .bool(false)
        case .yes: return .bool(true)
        case .int: return number().map { .int(Int64(bitPattern: $0)) }
        case .date: return number().map { .date(Timestamp(microseconds: Int64(bitPattern: $0))) }
        case .float: return number().map { .float(Float(bitPattern: $0)) }
        case .double: return number().map { .double(Double(bitPattern: $0)) }
        case .decimal: return take(16).flatMap { DecimalValue(bytes: $0) }.map(Value.decimal)
        case .uuid: return take(16).flatMap { UUIDValue(bytes: $0) }.map(Value.uuid)
        case .objectID: return take(12).flatMap { ObjectIDValue(bytes: $0) }.map(Value.objectID)
        case .string: return text().map(Value.string)
        case .data: return sized().map { .data([UInt8]($0)) }
        case .key: return nil
        case .link:
            guard let table = number(as: UInt32.self), let key = number(as: UInt64.self) else {
                return nil
            }
            return .object(
                ObjectReference(
                    table: TableID(table), key: ObjectKey(Int64(bitPattern: key))))
        case .cutLink: return take(12).map { _ in .null }
        case .list:
            guard let count = head() else { return nil }
            var elements: [Value] = []
            elements.reserveCapacity(count)
            for _ in 0..<count {
                guard let element = value(depth: depth + 1) else { return nil }
                elements.append(element)
            }
            return .list(elements)
        case .map:
            guard let count = head() else { return nil }
            var entries: [String: Value] = [:]
            for _ in 0..<count {
                guard let key = key(), let element = value(depth: depth + 1) else { return nil }
                entries[key] = element
            }
            return .dictionary(entries)
        }
    }

    /// Skips the next value.
    mutating func skip() -> Bool {
        guard let tag = tag() else { return false }
        switch tag {
        case .empty, .no, .yes: return true
        case .float: return take(4) != nil
        case .int, .date, .double: return take(8) != nil
        case .objectID, .link, .cutLink: return take(12) != nil
        case .decimal, .uuid: return take(16) != nil
        case .string, .data, .key, .list, .map: return sized() != nil
        }
    }

    /// The tag of the next token without reading it.
    var nextTag: MixedTag? {
        position < bytes.count ? MixedTag(rawValue: bytes[position]) : nil
    }

    mutating func tag() -> MixedTag? {
        guard let tag = nextTag else { return nil }
        position += 1
        return tag
    }

    /// Reads the number of elements of the list or map whose tag was read.
    ///
    /// The result is at most the number of remaining bytes, so that damaged bytes cannot cause a large allocation.
    mutating func head() -> Int? {
        guard number(as: UInt32.self) != nil, let count = number(as: UInt32.self),
            Int(count) <= bytes.count - position
        else { return nil }
        return Int(count)
    }

    /// Reads the next token as a key of a map.
    mutating func key() -> String? {
        tag() == .key ? text() : nil
    }

    private mutating func text() -> String? {
        sized().map { String(decoding: $0, as: UTF8.self) }
    }

    mutating func sized() -> ArraySlice<UInt8>? {
        number(as: UInt32.self).flatMap { take(Int($0)) }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard bytes.count - position >= count else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    private mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
        as type: Number.Type = Number.self
    ) -> Number? {
        take(Number.bitWidth / 8).map { bytes in
            bytes.reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
        }
    }
}

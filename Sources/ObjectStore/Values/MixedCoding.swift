import ColumnStorage

/// The encoding of mixed values in a file; see ``ColumnStorage/MixedTag``.
enum MixedCoding {
    /// The maximum depth of nested lists and maps.
    static let deepest = StoreLimits.nesting

    // MARK: - To bytes

    /// Encodes a valid value; the result is empty for nil.
    static func encode(_ value: Value) -> [UInt8] {
        if value == .null { return [] }
        var writer = ByteWriter(capacity: 16)
        append(value, to: &writer)
        return writer.bytes
    }

    private static func append(_ value: Value, to writer: inout ByteWriter) {
        func tag(_ tag: MixedTag) { writer.byte(tag.rawValue) }
        switch value {
        case .null: tag(.empty)
        case .bool(let flag): tag(flag ? .yes : .no)
        case .int(let number):
            tag(.int)
            writer.word(UInt64(bitPattern: number))
        case .date(let moment):
            tag(.date)
            writer.word(UInt64(bitPattern: moment.microseconds))
        case .float(let number):
            tag(.float)
            writer.word(UInt64(number.bitPattern), bytes: 4)
        case .double(let number):
            tag(.double)
            writer.word(number.bitPattern)
        case .decimal(let number):
            tag(.decimal)
            writer.append(number.bytes)
        case .fixed(let value):
            switch value.type {
            case .uuid: tag(.uuid)
            case .objectID: tag(.objectID)
            default:
                tag(value.type.size == 12 ? .fixed12 : .fixed16)
                writer.byte(value.type.number)
            }
            writer.append(value.bytes)
        case .string(let text):
            tag(.string)
            append(sized: text.utf8, to: &writer)
        case .data(let data):
            tag(.data)
            append(sized: data, to: &writer)
        case .object(let reference):
            tag(.link)
            writer.word(UInt64(reference.table.rawValue), bytes: 4)
            writer.word(UInt64(bitPattern: reference.key.rawValue))
        case .list(let elements):
            tag(.list)
            appendSized(count: elements.count, to: &writer) { writer in
                for element in elements { append(element, to: &writer) }
            }
        case .dictionary(let entries):
            tag(.map)
            appendSized(count: entries.count, to: &writer) { writer in
                for (key, element) in entries.inByteOrder {
                    append(element, forKey: key, to: &writer)
                }
            }
        }
    }

    /// Encodes an element of a list, or an entry of a map.
    static func encode(element: Value, forKey key: String?) -> [UInt8] {
        var writer = ByteWriter(capacity: 16)
        if let key {
            append(element, forKey: key, to: &writer)
        } else {
            append(element, to: &writer)
        }
        return writer.bytes
    }

    private static func append(
        _ element: Value, forKey key: String, to writer: inout ByteWriter
    ) {
        writer.byte(MixedTag.key.rawValue)
        append(sized: key.utf8, to: &writer)
        append(element, to: &writer)
    }

    private static func append(sized bytes: some Collection<UInt8>, to writer: inout ByteWriter) {
        writer.word(UInt64(bytes.count), bytes: 4)
        writer.append(bytes)
    }

    /// Appends a count and a body, after the length of both.
    private static func appendSized(
        count: Int, to writer: inout ByteWriter, _ body: (inout ByteWriter) -> Void
    ) {
        let start = writer.count
        writer.word(0, bytes: 4)
        writer.word(UInt64(count), bytes: 4)
        body(&writer)
        writer.replace(at: start, word: UInt64(writer.count - start - 4), bytes: 4)
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
    private(set) var position: Int

    init(_ bytes: [UInt8], at position: Int = 0) {
        self.bytes = bytes
        self.position = position
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
        case .uuid: return fixed(.uuid)
        case .objectID: return fixed(.objectID)
        case .fixed12, .fixed16:
            let size = tag == .fixed12 ? 12 : 16
            guard let type = take(1)?.first.flatMap(FixedType.init(number:)), type.size == size
            else { return nil }
            return fixed(type)
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
            var entries: ValueMap = [:]
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
        let size: Int? =
            switch tag {
            case .empty, .no, .yes: 0
            case .float: 4
            case .int, .date, .double: 8
            case .objectID, .link, .cutLink: 12
            case .fixed12: 13
            case .decimal, .uuid: 16
            case .fixed16: 17
            case .string, .data, .key, .list, .map: number(as: UInt32.self).map(Int.init)
            }
        guard let size, bytes.count - position >= size else { return false }
        position += size
        return true
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

    private mutating func fixed(_ type: FixedType) -> Value? {
        take(Int(type.size)).flatMap { FixedValue(type, bytes: $0) }.map(Value.fixed)
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
        let size = Number.bitWidth / 8
        guard bytes.count - position >= size else { return nil }
        var result: Number = 0
        for offset in stride(from: size - 1, through: 0, by: -1) {
            result = result << 8 | Number(truncatingIfNeeded: bytes[position + offset])
        }
        position += size
        return result
    }
}

extension MixedReader {
    /// Moves to an element of the list whose tag was read.
    mutating func enter(_ index: Int) -> Bool {
        guard let count = head(), (0..<count).contains(index) else { return false }
        return skip(index)
    }

    /// Moves to the value of an entry of the map whose tag was read.
    mutating func enter(_ wanted: TextKey) -> Bool {
        guard let count = head() else { return false }
        for _ in 0..<count {
            guard tag() == .key, let key = sized() else { return false }
            if key.elementsEqual(wanted.text.utf8) { return true }
            guard skip() else { return false }
        }
        return false
    }

    /// Skips the next values.
    private mutating func skip(_ count: Int) -> Bool {
        for _ in 0..<count where !skip() { return false }
        return true
    }

    /// Moves to the last element of the list whose tag was read.
    mutating func enterLast() -> Bool {
        guard let count = head(), count > 0 else { return false }
        return skip(count - 1)
    }

    /// Returns the number of elements of a list or map, or of bytes of a string or data; nil for other values.
    func count() -> Int? {
        var reader = self
        switch reader.tag() {
        case .list, .map: return reader.head()
        case .string, .data: return reader.sized()?.count
        default: return nil
        }
    }
}

/// The encoding of values as bytes, for defaults in the schema catalog.
enum ValueCoding {
    static func encode(_ value: Value, _ writer: inout ByteWriter) {
        switch value {
        case .null, .object: writer.byte(0)
        case .bool(let flag):
            writer.byte(1)
            writer.byte(flag ? 1 : 0)
        case .int(let number):
            writer.byte(2)
            writer.number(UInt64(bitPattern: number))
        case .float(let number):
            writer.byte(3)
            writer.number(UInt64(number.bitPattern))
        case .double(let number):
            writer.byte(4)
            writer.number(number.bitPattern)
        case .string(let text):
            writer.byte(5)
            writer.text(text)
        case .data(let bytes):
            writer.byte(6)
            writer.data(bytes)
        case .date(let moment):
            writer.byte(7)
            writer.number(UInt64(bitPattern: moment.microseconds))
        case .fixed(let value):
            switch value.type {
            case .uuid: writer.byte(8)
            case .objectID: writer.byte(9)
            default:
                writer.byte(13)
                writer.byte(value.type.number)
            }
            writer.data(value.bytes)
        case .decimal(let value):
            writer.byte(11)
            writer.data(value.bytes)
        case .list(let values):
            writer.byte(10)
            writer.number(UInt64(values.count))
            for element in values { encode(element, &writer) }
        case .dictionary(let entries):
            writer.byte(12)
            writer.number(UInt64(entries.count))
            for (key, value) in entries.sorted(by: { $0.key.precedesInBytes($1.key) }) {
                writer.text(key)
                encode(value, &writer)
            }
        }
    }

    /// Decodes the next value; the depth is limited, so damaged bytes cannot cause a deep recursion.
    static func decode(_ reader: inout ByteReader, depth: Int = 0) throws -> Value {
        switch try reader.byte() {
        case 0: return .null
        case 1: return .bool(try reader.byte() != 0)
        case 2: return .int(Int64(bitPattern: try reader.number()))
        case 3: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try reader.number())))
        case 4: return .double(Double(bitPattern: try reader.number()))
        case 5: return .string(try reader.text())
        case 6: return .data(try reader.data())
        case 7: return .date(Timestamp(microseconds: Int64(bitPattern: try reader.number())))
        case 8: return try fixed(.uuid, &reader)
        case 9: return try fixed(.objectID, &reader)
        case 10 where depth <= MixedCoding.deepest:
            return .list(
                try (0..<(try reader.count())).map { _ in try decode(&reader, depth: depth + 1) })
        case 11: return .decimal(try DecimalValue(bytes: reader.data()).orThrow(reader.damaged))
        case 12 where depth <= MixedCoding.deepest:
            var entries: ValueMap = [:]
            for _ in 0..<(try reader.count()) {
                let key = try reader.text()
                entries[key] = try decode(&reader, depth: depth + 1)
            }
            return .dictionary(entries)
        case 13:
            return try fixed(FixedType(number: reader.byte()).orThrow(reader.damaged), &reader)
        default: throw reader.damaged
        }
    }

    private static func fixed(_ type: FixedType, _ reader: inout ByteReader) throws -> Value {
        .fixed(try FixedValue(type, bytes: reader.data()).orThrow(reader.damaged))
    }
}

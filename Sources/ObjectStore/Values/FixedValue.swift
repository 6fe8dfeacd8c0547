import ColumnStorage
import Synchronization

/// A type whose values are a fixed number of bytes, which the store only compares: `uuid`, `object_id`.
///
/// Each type is one row of the table below. The row contains everything that the layers know about the type, from its
/// column to its name in Lua, so that a new row is a new property type.
public struct FixedType: Hashable, Sendable {
    /// The index in the table, and the number of the type in files.
    package let number: UInt8
    /// The number of bytes of a value: 12 or 16.
    package let size: UInt8

    /// A 12-byte object id.
    public static let objectID = FixedType(number: 0, size: 12)
    /// A UUID.
    public static let uuid = FixedType(number: 1, size: 16)

    /// The table; a file contains the index of a row, so new rows follow the others.
    ///
    /// Values of different types have the order of their rows.
    private static let usual = [
        Traits(
            name: "object_id", size: 12, title: "object id", format: "24 hexadecimal digits",
            functions: ["oid", "objectid"], tags: ["$oid", "$object_id"],
            luaClass: "moonpool.ObjectID", sqlite: "OBJECT_ID_TEXT",
            text: { Hexadecimal.text(of: $0.bytes) },
            parse: { ObjectIDValue($0).map(FixedValue.init) },
            generate: { FixedValue(ObjectIDValue.generate()) }),
        Traits(
            name: "uuid", size: 16, title: "UUID",
            format: "32 hexadecimal digits grouped 8-4-4-4-12", functions: ["uuid"],
            tags: ["$uuid"], luaClass: "moonpool.UUID", sqlite: "UUID_TEXT",
            text: { UUIDValue.text(of: $0.bytes) },
            parse: { UUIDValue($0).map(FixedValue.init) },
            generate: { FixedValue(UUIDValue.random()) }),
    ]
    /// The rows that were registered since the process began.
    private static let registered = Mutex<[Traits]>([])

    /// The attributes of a type.
    package final class Traits: Sendable {
        /// The name in schemas, and of the Lua function that creates a value.
        package let name: String
        /// The number of bytes of a value: 12 or 16.
        package let size: UInt8
        /// The name in messages.
        package let title: String
        /// The description of a valid text, for messages.
        package let format: String
        /// The functions of the query language that create a value.
        package let functions: [String]
        /// The tags of a value in extended JSON.
        package let tags: [String]
        /// The class of a value in the annotations of the Lua API.
        package let luaClass: String
        /// The declared type of a column in SQLite, which is text.
        package let sqlite: String
        /// Writes a value.
        package let text: @Sendable (FixedValue) -> String
        /// Parses a text.
        package let parse: @Sendable (String) -> FixedValue?
        /// Returns a new value.
        package let generate: @Sendable () -> FixedValue

        init(
            name: String, size: UInt8, title: String, format: String, functions: [String],
            tags: [String], luaClass: String, sqlite: String,
            text: @escaping @Sendable (FixedValue) -> String,
            parse: @escaping @Sendable (String) -> FixedValue?,
            generate: @escaping @Sendable () -> FixedValue
        ) {
            assert(size == 12 || size == 16, "a value has 12 or 16 bytes")
            (self.name, self.size, self.title, self.format) = (name, size, title, format)
            (self.functions, self.tags) = (functions, tags)
            (self.luaClass, self.sqlite) = (luaClass, sqlite)
            (self.text, self.parse, self.generate) = (text, parse, generate)
        }
    }

    /// The row of the type.
    package var traits: Traits {
        let number = Int(number)
        if number < Self.usual.count { return Self.usual[number] }
        return Self.registered.withLock { $0[number - Self.usual.count] }
    }

    /// All types, in the order of their numbers.
    package static var all: [FixedType] {
        (usual + registered.withLock { $0 }).enumerated().map {
            FixedType(number: UInt8($0), size: $1.size)
        }
    }

    /// Adds a type for the rest of the process.
    static func register(_ traits: Traits) -> FixedType {
        registered.withLock { rows in
            rows.append(traits)
            return FixedType(number: UInt8(usual.count + rows.count - 1), size: traits.size)
        }
    }

    /// Returns the type of a number in a file; nil for unknown numbers.
    init?(number: UInt8) {
        guard let type = Self.all.first(where: { $0.number == number }) else { return nil }
        self = type
    }

    private init(number: UInt8, size: UInt8) { (self.number, self.size) = (number, size) }
}

/// A value of a type with a fixed number of bytes, such as a UUID.
public struct FixedValue: Hashable, Comparable, Sendable {
    /// The first eight bytes, most significant first.
    package let high: UInt64
    /// The other bytes, most significant first.
    package let low: UInt64
    /// The type.
    public let type: FixedType

    /// Creates a value from its bytes; nil for a wrong number of bytes.
    public init?(_ type: FixedType, bytes: some Collection<UInt8>) {
        guard bytes.count == type.size else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
        self.type = type
    }

    /// Creates the value of a UUID.
    public init(_ value: UUIDValue) { (high, low, type) = (value.high, value.low, .uuid) }

    /// Creates the value of an object id.
    public init(_ value: ObjectIDValue) {
        (high, low, type) = (value.high, UInt64(value.low), .objectID)
    }

    /// Creates a value from its first eight bytes, and the other four or eight.
    package init(_ type: FixedType, high: UInt64, low: UInt64) {
        self.high = high
        self.low = type.size == 16 ? low : low & 0xFFFF_FFFF
        self.type = type
    }

    /// The bytes, most significant first.
    public var bytes: [UInt8] {
        let rest = UInt64(type.size) - 8
        return (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
            + (0..<rest).map { UInt8(truncatingIfNeeded: low >> (8 * (rest - 1 - $0))) }
    }

    /// The UUID; nil for a value of another type.
    public var uuid: UUIDValue? { type == .uuid ? UUIDValue(high: high, low: low) : nil }

    /// The object id; nil for a value of another type.
    public var objectID: ObjectIDValue? {
        type == .objectID ? ObjectIDValue(high: high, low: UInt32(truncatingIfNeeded: low)) : nil
    }

    /// Returns whether the first precedes the second: by type, then by bytes.
    public static func < (left: FixedValue, right: FixedValue) -> Bool {
        (left.type.number, left.high, left.low) < (right.type.number, right.high, right.low)
    }
}

extension FixedValue: CustomStringConvertible {
    /// The text of the value.
    public var description: String { type.traits.text(self) }
}

extension Value {
    /// Creates the value of a UUID.
    public static func uuid(_ value: UUIDValue) -> Value { .fixed(FixedValue(value)) }
    /// Creates the value of an object id.
    public static func objectID(_ value: ObjectIDValue) -> Value { .fixed(FixedValue(value)) }
}

/// A 12-byte identifier that sorts by creation time; it consists of seconds, a random part for each process, and a
/// counter.
public struct ObjectIDValue: Hashable, Comparable, Sendable {
    /// The first eight bytes, most significant first.
    public let high: UInt64
    /// The last four bytes, most significant first.
    public let low: UInt32

    /// Creates an identifier from its parts.
    public init(high: UInt64, low: UInt32) {
        self.high = high
        self.low = low
    }

    private static let process = UInt64.random(in: 0..<(1 << 40))
    private static let counter = Atomic<UInt32>(UInt32.random(in: 0..<(1 << 24)))

    /// Generates an identifier from the current time and random bits.
    public static func generate() -> ObjectIDValue {
        generate(seconds: UInt32(truncatingIfNeeded: Timestamp.now.microseconds / 1_000_000))
    }

    /// Generates an identifier for a time in seconds since the epoch.
    ///
    /// The identifiers of one process ascend within a second. Any thread may call the function.
    public static func generate(seconds: UInt32) -> ObjectIDValue {
        let count = counter.wrappingAdd(1, ordering: .relaxed).newValue & 0xFF_FFFF
        return ObjectIDValue(
            high: UInt64(seconds) << 32 | process >> 8,
            low: UInt32(truncatingIfNeeded: process & 0xFF) << 24 | count)
    }

    /// The 12 bytes.
    public var bytes: [UInt8] { FixedValue(self).bytes }

    /// Creates an identifier from 12 bytes; nil for another number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard let value = FixedValue(.objectID, bytes: bytes) else { return nil }
        (high, low) = (value.high, UInt32(truncatingIfNeeded: value.low))
    }

    /// Returns whether the first precedes the second in byte order.
    public static func < (left: ObjectIDValue, right: ObjectIDValue) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension ObjectIDValue: CustomStringConvertible {
    /// The identifier as 24 lowercase hexadecimal digits.
    public var description: String { Hexadecimal.text(of: bytes) }

    /// Parses 24 hexadecimal digits in either case; nil for any other text.
    public init?(_ text: some StringProtocol) {
        guard let bytes = Hexadecimal.bytes(of: String(text)) else { return nil }
        self.init(bytes: bytes)
    }
}

/// Bytes as pairs of hexadecimal digits.
enum Hexadecimal {
    static func text(of bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func bytes(of text: String) -> [UInt8]? {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0]! * 16 + digits[$0 + 1]!)  // because nil digits were rejected above
        }
    }
}

/// A universally unique identifier: 16 bytes in byte order.
public struct UUIDValue: Hashable, Comparable, Sendable {
    /// The first eight bytes, most significant first.
    public let high: UInt64
    /// The last eight bytes, most significant first.
    public let low: UInt64

    /// Creates an identifier from its two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Generates a random identifier (version 4).
    public static func random() -> UUIDValue {
        var generator = SystemRandomNumberGenerator()
        let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return UUIDValue(high: high, low: low)
    }

    /// The 16 bytes.
    public var bytes: [UInt8] { FixedValue(self).bytes }

    /// Creates an identifier from 16 bytes; nil for another number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard let value = FixedValue(.uuid, bytes: bytes) else { return nil }
        (high, low) = (value.high, value.low)
    }

    /// Returns whether the first precedes the second in byte order.
    public static func < (left: UUIDValue, right: UUIDValue) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension UUIDValue: CustomStringConvertible {
    /// The canonical form in lower case: `8-4-4-4-12` hexadecimal digits.
    public var description: String { Self.text(of: bytes) }

    static func text(of bytes: [UInt8]) -> String {
        let digits = Array(Hexadecimal.text(of: bytes))
        return [digits[0..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20..<32]]
            .map { String($0) }.joined(separator: "-")
    }

    /// Parses the canonical form in either case, with or without braces; nil for any other text.
    public init?(_ text: some StringProtocol) {
        var digits = Substring(text)
        if digits.first == "{", digits.last == "}" { digits = digits.dropFirst().dropLast() }
        let parts = digits.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12],
            let bytes = Hexadecimal.bytes(of: parts.joined())
        else { return nil }
        self.init(bytes: bytes)
    }
}

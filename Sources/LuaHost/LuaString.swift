/// A Lua string: bytes, which are not necessarily UTF-8 text.
public struct LuaString: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes of the string.
    public var bytes: [UInt8]

    /// Creates a string of these bytes.
    public init(bytes: [UInt8]) { self.bytes = bytes }
    /// Creates a string from the UTF-8 bytes of a Swift string.
    public init(_ text: String) { bytes = Array(text.utf8) }
    /// Creates a string from the UTF-8 bytes of a literal.
    public init(stringLiteral value: String) { self.init(value) }

    /// The text; nil if the bytes are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
    /// The text with invalid UTF-8 replaced, for messages only.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

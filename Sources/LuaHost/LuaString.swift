/// A Lua string: bytes, which need not be text.
public struct LuaString: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes as they are in Lua.
    public var bytes: [UInt8]

    /// A string of these bytes.
    public init(bytes: [UInt8]) { self.bytes = bytes }
    /// The UTF-8 form of a Swift string.
    public init(_ text: String) { bytes = Array(text.utf8) }
    /// The UTF-8 form of a literal.
    public init(stringLiteral value: String) { self.init(value) }

    /// The text, or nil when the bytes are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
    /// The text with what is not UTF-8 replaced: for messages only.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

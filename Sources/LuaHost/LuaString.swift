/// A Lua string: bytes, which need not be text.
package struct LuaString: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes as they are in Lua.
    package var bytes: [UInt8]

    /// A string of these bytes.
    package init(bytes: [UInt8]) { self.bytes = bytes }
    /// The UTF-8 form of a Swift string.
    package init(_ text: String) { bytes = Array(text.utf8) }
    /// The UTF-8 form of a literal.
    package init(stringLiteral value: String) { self.init(value) }

    /// The text, or nil when the bytes are not UTF-8.
    package var text: String? { String(validating: bytes, as: UTF8.self) }
    /// The text with what is not UTF-8 replaced: for messages only.
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

import DataFormats
import LuaHost
import ObjectStore

extension StoreModule {
    /// Returns a value as JSON, as `moonpool.json.encode` does.
    ///
    /// Thread: the script's thread. Runs no code of a script. Throws `invalid_argument` for values that JSON cannot
    /// represent.
    package func json(of value: LuaValue) throws -> [UInt8] {
        var writer = JSONWriter()
        try json.write(value, to: &writer)
        return writer.bytes
    }

    /// Parses JSON as `moonpool.json.decode` does, but returns nil for `null` as the whole text and for an empty text.
    ///
    /// Thread: the script's thread. Throws `invalid_argument` with line and column.
    package func value(ofJSON bytes: [UInt8]) throws -> LuaValue {
        guard !bytes.isEmpty else { return .nil }
        let value = try json.read(LuaString(bytes: bytes))
        return value == null ? .nil : value
    }
}

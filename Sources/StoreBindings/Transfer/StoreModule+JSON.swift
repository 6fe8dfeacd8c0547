import DataFormats
import LuaHost
import ObjectStore

extension StoreModule {
    /// A value as JSON, as `moonpool.json.encode` writes it.
    ///
    /// On the script's thread; runs no code of a script. Throws `invalid_argument` for what JSON cannot hold.
    package func json(of value: LuaValue) throws -> [UInt8] {
        var writer = JSONWriter()
        try LuaJSON(state: state, null: null).write(value, to: &writer)
        return writer.bytes
    }
}

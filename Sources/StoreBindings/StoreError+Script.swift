import LuaHost
import ObjectStore

extension StoreError: ScriptError {
    /// The store's code, such as `not_in_write`.
    package var scriptCode: String { code.rawValue }
    /// The store's sentence.
    package var scriptMessage: String { message }
}

extension LuaCall {
    /// An `invalid_argument` error of the store's kind, numbered and named like Lua's own.
    borrowing func invalid(_ index: Int, _ reason: String) -> LuaArgumentError {
        argumentError(index, reason)
    }

    /// The option table at an index, or nil; every key must be one of those named.
    package borrowing func options(_ index: Int, _ known: [String]) throws -> LuaTable? {
        guard !isNil(index) else { return nil }
        let table = try table(index)
        for (key, _) in table.pairs {
            guard let name = key.text, known.contains(name) else {
                let shown = key.text ?? "a \(key.typeName)"
                throw argumentError(
                    index, "unknown option '\(shown)'" + NearestName.hint(for: shown, among: known))
            }
        }
        return table
    }
}

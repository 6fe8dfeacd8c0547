import LuaHost
import ObjectStore

extension StoreError: ScriptError {
    /// The error code of the store, such as `not_in_write`.
    package var scriptCode: String { code.rawValue }
    /// The error message, in the words of scripts.
    package var scriptMessage: String { message(for: .script) }
    /// The range of an error in a predicate or a path.
    package var scriptRange: ScriptTextRange? {
        textRange.map { ScriptTextRange(line: $0.line, column: $0.column, length: $0.length) }
    }
}

// Evaluations convert the errors of the storage; this is for those of other calls.
extension StorageFailure: ScriptError {
    /// The error code of the store, such as `interrupted`.
    package var scriptCode: String { StoreError(self).scriptCode }
    /// The error message, in the words of scripts.
    package var scriptMessage: String { StoreError(self).scriptMessage }
}

extension LuaCall {
    /// Returns an `invalid_argument` error in the format of Lua's argument errors, with the index and the function
    /// name.
    borrowing func invalid(_ index: Int, _ reason: String) -> LuaArgumentError {
        argumentError(index, reason)
    }

    /// Returns the option table at an index, or nil.
    ///
    /// Throws an error for a flag that is not true or false, according to the description of the API, and for unknown
    /// keys. Without `known`, these are the keys that the description does not list for the argument.
    package borrowing func options(_ index: Int, _ known: [String]? = nil) throws -> LuaTable? {
        guard !isNil(index) else { return nil }
        let table = try table(index)
        let described = knownOptions(index)
        guard let known = known ?? described?.map(\.name) else { return table }
        for (key, value) in table.pairs {
            guard let name = key.text, known.contains(name) else {
                let shown = key.text ?? "a \(key.typeName)"
                throw argumentError(
                    index, "unknown option '\(shown)'" + NearestName.hint(for: shown, among: known))
            }
            if value.boolean == nil,
                described?.contains(where: { $0.name == name && $0.isFlag }) == true
            {
                throw argumentError(index, "option '\(name)' must be true or false")
            }
        }
        return table
    }
}

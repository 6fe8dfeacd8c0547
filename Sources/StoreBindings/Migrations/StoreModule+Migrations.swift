import LuaHost
import ObjectStore

// Functions for migrations of whole files.
extension StoreModule {
    /// Parses a schema in the notation of scripts.
    ///
    /// Throws `invalid_schema`.
    package func classes(in table: LuaTable) throws -> [ClassSchema] {
        try SchemaArguments(state, dates).classes(table)
    }

    /// Runs the work with a store, and then closes the store unless the script has it open.
    package func withStore<Result>(
        _ configuration: StoreConfiguration, _ body: (StoreHandle) throws -> Result
    ) throws -> Result {
        if let known = handles.first(where: { $0.isAt(configuration.location) }) {
            return try body(known)
        }
        let handle = try open(configuration)
        defer { handle.close() }
        return try body(handle)
    }

    /// Whether the script has a file open.
    package func isOpen(_ path: String) -> Bool { handles.contains { $0.isAt(.file(path)) } }
}

extension LuaCall {
    /// Returns the path of a store from an argument: an open store with a file, or a text.
    package borrowing func storePath(_ index: Int) throws -> String {
        guard let handle = optionalObject(index, StoreHandle.type) else { return try text(index) }
        guard let path = handle.store.path else {
            throw argumentError(index, "the store '\(handle.name)' is in memory, not in a file")
        }
        return path
    }
}

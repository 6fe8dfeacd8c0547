import LuaHost
import ObjectStore

// Functions for migrations of whole files.
extension StoreModule {
    /// Parses a schema in the notation of scripts.
    ///
    /// Throws `invalid_schema`.
    package func classes(in table: LuaTable) throws -> [ClassSchema] {
        try SchemaArguments(json).classes(table)
    }

    /// Opens a store for a task, or returns the store that the script has open.
    ///
    /// `whileWaiting` is called in addition to ``whileWaiting`` until the task ends.
    package func borrow(
        _ configuration: StoreConfiguration,
        whileWaiting waitHandler: ((Store) throws -> Void)? = nil
    ) throws -> BorrowedStore {
        let outerHandler = whileWaiting
        if let waitHandler {
            whileWaiting = {
                try outerHandler?($0)
                try waitHandler($0)
            }
        }
        let known = handles.first { $0.isAt(configuration.location) }
        do {
            return BorrowedStore(
                handle: try known ?? open(configuration), isOwn: known == nil, module: self,
                outerHandler: outerHandler)
        } catch {
            whileWaiting = outerHandler
            throw error
        }
    }

    /// Whether the script has a file open.
    package func isOpen(_ path: String) -> Bool { handles.contains { $0.isAt(.file(path)) } }
}

/// A store that a task uses until it calls ``end()``.
package struct BorrowedStore {
    /// The handle of the store.
    package let handle: StoreHandle
    /// The store.
    package var store: Store { handle.store }
    /// Whether the store was opened for the task.
    fileprivate let isOwn: Bool
    fileprivate let module: StoreModule
    fileprivate let outerHandler: ((Store) throws -> Void)?

    /// Closes the store, unless the script has it open.
    package func end() {
        if isOwn { handle.close() }
        module.whileWaiting = outerHandler
    }
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

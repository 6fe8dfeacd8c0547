import ColumnStorage

/// Opens the file of a store.
enum FileOpening {
    /// Opens a file, and compacts it first if `shouldCompact` returns true and no other process has it open.
    static func open(
        _ configuration: StoreConfiguration, _ shouldCompact: ((Int, Int) throws -> Bool)?
    ) throws -> ColumnFile {
        let file = try open(configuration)
        guard let shouldCompact, case .file(let path) = configuration.location, !file.isReadOnly,
            file.isOnlyUse
        else { return file }
        let space = try StoreError.wrapping(file.space())
        guard try shouldCompact(space.total, space.used) else { return file }
        file.close()
        do {
            _ = try ColumnFile.compact(path: path)
        } catch  where error.code == .inUse {
            // A failed compaction must not prevent opening the file.
        } catch {
            throw StoreError(error)
        }
        return try open(configuration)
    }

    private static func open(_ configuration: StoreConfiguration) throws -> ColumnFile {
        try StoreError.wrapping { () throws(StorageError) in
            var options = FileOptions()
            options.isReadOnly = configuration.isReadOnly
            options.historyLimit = configuration.history
            options.durability =
                switch configuration.durability {
                case .full: .full
                case .async: .async
                case .memory: .memory
                }
            if let size = configuration.maximumSize { options.mapSize = size }
            switch configuration.location {
            case .file(let path): return try ColumnFile.open(path: path, options: options)
            case .memory(let name):
                return try ColumnFile.openInMemory(
                    named: name, historyLimit: configuration.history,
                    size: configuration.maximumSize)
            }
        }
    }
}

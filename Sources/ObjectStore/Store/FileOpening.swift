import ColumnStorage

/// Opens the file behind a store.
enum FileOpening {
    static func open(_ configuration: StoreConfiguration) throws -> ColumnFile {
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
            case .memory(let name): return try ColumnFile.openInMemory(named: name)
            }
        }
    }
}

import LMDBStorage

extension Snapshot {
    /// Verifies all data of the version, and returns at most `limit` errors with their locations.
    ///
    /// This checks every leaf, presence bitmap, tail row, count, list chunk, long value, link, index entry, full-text
    /// posting and change set. The array is empty for a valid file. The whole file is read once, and rows are compared
    /// with index entries by sums, so it takes about as long as reading every value. Only tables passed to
    /// ``configure(_:)`` are checked. It must not be called inside a write.
    ///
    /// Throws the errors of LMDB for pages that cannot be read, and `closed`.
    package func verify(atMost limit: Int = 100) throws(StorageError) -> [FileFault] {
        precondition(write == nil, "a version with an open write cannot be verified")
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "verify", file: file.path)
        }
        let faults = FaultList(limit)
        let definitions = source.definitions.values.sorted { $0.id < $1.id }
        for definition in definitions {
            try faults.collect { () throws(StorageError) in
                let table = try table(definition.id)
                let verifier = TableVerifier(table, reader.handle, faults) {
                    (target, key) throws(StorageError) in
                    try self.table(target).isPresent(key)
                }
                try verifier.run()
            }
        }
        try verifyHistory(reader.handle, faults)
        return faults.faults
    }

    private func verifyHistory(
        _ transaction: TransactionHandle, _ faults: FaultList
    ) throws(StorageError) {
        let history = file.tables.history
        var versions: [UInt64] = []
        do {
            let cursor = try transaction.cursor(history)
            var entry = try cursor.first()
            while let found = entry {
                versions.append(found.integerKey)
                entry = try cursor.next()
            }
        }
        try source.recent.forEach { home, version, _ in
            if home == .history { versions.append(version) }
        }
        for (index, number) in versions.enumerated() {
            if index > 0, number != versions[index - 1] + 1 {
                faults.add(FileFault("the history does not contain the versions before \(number)"))
            }
            do throws(StorageError) {
                _ = try HistoryLog.changes(
                    after: number - 1, through: number, in: history, source.recent, transaction)
            } catch {
                guard error.code == .damaged else { throw error }
                faults.add(FileFault("the change set of version \(number) is not valid"))
            }
        }
        guard let last = versions.last else { return }
        if last > version {
            faults.add(FileFault("the history continues after version \(version)"))
        } else if last < version {
            faults.add(FileFault("the history ends before version \(version)"))
        }
    }
}

extension ColumnFile {
    /// Verifies the pages of a file that this process does not have open, and returns at most `limit` errors.
    ///
    /// Call it before ``open(path:options:)`` of a file that may be damaged, because LMDB itself does not check
    /// references between pages. Throws `notAStore`, `newerFormat`, `damaged`, `notFound`, `permission`.
    package static func verifyPages(
        path: String, atMost limit: Int = 100
    ) throws(StorageError) -> [FileFault] {
        try PageVerifier.faults(path: path, atMost: limit, tables: FileTables.names)
            .map { FileFault($0) }
    }
}

import LMDBStorage

extension Snapshot {
    /// Looks at everything that the version holds: every leaf, presence bitmap, waiting row, count,
    /// list chunk, long value, link, index entry, full-text posting and change set.
    ///
    /// Returns what is wrong and where, at most `limit` faults; an empty array for a sound file. Reads
    /// the whole file once and looks up every row in its indexes by sums, so that it takes about as
    /// long as reading every value. Only tables that ``configure(_:)`` has named are looked at. Not
    /// inside a write.
    ///
    /// Throws what LMDB reports where pages themselves cannot be read, and `closed`.
    package func verify(atMost limit: Int = 100) throws(StorageError) -> [FileFault] {
        precondition(write == nil, "only outside a write is a version complete")
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "verify", file: file.path)
        }
        let faults = FaultList(limit)
        let definitions = source.definitions.values.sorted { $0.id < $1.id }
        for definition in definitions {
            let table = table(definition.id)
            let verifier = TableVerifier(table, reader.handle, faults) { target, key in
                self.table(target).isPresent(key)
            }
            try verifier.run()
        }
        try verifyHistory(reader.handle, faults)
        if let damage, !faults.isFull { faults.add(FileFault(damage.call)) }
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
        source.recent.forEach { home, version, _ in
            if home == .history { versions.append(version) }
        }
        for (place, number) in versions.enumerated() {
            if place > 0, number != versions[place - 1] + 1 {
                faults.add(FileFault("the history misses versions before \(number)"))
            }
            do throws(StorageError) {
                _ = try HistoryLog.changes(
                    after: number - 1, through: number, in: history, source.recent, transaction)
            } catch {
                guard error.code == .damaged else { throw error }
                faults.add(FileFault("the change set of version \(number) is not valid"))
            }
        }
        if let last = versions.last, last > version {
            faults.add(FileFault("the history continues after version \(version)"))
        }
    }
}

extension ColumnFile {
    /// Looks at the pages of a file that this process does not have open: what is wrong with them, at most `limit` faults.
    ///
    /// To be called before ``open(path:options:)`` of a file that may be damaged: LMDB itself cannot be asked about
    /// pages that lead nowhere. Throws `notAStore`, `newerFormat`, `damaged`, `notFound`, `permission`.
    package static func verifyPages(
        path: String, atMost limit: Int = 100
    ) throws(StorageError) -> [FileFault] {
        try PageVerifier.faults(path: path, atMost: limit).map { FileFault($0) }
    }
}

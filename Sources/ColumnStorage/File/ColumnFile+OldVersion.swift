import LMDBStorage

extension ColumnFile {
    /// Returns a snapshot of the file's data at an older version, in a separate file without a path.
    ///
    /// The file exists as long as the snapshot. Later versions are reverted one after the other in the copy, so the
    /// original keeps no pages for it. Returns nil if one of them does not keep its old values, or has changed the
    /// schema; `definitions` are the current schema. Copies the file's used pages and reverts the changes of the
    /// versions. Throws `diskFull`, `damaged`, `closed`.
    package func copy(
        asOf version: UInt64, _ definitions: [TableDefinition]
    ) throws(StorageError) -> Snapshot? {
        let live = try lease().environment
        let size = live.size().used
        let file = try AnonymousFile(size: size)
        try live.copyCompacted(to: file, versions: FileTables.versions)
        var options = FileOptions(
            durability: .memory, mapSize: 2 * size + 1 << 28, maxReaders: 64)
        options.keepsHistory = false
        let copy = try ColumnFile.open(
            file, named: "version \(version) of \(self.path)", options: options)
        let snapshot = try Snapshot(copy)
        try snapshot.configure(definitions)
        let newest = snapshot.version
        for reversed in stride(from: newest, to: version, by: -1) {
            guard let entry = try snapshot.historyEntry(reversed), !entry.changes.schemaChanged,
                entry.keepsOldValues || entry.changes.isEmpty
            else { return nil }
            if entry.changes.isEmpty { continue }
            _ = try snapshot.beginWrite()
            guard let write = snapshot.write else { break }
            do throws(StorageError) {
                try write.revert(version: reversed)
            } catch {
                snapshot.cancelWrite()
                throw error
            }
            try snapshot.commit()
        }
        return try snapshot.frozen()
    }
}

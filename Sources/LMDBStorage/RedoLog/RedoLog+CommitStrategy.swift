import CLMDB

// The requirements of CommitStrategy that RedoLog implements by calling the functions of the log.
extension RedoLog {
    func prepare(_ version: UInt64, _ mode: CommitMode) throws(StorageError) {
        switch mode {
        case .logged:
            defer { recorder.end() }
            try write(version)
        case .checkpointed: skip(version)
        case .direct, .unflushed: break
        }
    }

    func commitFailed(_ mode: CommitMode) {
        if mode == .logged || mode == .checkpointed { withdraw() }
    }

    func rollBack(_ mode: CommitMode, isOutOfSpace: Bool) {
        guard mode == .logged else { return }
        recorder.end()
        if isOutOfSpace { disable() }
    }

    func sync() throws(StorageError) {
        var begun: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &begun), "mdb_txn_begin", dataPath)
        defer { mdb_txn_abort(begun) }
        try finish()
    }

    func pinnedVersions() -> Set<ForeignReader> {
        guard LogMarker.read(data).id != 0,
            let log = try? LogFile(of: dataPath, isMade: false, isWritten: false)
        else { return [] }
        return log.notedPins()
    }

    func removeFiles() { removeFile() }
}

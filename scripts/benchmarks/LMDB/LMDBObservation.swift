import Synchronization

/// The best way for an application over plain LMDB to follow a query: the writer passes the key of the changed row, and
/// the observer reads that row.
///
/// No history, no indexes of changes, one table: the lower bound of a delivery on this machine.
final class LMDBObservation: Observation, Sendable {
    private let changed: any ChangedKeys
    private let thread = Mutex<Thread?>(nil)

    init(
        _ file: LMDBFile, olderThan age: Int64, _ changed: any ChangedKeys,
        called: @escaping @Sendable (Int) -> Void
    ) {
        self.changed = changed
        let ready = Signal()
        let observer = Thread {
            do {
                var members: Set<Int64> = []
                try file.read {
                    try file.each($0) { key, row, _ in
                        if LMDBRow.age(row) > age { members.insert(key) }
                        return true
                    }
                }
                ready.raise()
                while let keys = changed.receive() {
                    var rows = 0
                    try file.read { transaction in
                        for key in keys {
                            let row = try file.row(transaction, key)
                            let isMember = LMDBRow.age(row.mv_data) > age
                            let wasMember = members.contains(key)
                            if isMember || wasMember { rows += 1 }
                            if isMember && !wasMember { members.insert(key) }
                            if wasMember && !isMember { members.remove(key) }
                        }
                    }
                    called(rows)
                }
            } catch { fatalError("lmdb: the observer cannot read: \(error)") }
        }
        thread.withLock { $0 = observer }
        _ = ready.wait()
    }

    func end() {
        changed.close()
        thread.withLock { $0 }?.join()
    }
}

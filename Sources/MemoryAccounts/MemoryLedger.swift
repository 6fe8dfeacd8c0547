import Synchronization

/// The memory that several scripts share, such as an in-memory store; each growth is charged to the script that causes
/// it.
package final class MemoryLedger: Sendable {
    fileprivate struct Entry {
        let account: MemoryAccount?
        var bytes: Int
    }

    fileprivate struct State {
        var entries: [Entry] = []
        var total = 0
    }

    private let state = Mutex(State())

    /// Creates a ledger without a charge.
    package init() {}

    /// Sets the sum to `total`: charges the difference to the current account, or releases the newest charges.
    ///
    /// Returns false, without a change, if the account does not have enough bytes left.
    package func grants(_ total: Int) -> Bool {
        state.withLock { state in
            if total > state.total {
                let account = MemoryAccount.current
                let bytes = total - state.total
                guard account?.grants(bytes) ?? true else { return false }
                account?.notePages(bytes)
                state.add(bytes, account)
            } else {
                state.remove(state.total - total)
            }
            return true
        }
    }

    deinit {
        state.withLock { $0.remove($0.total) }
    }
}

extension MemoryLedger.State {
    fileprivate mutating func add(_ bytes: Int, _ account: MemoryAccount?) {
        total += bytes
        if let last = entries.last, last.account === account {
            entries[entries.count - 1].bytes += bytes
        } else {
            entries.append(MemoryLedger.Entry(account: account, bytes: bytes))
        }
    }

    fileprivate mutating func remove(_ bytes: Int) {
        total -= bytes
        var left = bytes
        while left > 0, let last = entries.popLast() {
            let released = min(left, last.bytes)
            last.account?.release(released)
            last.account?.notePages(-released)
            left -= released
            if last.bytes > released {
                entries.append(
                    MemoryLedger.Entry(account: last.account, bytes: last.bytes - released))
            }
        }
    }
}

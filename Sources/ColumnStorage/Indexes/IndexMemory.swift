import MemoryAccounts

/// The memory of the pending changes to all indexes of a snapshot, charged to the account of the script that writes.
///
/// The indexes share an eighth of the account. An index that is refused memory merges its changes into its blocks,
/// which takes time but no memory, so a write never fails for its indexes. Without an account, nothing is refused.
final class IndexMemory {
    /// The bytes that all indexes take.
    private var bytes = 0
    /// The number of indexes that take memory.
    private var takers = 0
    private var share = Int.max
    private var charge = MemoryCharge(nil)

    /// The size of an index's changes from which the memory is considered; smaller writes have no cost.
    static let firstCheck = 8192
    /// The growth of an index's changes from which the memory is considered again.
    static let step = 32 << 10

    /// Creates the memory of a snapshot without pending changes.
    init() {}

    /// Whether the script that writes has a memory limit.
    var isLimited: Bool { charge.isLimited }

    /// Returns the bytes that the pending changes of all indexes of a write may take.
    static func share(of account: MemoryAccount) -> Int { account.capacity / 8 }

    /// Charges the changes of an index, which have grown from `old` bytes to `new` bytes.
    ///
    /// Returns false, without a change, if the index is to merge its changes now.
    func grants(_ new: Int, replacing old: Int) -> Bool {
        if takers == 0 {
            // The writing script may have changed.
            let account = MemoryAccount.current
            charge = MemoryCharge(account)
            share = account.map(Self.share) ?? .max
        }
        if charge.isLimited {
            let wanted = bytes - old + new
            let count = takers + (old == 0 ? 1 : 0)
            // An index may take its share even if other indexes exceed theirs; those merge their changes when they
            // grow.
            guard wanted <= share || new <= share / count, (try? charge.set(wanted)) != nil else {
                return false
            }
        }
        if old == 0 { takers += 1 }
        bytes += new - old
        return true
    }

    /// Releases the memory of an index whose changes are stored or discarded.
    func release(_ old: Int) {
        guard old > 0 else { return }
        takers -= 1
        bytes -= old
        charge.record(bytes)
    }
}

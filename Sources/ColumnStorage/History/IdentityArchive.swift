import LMDBStorage

/// The identities of the commits that the history no longer contains, for the store of a publisher.
///
/// A publisher must find the last commit of a stream among its own, also after many commits while it was not running.
/// The identities are in `meta`, in blocks of consecutive versions. A version without an identity has zeros.
struct IdentityArchive {
    private static let mark = "identities"
    private static let blockVersions: UInt64 = 256
    /// The number of blocks that are kept.
    private static let blockLimit: UInt64 = 256

    private let transaction: TransactionHandle
    private let table: Table

    init(_ transaction: TransactionHandle, _ table: Table) {
        self.transaction = transaction
        self.table = table
    }

    /// Makes all later writes keep the identities of entries that they remove.
    func begin() throws(StorageError) { try Metadata.write(Self.mark, [1], in: transaction, table) }

    /// Whether writes keep identities.
    var isKept: Bool {
        get throws(StorageError) {
            try Metadata.read(Self.mark, in: transaction, table) != nil
        }
    }

    private func name(_ block: UInt64) -> String { "\(Self.mark).\(block)" }

    private func block(_ number: UInt64) throws(StorageError) -> [UInt8]? {
        try Metadata.read(name(number), in: transaction, table)
    }

    /// Adds the identities of versions, in ascending order.
    func add(_ identities: [(version: UInt64, identity: CommitIdentity)]) throws(StorageError) {
        var rest = identities[...]
        while let first = rest.first {
            let number = first.version / Self.blockVersions
            var bytes =
                try block(number)
                ?? [UInt8](repeating: 0, count: Int(Self.blockVersions) * CommitIdentity.size)
            while let next = rest.first, next.version / Self.blockVersions == number {
                var writer = ByteWriter(continuing: [])
                CommitIdentity.append(next.identity, to: &writer)
                let start = Int(next.version % Self.blockVersions) * CommitIdentity.size
                bytes.replaceSubrange(start..<start + CommitIdentity.size, with: writer.bytes)
                rest.removeFirst()
            }
            try Metadata.write(name(number), bytes, in: transaction, table)
            guard number >= Self.blockLimit else { continue }
            try Metadata.remove(name(number - Self.blockLimit), in: transaction, table)
        }
    }

    /// Calls `body` with the identities of the versions before `version`, the newest first, until it returns false.
    func forEach(
        before version: UInt64, _ body: (UInt64, CommitIdentity) -> Bool
    ) throws(StorageError) {
        var version = version
        while version > 0, let bytes = try block((version - 1) / Self.blockVersions) {
            repeat {
                version -= 1
                let start = Int(version % Self.blockVersions) * CommitIdentity.size
                guard start + CommitIdentity.size <= bytes.count else { return }
                let identity = bytes.withUnsafeBytes {
                    CommitIdentity(at: $0.baseAddress! + start)
                }
                if !identity.isZero, !body(version, identity) { return }
            } while version % Self.blockVersions > 0
        }
    }
}

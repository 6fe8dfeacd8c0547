import LMDBStorage
import MemoryAccounts

/// The memory of changes that a write has not stored yet, charged to the account of the script that writes.
///
/// Without an account, a change costs one comparison.
struct PendingMemory: ~Copyable {
    /// The currently charged bytes.
    private(set) var bytes = 0
    /// The number of bytes that can be charged before the next request to the account.
    private var granted = 0
    /// The size in bytes above which the changes are stored before the end of the write.
    private var most = Self.mostBytes
    private var charge = MemoryCharge(nil)

    private static let mostBytes = 24 << 20
    /// More than one chunk takes, so that a change does not always store the one before.
    private static let leastBytes = 64 << 10
    private static let step = 256 << 10

    /// Whether the changes use so much memory that they have to be stored before the commit.
    var isFull: Bool { bytes > most }

    /// Whether the script that writes has a memory limit.
    var isLimited: Bool { charge.isLimited }

    /// Throws `memoryLimit` if the account does not grant these bytes; nothing is changed then.
    @inline(__always)
    mutating func require(
        _ more: @autoclosure () -> Int, file: @autoclosure () -> String
    ) throws(StorageError) {
        guard granted != .max else { return }
        let more = more()
        if bytes + more > granted, !grants(bytes + more) {
            throw StorageError(.memoryLimit, call: "a collection", file: file())
        }
    }

    /// Charges bytes that can no longer be refused.
    @inline(__always)
    mutating func add(_ more: Int) {
        bytes += more
        if bytes > granted, !grants(bytes) {
            charge.record(bytes + Self.step)
            granted = bytes + Self.step
        }
    }

    @inline(never)
    private mutating func grants(_ wanted: Int) -> Bool {
        if granted == 0 {
            // The writing script may have changed.
            let account = MemoryAccount.current
            charge = MemoryCharge(account)
            most = min(Self.mostBytes, max(Self.leastBytes, (account?.capacity ?? .max) / 16))
        }
        guard charge.isLimited else {
            granted = .max
            return true
        }
        guard (try? charge.set(wanted + Self.step)) != nil else { return false }
        granted = wanted + Self.step
        return true
    }

    /// Runs `store`, which stores the changes before the end of the write, and keeps the charge, because the next
    /// changes reuse the memory.
    static func storingEarly(
        _ column: ListColumn, _ store: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let charged = column.pending.charge.bytes
        try store()
        guard charged > 0 else { return }
        column.pending.charge = MemoryCharge(recording: charged)
        column.pending.granted = charged
    }

    /// Records that all changes are stored or discarded.
    mutating func release() {
        guard bytes > 0 || granted > 0 else { return }
        bytes = 0
        granted = 0
        charge.record(0)
    }
}

extension ListElement {
    /// The size in bytes of the element in a list that is not stored yet.
    var pendingBytes: Int {
        // The array's header, rounding, and the reference to it, which may be stored twice while a list grows.
        if case .bytes(let bytes) = self { return 64 + bytes.count }
        return 16
    }
}

extension UnpackedChunk {
    /// The size in bytes of the elements, including the list.
    var pendingBytes: Int {
        256 + words.count * 16 + byteElements.reduce(0) { $0 + 64 + $1.count }
    }
}

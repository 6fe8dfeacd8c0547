/// Copies of leaves that an open write has flushed, for readers of the same snapshot.
///
/// New pages of a write may move, so readers use copies. A write may read far more data than fits in memory, so the
/// oldest copies are freed if there are too many. A reader uses the leaves of one cluster at a time, which are always
/// among the newest copies.
final class LeafCopies {
    struct Copy {
        let key: LeafKey
        let bytes: UnsafeMutableRawBufferPointer
    }

    @exclusivity(unchecked) private var copies: [Copy] = []
    /// The index of the oldest copy that still exists.
    @exclusivity(unchecked) private var first = 0
    @exclusivity(unchecked) private var size = 0

    /// The maximum size of all copies, in bytes.
    private let limit: Int
    /// The minimum number of copies that are kept, whatever their size.
    private static let least = 256

    /// Creates the copies of a write.
    init(limit: Int) { self.limit = limit }

    deinit { removeAll() }

    /// Adds a copy of some bytes, which must not be empty.
    func add(_ key: LeafKey, _ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyMemory(from: bytes)
        copies.append(Copy(key: key, bytes: copy))
        size += bytes.count
        // because: the allocation is not empty.
        return copy.baseAddress!
    }

    /// Removes the oldest copy if there are too many; the caller frees it.
    func takeOldest() -> Copy? {
        guard size > limit, copies.count - first > Self.least else { return nil }
        let oldest = copies[first]
        first += 1
        size -= oldest.bytes.count
        if first > 4096 {
            copies.removeFirst(first)
            first = 0
        }
        return oldest
    }

    /// Frees all copies.
    func removeAll() {
        guard !copies.isEmpty else { return }
        for copy in copies[first...] { copy.bytes.deallocate() }
        copies = []
        first = 0
        size = 0
    }
}

extension WriteSession {
    /// Copies a flushed leaf for readers.
    func keepCopy(
        of key: LeafKey, _ bytes: UnsafeRawBufferPointer
    ) -> UnsafeMutableRawPointer {
        let copies = makeCopies()
        while let old = copies.takeOldest() {
            if let address = old.bytes.baseAddress {
                overlays[old.key.table]?.reader.forget(
                    old.key.slot, old.key.cluster, at: UnsafeRawPointer(address))
            }
            old.bytes.deallocate()
        }
        return copies.add(key, bytes)
    }
}

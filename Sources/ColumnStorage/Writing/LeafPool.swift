import LMDBStorage

/// A pool of memory blocks for unpacked leaves, by width.
final class LeafPool {
    @exclusivity(unchecked) private var free: SortedMap<Int, [UnsafeMutableRawPointer]> =
        SortedMap()
    private static let keep = 64
    /// The size of the leaves in use, in bytes.
    @exclusivity(unchecked) private(set) var usedSize = 0

    deinit {
        for blocks in free.values { for block in blocks { block.deallocate() } }
    }

    /// Returns a leaf for values of this width; width 0 is a presence bitmap.
    ///
    /// The content of the leaf is undefined.
    func take(width: Int) -> UnpackedLeaf {
        usedSize += Self.size(width)
        let block =
            free[width, default: []].popLast()
            ?? .allocate(byteCount: Self.size(width), alignment: 16)
        return UnpackedLeaf(address: block + UnpackedLeaf.notes)
    }

    /// Releases a leaf.
    func release(_ leaf: UnpackedLeaf, width: Int) {
        assert(usedSize >= Self.size(width), "a released leaf was in use")
        usedSize -= Self.size(width)
        let block = leaf.address - UnpackedLeaf.notes
        if free[width, default: []].count < Self.keep {
            free[width, default: []].append(block)
        } else {
            block.deallocate()
        }
    }

    static func size(_ width: Int) -> Int {
        width == 0 ? UnpackedLeaf.notes + 64 : UnpackedLeaf.blockSize(width: width)
    }
}

/// Copies of leaves that an open write has flushed, for readers of the same snapshot.
///
/// New pages of a write may move, so readers use copies. A write may read far more data than fits in memory, so the
/// oldest copies are removed from the directory if there are too many. A reader may still use one of them: it uses the
/// leaves of one cluster at a time, so a copy is freed after many others were removed.
final class LeafCopies {
    struct Copy {
        let key: LeafKey
        let bytes: UnsafeMutableRawBufferPointer
    }

    @exclusivity(unchecked) private var copies: [Copy] = []
    /// The index of the oldest copy that is not freed.
    @exclusivity(unchecked) private var first = 0
    /// The index of the oldest copy that is not removed.
    @exclusivity(unchecked) private var current = 0
    /// The size in bytes of the copies that are not removed.
    @exclusivity(unchecked) private var size = 0

    /// The maximum size of the copies that are not removed, in bytes.
    private let limit: Int
    /// The number of copies that are not removed, whatever their size, and of those that are not freed.
    private static let minimum = 128

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

    /// Removes and returns the oldest copy if there are too many; it exists until many others were removed.
    func removeOldest() -> Copy? {
        guard size > limit, copies.count - current > Self.minimum else { return nil }
        let oldest = copies[current]
        current += 1
        size -= oldest.bytes.count
        if current - first > Self.minimum {
            copies[first].bytes.deallocate()
            first += 1
        }
        if first > 4096 {
            copies.removeFirst(first)
            current -= first
            first = 0
        }
        assert(
            first <= current && current <= copies.count && size >= 0,
            "the removed copies precede the others")
        return oldest
    }

    /// Frees all copies.
    func removeAll() {
        guard !copies.isEmpty else { return }
        for copy in copies[first...] { copy.bytes.deallocate() }
        copies = []
        first = 0
        current = 0
        size = 0
    }
}

extension WriteSession {
    /// Copies a flushed leaf for readers.
    func keepCopy(
        of key: LeafKey, _ bytes: UnsafeRawBufferPointer
    ) -> UnsafeMutableRawPointer {
        let copies = makeCopies()
        while let old = copies.removeOldest() {
            if let address = old.bytes.baseAddress {
                overlays[old.key.table]?.reader.forget(
                    old.key.slot, old.key.cluster, at: UnsafeRawPointer(address))
            }
        }
        return copies.add(key, bytes)
    }
}

/// The buffers of one snapshot's writes, kept between writes so that a small commit needs no allocations.
package final class WriteWorkspace {
    let packer = LeafPacker()
    let pool = LeafPool()
    let arena = TextArena()
    let deltaBuffer = DeltaBufferStorage()
    /// The reader of the previous version; created when a write first keeps replaced values.
    @exclusivity(unchecked) var previous: PreviousVersion?
    /// The buffer for the entry of the history.
    @exclusivity(unchecked) var entry = ByteWriter()
    /// An empty map with the memory of the map of the last write.
    @exclusivity(unchecked) var overlays: SortedMap<TableID, TableOverlay> = SortedMap()
    /// A counter that is incremented when unpacked leaves are flushed, which invalidates earlier addresses.
    let generation: UnsafeMutablePointer<Int>

    init() {
        generation = .allocate(capacity: 1)
        generation.initialize(to: 1)
    }

    deinit { generation.deallocate() }

    /// Keeps the memory of an entry for the next write, unless it is large.
    func keep(_ used: inout ByteWriter) {
        guard used.bytes.count <= 1 << 16 else { return }
        used.truncate(to: 0)
        swap(&used, &entry)
    }
}

import LMDBStorage

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

/// The buffers of one snapshot's writes, kept between writes so that a small commit needs no allocations.
package final class WriteWorkspace {
    let packer = LeafPacker()
    let pool = LeafPool()
    let arena = TextArena()
    let deltaBuffer = DeltaBufferStorage()
    /// The reader of the previous version; created when a write first keeps replaced values.
    @exclusivity(unchecked) var previous: PreviousVersion?
    /// A counter that is incremented when unpacked leaves are flushed, which invalidates earlier addresses.
    let generation: UnsafeMutablePointer<Int>

    init() {
        generation = .allocate(capacity: 1)
        generation.initialize(to: 1)
    }

    deinit { generation.deallocate() }
}

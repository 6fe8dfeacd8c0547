/// The memory that the writes of one snapshot work with, kept from one to the next: a small commit must not
/// pay for allocations that the one before has made already.
package final class WriteWorkspace {
    let packer = LeafPacker()
    let pool = LeafPool()
    let arena = TextArena()
    let deltaBuffer = DeltaBufferStorage()
    /// Made when a write keeps what it replaces.
    @exclusivity(unchecked) var previous: PreviousVersion?
    /// Incremented whenever unpacked leaves are flushed, which invalidates earlier addresses.
    let generation: UnsafeMutablePointer<Int>

    init() {
        generation = .allocate(capacity: 1)
        generation.initialize(to: 1)
    }

    deinit { generation.deallocate() }
}

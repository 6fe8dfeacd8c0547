/// Memory for many byte strings that are freed together; their addresses do not change.
struct BytesArena {
    private var blocks: [UnsafeMutableRawPointer] = []
    private var next = UnsafeMutableRawPointer(bitPattern: 8)!  // because: the number is not 0
    private var capacity = 0
    /// The number of copied bytes.
    private(set) var used = 0

    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        let address = allocate(bytes.count)
        if let source = bytes.baseAddress {
            address.copyMemory(from: source, byteCount: bytes.count)
        }
        return UnsafeRawPointer(address)
    }

    mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        if count > capacity {
            let size = Swift.max(count, blocks.isEmpty ? 1 << 10 : 1 << 18)
            next = .allocate(byteCount: size, alignment: 8)
            blocks.append(next)
            capacity = size
        }
        let address = next
        next += count
        capacity -= count
        used += count
        return address
    }

    func deallocate() {
        for block in blocks { block.deallocate() }
    }

    mutating func removeAll() {
        deallocate()
        self = BytesArena()
    }
}

/// Memory for the bytes passed to a write, which are freed together.
final class TextArena {
    @exclusivity(unchecked) private var chunks: [UnsafeMutableRawPointer] = []
    @exclusivity(unchecked) private var next: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var rest = 0
    @exclusivity(unchecked) private(set) var size = 0
    @exclusivity(unchecked) private var firstSize = 0

    private static let chunkSize = 1 << 16

    deinit { for chunk in chunks { chunk.deallocate() } }

    /// Copies bytes to memory that does not move.
    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let source = bytes.baseAddress, bytes.count > 0 else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        if bytes.count > rest { grow(bytes.count) }
        // because: grow has just reserved the space.
        let address = next!
        address.copyMemory(from: source, byteCount: bytes.count)
        next = address + bytes.count
        rest -= bytes.count
        return UnsafeRawBufferPointer(start: address, count: bytes.count)
    }

    private func grow(_ count: Int) {
        let size = max(Self.chunkSize, count)
        let chunk = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        if chunks.isEmpty { firstSize = size }
        chunks.append(chunk)
        next = chunk
        rest = size
        self.size += size
    }

    /// Frees all copied bytes, except one chunk for later copies.
    func reset() {
        guard let first = chunks.first, rest != firstSize || chunks.count > 1 else { return }
        while chunks.count > 1 { chunks.removeLast().deallocate() }
        if firstSize > Self.chunkSize {
            first.deallocate()
            chunks = []
            firstSize = 0
            next = nil
        } else {
            next = first
        }
        rest = firstSize
        size = firstSize
    }
}

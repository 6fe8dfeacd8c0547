import LMDBStorage

/// The delta buffer with the changes of an open write.
///
/// A snapshot's workspace keeps it between writes. A write reads the nodes again unless this snapshot also committed
/// the previous version.
final class DeltaBufferStorage {
    private let bytes: UnsafeMutableRawBufferPointer
    @exclusivity(unchecked) private var used = 0
    @exclusivity(unchecked) private var isLoaded = false
    @exclusivity(unchecked) private var isChanged = false
    /// The version of the nodes; nil if they are those of an open write.
    @exclusivity(unchecked) private var version: UInt64?

    init() {
        bytes = .allocate(byteCount: DeltaBuffer.limit, alignment: 8)
    }

    deinit { bytes.deallocate() }

    /// Begins another write on a version.
    func begin(on base: UInt64) {
        isLoaded = version == base
        if !isLoaded { version = nil }
        isChanged = false
    }

    /// Records the version as which the write was committed.
    func didCommit(as version: UInt64) {
        assert(!isChanged, "the nodes are stored before the commit")
        if isLoaded { self.version = version }
    }

    /// The nodes of an open write at a savepoint.
    struct Mark {
        fileprivate let nodes: [UInt8]
        fileprivate let isLoaded: Bool
        fileprivate let isChanged: Bool
        fileprivate let version: UInt64?
    }

    /// Returns the present nodes, of a few hundred bytes at most.
    func mark() -> Mark {
        Mark(
            nodes: isLoaded ? [UInt8](bytes[..<used]) : [], isLoaded: isLoaded,
            isChanged: isChanged, version: version)
    }

    /// Restores the nodes at a savepoint.
    func restore(_ mark: Mark) {
        bytes.copyBytes(from: mark.nodes)
        used = mark.nodes.count
        isLoaded = mark.isLoaded
        isChanged = mark.isChanged
        version = mark.version
    }

    private func willChange() {
        assert(isLoaded, "the nodes are read before they change")
        isChanged = true
        version = nil
    }

    private func load(_ transaction: TransactionHandle) throws(StorageError) {
        if isLoaded { return }
        let stored = try DeltaBuffer.read(transaction).bytes
        guard stored.count <= bytes.count else {
            throw StorageError(.damaged, call: "reading recent nodes", file: transaction.file)
        }
        bytes.copyMemory(from: stored)
        used = stored.count
        isLoaded = true
    }

    // because: the buffer contains only nodes that were validated or created here.
    private var nodes: DeltaBuffer {
        DeltaBuffer(unchecked: UnsafeRawBufferPointer(rebasing: bytes[..<used]))
    }

    /// Reserves space for a node; the caller fills it before the next call.
    ///
    /// A large node is stored directly in its table.
    func reserve(
        _ home: DeltaBuffer.Home, _ key: UInt64, count: Int, _ tables: FileTables,
        in transaction: TransactionHandle
    ) throws(StorageError) -> UnsafeMutableRawBufferPointer {
        try load(transaction)
        willChange()
        if let offset = nodes.offset(home, key) {
            let start = offset + DeltaBuffer.headSize
            if DeltaBuffer.size(UnsafeRawBufferPointer(bytes), offset) == count {
                return UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + count])
            }
            remove(at: offset)
        }
        let size = DeltaBuffer.headSize + count
        let isLarge = size > bytes.count / 2
        // Entries of the history must be stored in order, so the waiting ones are stored first.
        if isLarge || used + size > bytes.count { try moveHome(tables, in: transaction) }
        guard !isLarge else {
            return try transaction.reserve(
                tables[home], key, count: count, append: home == .history)
        }
        bytes.storeBytes(of: home.rawValue, toByteOffset: used, as: UInt8.self)
        bytes.storeBytes(of: key, toByteOffset: used + 1, as: UInt64.self)
        bytes.storeBytes(of: UInt16(count), toByteOffset: used + 9, as: UInt16.self)
        let start = used + DeltaBuffer.headSize
        used += size
        assert(used <= bytes.count, "the buffer has space for the node")
        return UnsafeMutableRawBufferPointer(rebasing: bytes[start..<used])
    }

    /// Removes the nodes of the tail with keys in a range.
    func removeTail(
        _ keys: Range<UInt64>, in transaction: TransactionHandle
    ) throws(StorageError) {
        try load(transaction)
        var offset = 0
        let all = UnsafeRawBufferPointer(bytes)
        while offset < used {
            if all[offset] == DeltaBuffer.Home.tail.rawValue
                && keys.contains(DeltaBuffer.key(all, offset))
            {
                remove(at: offset)
                willChange()
            } else {
                offset += DeltaBuffer.headSize + DeltaBuffer.size(all, offset)
            }
        }
        assert(offset == used, "the last node ends where the buffer does")
    }

    private func remove(at offset: Int) {
        let end =
            offset + DeltaBuffer.headSize
            + DeltaBuffer.size(UnsafeRawBufferPointer(bytes), offset)
        assert(end <= used, "a node is in the buffer")
        if end < used, let base = bytes.baseAddress {
            (base + offset).copyMemory(from: base + end, byteCount: used - end)
        }
        used -= end - offset
    }

    /// Stores all nodes in their tables.
    private func moveHome(
        _ tables: FileTables, in transaction: TransactionHandle
    ) throws(StorageError) {
        try nodes.forEach { home, key, node throws(StorageError) in
            try transaction.put(tables[home], key, node, append: home == .history)
        }
        used = 0
    }

    /// Stores the changed nodes, at the end of a write.
    func store(in transaction: TransactionHandle) throws(StorageError) {
        guard isChanged else { return }
        assert(isLoaded && version == nil, "changed nodes have no version")
        let name = DeltaBuffer.name
        try transaction.put(
            .names,
            UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
            UnsafeRawBufferPointer(rebasing: bytes[..<used]))
        isChanged = false
    }
}

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
        assert(chunks.isEmpty == (firstSize == 0), "a kept chunk is the first one")
    }
}

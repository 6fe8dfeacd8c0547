#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The data that reads of a table access, behind one pointer.
///
/// Class properties cost an exclusivity check for each access; this costs a load.
///
/// The directory holds one word per slot and cluster: the address of a leaf in the lower 48 bits, and the epoch at
/// which it was found in the upper 16. An entry of another epoch is not valid.
@usableFromInline
struct TableState {
    /// The directory, indexed by `slot * capacity + cluster`; slot 0 is presence, slot `c + 1` is column `c`.
    @usableFromInline var directory: UnsafeMutablePointer<UInt64>
    /// The number of clusters for which each slot has space.
    @usableFromInline var capacity: Int
    /// The number of columns including holes; there is one more slot.
    @usableFromInline var columnCount: Int
    /// The kind of each column; 0 for a hole.
    @usableFromInline var kinds: UnsafeMutablePointer<UInt8>
    /// The current epoch in the upper 16 bits; never 0.
    @usableFromInline var epoch: UInt64
    @usableFromInline var clusterCount: Int
    @usableFromInline var keyBound: Int64
    @usableFromInline var count: Int

    static let firstEpoch: UInt64 = 1 << 48
    @usableFromInline static var addressMask: UInt64 {
        @inlinable @inline(__always) get { (1 << 48) - 1 }
    }

    /// Creates a table without columns or rows.
    static func make() -> UnsafeMutablePointer<TableState> {
        let state = UnsafeMutablePointer<TableState>.allocate(capacity: 1)
        state.initialize(
            to: TableState(
                directory: DirectoryMemory.none, capacity: 0, columnCount: 0,
                kinds: .allocate(capacity: 1), epoch: firstEpoch, clusterCount: 0, keyBound: 0,
                count: 0))
        return state
    }

    static func destroy(_ state: UnsafeMutablePointer<TableState>) {
        DirectoryMemory.free(state.pointee.directory, state.pointee.words)
        state.pointee.kinds.deallocate()
        state.deallocate()
    }

    var words: Int { capacity * (columnCount + 1) }

    /// Invalidates every address.
    mutating func advanceEpoch() {
        epoch &+= 1 << 48
        if epoch == 0 {
            // Entries of the first epochs would count as valid again.
            epoch = Self.firstEpoch
            for index in 0..<words { directory[index] = 0 }
        }
    }

    /// Reserves space for `clusters` clusters of `columns` columns, and keeps the addresses.
    ///
    /// Returns false if there is not enough memory.
    mutating func resize(columns: Int, clusters: Int) -> Bool {
        if columns == columnCount && clusters <= capacity { return true }
        let wanted = clusters <= capacity ? capacity : max(clusters, 2 * capacity, 4)
        let (words, overflow) = wanted.multipliedReportingOverflow(by: columns + 1)
        guard !overflow, let fresh = DirectoryMemory.allocate(words) else { return false }
        for slot in 0..<min(columns, columnCount) + 1 where capacity > 0 {
            (fresh + slot * wanted).update(from: directory + slot * capacity, count: capacity)
        }
        DirectoryMemory.free(directory, self.words)
        directory = fresh
        capacity = wanted
        columnCount = columns
        return true
    }
}

/// Zeroed memory that takes no physical pages until it is written.
enum DirectoryMemory {
    /// The directory of a table without clusters; never read or freed.
    // because: this is only an address that all tables share, and it is never dereferenced.
    nonisolated(unsafe) static let none = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)

    private static let mapFrom = 16 * 1024

    static func allocate(_ words: Int) -> UnsafeMutablePointer<UInt64>? {
        if words == 0 { return none }
        if words < mapFrom {
            return calloc(words, 8)?.bindMemory(to: UInt64.self, capacity: words)
        }
        let (bytes, overflow) = words.multipliedReportingOverflow(by: 8)
        guard !overflow else { return nil }
        let mapped = mmap(
            nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let mapped, mapped != MAP_FAILED else { return nil }
        return mapped.bindMemory(to: UInt64.self, capacity: words)
    }

    static func free(_ memory: UnsafeMutablePointer<UInt64>, _ words: Int) {
        if words == 0 { return }
        if words < mapFrom {
            deallocate(memory)
        } else {
            munmap(memory, words * 8)
        }
    }
}

/// Calls the system's `free`; no method hides this name.
private func deallocate(_ memory: UnsafeMutableRawPointer) { free(memory) }

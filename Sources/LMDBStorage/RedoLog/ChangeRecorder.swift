import CLMDB

/// The changes of the open write in the form of its log record, in the order in which they were made.
///
/// A change consists of its kind (a byte), the table's number (a byte), the lengths of key (2 bytes) and value (4
/// bytes), key and value. Only the thread that holds the write lock may use the recorder. The memory is reused for the
/// next write.
final class ChangeRecorder: @unchecked Sendable {
    // Unchecked because: only the holder of the write lock uses it.

    /// The maximum size of the recorded changes of one write; above it, writing the data file itself costs less.
    static let limit = 1 << 20
    /// The maximum size of the buffer that is kept between writes.
    private static let keptSize = 256 << 10

    enum Change: UInt8 {
        case put = 1
        case delete = 2
    }

    static let headSize = 8

    /// Whether changes are recorded.
    private(set) var isRecording = false
    /// Whether memory was returned that the caller fills before the next change.
    private(set) var isLent = false
    /// Whether some changes were not recorded.
    private(set) var isIncomplete = false
    private var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var used = LogRecord.size
    private var lent = UnsafeRawBufferPointer(start: nil, count: 0)

    deinit { bytes.deallocate() }

    /// Whether there are no changes.
    var isEmpty: Bool { used == LogRecord.size && !isIncomplete }

    /// The record: space for its header, then the changes.
    var record: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[..<used])
    }

    /// Space for the header of a record without changes.
    var head: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[..<LogRecord.size])
    }

    /// Begins recording a write.
    func begin() {
        used = LogRecord.size
        isLent = false
        isIncomplete = false
        isRecording = reserve(0)
        if !isRecording { isIncomplete = true }
    }

    /// Ends recording a write.
    func end() {
        isRecording = false
        isLent = false
        if bytes.count > Self.keptSize {
            bytes.deallocate()
            bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
    }

    /// Marks the record as incomplete, because a change does not fit into it or cannot be recorded.
    func abandon() {
        isRecording = false
        isLent = false
        isIncomplete = true
    }

    @inline(__always)
    func put(_ table: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        guard let target = add(.put, table: table, key: key, count: value.count) else { return }
        target.copyMemory(from: value)
    }

    /// Records a value that the caller writes to `target` before the next change.
    func lend(_ table: UInt32, _ key: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer) {
        guard add(.put, table: table, key: key, count: target.count) != nil else { return }
        lent = target
        isLent = true
    }

    /// Copies the value that the caller has written.
    func finishLent() {
        isLent = false
        assert(lent.count <= used - LogRecord.size, "the record has the lent value")
        UnsafeMutableRawBufferPointer(rebasing: bytes[used - lent.count..<used])
            .copyMemory(from: lent)
    }

    func delete(_ table: UInt32, _ key: UnsafeRawBufferPointer) {
        _ = add(.delete, table: table, key: key, count: 0)
    }

    /// Adds a change, and returns the memory for its value; nil if the record would be too large.
    @inline(__always)
    private func add(
        _ change: Change, table: UInt32, key: UnsafeRawBufferPointer, count: Int
    ) -> UnsafeMutableRawBufferPointer? {
        let size = Self.headSize + key.count + count
        assert(!isLent, "lent memory is filled before the next change")
        assert(
            key.count <= 0xFFFF && table <= 0xFF, "the head of a change has its table and length")
        guard used + size <= bytes.count || reserve(size) else {
            abandon()
            return nil
        }
        let target = UnsafeMutableRawBufferPointer(rebasing: bytes[used..<used + size])
        let head =
            UInt64(change.rawValue) | UInt64(table) << 8 | UInt64(key.count) << 16
            | UInt64(count) << 32
        target.storeBytes(of: head, as: UInt64.self)
        let valueStart = Self.headSize + key.count
        UnsafeMutableRawBufferPointer(rebasing: target[Self.headSize..<valueStart])
            .copyMemory(from: key)
        used += size
        assert(
            used <= bytes.count && used <= Self.limit, "the changes fit into one record")
        return UnsafeMutableRawBufferPointer(rebasing: target[valueStart...])
    }

    /// Reserves space.
    ///
    /// Returns false if the record would be too large.
    private func reserve(_ size: Int) -> Bool {
        let needed = used + size
        guard needed <= Self.limit, size <= Self.limit else { return false }
        if needed <= bytes.count { return true }
        var capacity = max(bytes.count, 16 << 10)
        while capacity < needed { capacity *= 2 }
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 8)
        larger.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes[..<min(used, bytes.count)]))
        bytes.deallocate()
        bytes = larger
        return true
    }
}

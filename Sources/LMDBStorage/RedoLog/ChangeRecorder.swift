import CLMDB

/// The changes of the open write as its record keeps them, in the order in which they were made.
///
/// A change is what it is (a byte), the table's number (a byte), the lengths of key (2) and value (4), key and value.
/// Only the thread that holds the write lock may use it. The memory is used again for the next write.
final class ChangeRecorder: @unchecked Sendable {
    // Unchecked because: only the holder of the write lock uses it.

    /// The most that is recorded of one write: beyond it, writing the data file itself is the cheaper way.
    static let limit = 1 << 20
    /// The size of the buffer that is kept from write to write.
    private static let keptSize = 256 << 10

    enum Change: UInt8 {
        case put = 1
        case delete = 2
        case drop = 3
    }

    static let headSize = 8

    /// Whether changes are to be recorded.
    private(set) var isRecording = false
    /// Whether a place was lent that its owner fills before the next change.
    private(set) var isLent = false
    /// Whether there are changes that are not recorded.
    private(set) var isIncomplete = false
    private var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var used = LogRecord.size
    private var lent = UnsafeRawBufferPointer(start: nil, count: 0)

    deinit { bytes.deallocate() }

    /// Whether nothing has changed.
    var isEmpty: Bool { used == LogRecord.size && !isIncomplete }

    /// The record: space for its head, then the changes.
    var record: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[..<used])
    }

    /// Space for the head of a record without changes.
    var head: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[..<LogRecord.size])
    }

    /// A write begins.
    func begin() {
        used = LogRecord.size
        isLent = false
        isIncomplete = false
        isRecording = reserve(0)
        if !isRecording { isIncomplete = true }
    }

    /// The write is over.
    func end() {
        isRecording = false
        isLent = false
        if bytes.count > Self.keptSize {
            bytes.deallocate()
            bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
    }

    /// Notes that something changed that is not recorded.
    func giveUp() {
        isRecording = false
        isLent = false
        isIncomplete = true
    }

    @inline(__always)
    func put(_ table: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        guard let place = add(.put, table, key, value.count) else { return }
        place.copyMemory(from: value)
    }

    /// Records a value that its owner fills at `place` before the next change.
    func lend(_ table: UInt32, _ key: UnsafeRawBufferPointer, _ place: UnsafeRawBufferPointer) {
        guard add(.put, table, key, place.count) != nil else { return }
        lent = place
        isLent = true
    }

    /// Takes over what was filled in.
    func settle() {
        isLent = false
        UnsafeMutableRawBufferPointer(rebasing: bytes[used - lent.count..<used])
            .copyMemory(from: lent)
    }

    func delete(_ table: UInt32, _ key: UnsafeRawBufferPointer) { _ = add(.delete, table, key, 0) }

    func drop(_ table: UInt32) {
        _ = add(.drop, table, UnsafeRawBufferPointer(start: nil, count: 0), 0)
    }

    /// Adds a change; the place of its value, or nil where it is too much to record.
    @inline(__always)
    private func add(
        _ change: Change, _ table: UInt32, _ key: UnsafeRawBufferPointer, _ count: Int
    ) -> UnsafeMutableRawBufferPointer? {
        let size = Self.headSize + key.count + count
        guard used + size <= bytes.count || reserve(size) else {
            giveUp()
            return nil
        }
        let place = UnsafeMutableRawBufferPointer(rebasing: bytes[used..<used + size])
        let head =
            UInt64(change.rawValue) | UInt64(table) << 8 | UInt64(key.count) << 16
            | UInt64(count) << 32
        place.storeBytes(of: head, as: UInt64.self)
        let valueStart = Self.headSize + key.count
        UnsafeMutableRawBufferPointer(rebasing: place[Self.headSize..<valueStart])
            .copyMemory(from: key)
        used += size
        return UnsafeMutableRawBufferPointer(rebasing: place[valueStart...])
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

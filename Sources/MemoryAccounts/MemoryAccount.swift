import Synchronization

// MemoryAccounts: the memory limit of one script.
//
// A limit is kept by three means:
//
// * Lua's allocator charges what it takes from the system, and refuses memory beyond the limit.
// * An open write, and a store in memory, take at most the limit; a write that needs more fails and is rolled back.
// * A process that runs a single script measures its anonymous memory, which includes everything else: the objects of
//   Swift, and the pages that LMDB keeps for a write. Beyond the limit, Lua receives no more memory, and computations
//   stop at their next step.
//
// Nothing is estimated. Between two measurements, and within one step, a process may exceed its limit; this is at most a
// quarter of the limit. Code that is about to take much memory at once asks for it with `requireSpace`.
//
// Threads: all members are usable on any thread. `MemoryAccount.current` is the account of the script that the calling
// thread runs, for modules that do not depend on scripts.

/// The memory account of one script: its limit, the bytes of Lua's heap, and the measured memory of its process.
///
/// ```swift
/// let account = MemoryAccount(limit: 64 << 20)
/// guard account.grants(4096) else { throw MemoryLimitReached(limit: account.limit) }
/// defer { account.release(4096) }
/// ```
package final class MemoryAccount: Sendable {
    /// The account of the script that the calling thread runs; nil without a limit.
    @TaskLocal package static var current: MemoryAccount?

    /// The bytes of all stores in memory of the process.
    ///
    /// Their pages are shared memory, which the measurement of anonymous memory does not include.
    package static let storesInMemory = Atomic(0)

    /// The maximum memory of the script, in bytes.
    package let limit: Int
    /// The memory that can be granted: the limit without a sixteenth, for memory that cannot be refused.
    private let capacity: Int
    /// The charged bytes: the memory of Lua's heap.
    private let heap = Atomic(0)
    /// The memory of the process besides Lua's heap at the last measurement; 0 if it is not measured.
    private let rest = Atomic(0)
    private let highest = Atomic(0)
    private let afterCollection = Atomic(0)
    /// The number of consecutive host calls that found the memory exhausted.
    private let exhaustions = Atomic(0)
    /// The earliest time of another collection for a script that has exhausted its memory.
    private let nextFutileCollection = Atomic(0)
    private static let collectionPause = 50_000_000
    private let measure: (@Sendable () -> Int?)?
    private let trim: (@Sendable () -> Void)?
    /// The memory of the process before the script started.
    private let before = Atomic(0)
    private static let start = ContinuousClock.now
    /// The earliest times of the next measurement and of the next trimming, in nanoseconds after `start`.
    ///
    /// The process is never measured before `beginMeasuring`.
    private let nextMeasurement = Atomic(Int.max)
    private let nextTrimming = Atomic(0)
    /// The minimum time between two measurements in nanoseconds.
    ///
    /// In this time a process can touch about a sixteenth of the limit: 30 megabytes in a millisecond. A measurement takes
    /// about a thousand nanoseconds.
    private let measurementInterval: Int

    /// Creates an account without charges.
    ///
    /// `measure` returns the anonymous memory of the process in bytes, or nil if the system does not provide it. Pass it
    /// only for a process that runs a single script. `trim` returns free memory of the heap to the system; otherwise it
    /// would count as memory of the script.
    package init(
        limit: Int, measure: (@Sendable () -> Int?)? = nil, trim: (@Sendable () -> Void)? = nil
    ) {
        self.limit = max(limit, 1)
        capacity = self.limit - self.limit / 16
        measurementInterval = max(20_000, min(self.limit / 640, 200_000))
        self.measure = measure
        self.trim = trim
    }

    /// The memory of the script in bytes, as charged and as last measured.
    package var bytes: Int { heap.load(ordering: .relaxed) + rest.load(ordering: .relaxed) }

    /// The highest memory of the script so far, in bytes.
    package var peak: Int { highest.load(ordering: .relaxed) }

    // MARK: Measuring

    /// Records the memory that the process uses before the script starts, which the account does not count.
    package func beginMeasuring() {
        guard let now = measure?() else { return }
        before.store(now - heap.load(ordering: .relaxed), ordering: .relaxed)
        nextMeasurement.store(0, ordering: .relaxed)
    }

    /// Whether the memory of the process is measured, which includes the pages that an open write keeps.
    package var isMeasured: Bool { nextMeasurement.load(ordering: .relaxed) != .max }

    /// Measures the memory of the process, if the last measurement is too old.
    ///
    /// Takes less than a tenth of a microsecond if no measurement is due, and about two otherwise.
    package func measureIfDue() {
        guard measure != nil else { return }
        let now = Self.now
        guard now >= nextMeasurement.load(ordering: .relaxed) else { return }
        nextMeasurement.store(now + measurementInterval, ordering: .relaxed)
        remeasure()
    }

    private func remeasure() {
        guard let now = measure?() else { return }
        let taken = now - before.load(ordering: .relaxed)
        rest.store(max(0, taken - heap.load(ordering: .relaxed)), ordering: .relaxed)
        recordHighest()
    }

    /// Returns free memory of the heap to the system and measures again, if the process has a considerable amount of
    /// memory besides Lua's heap; returns false if it was not worthwhile.
    ///
    /// It takes up to some milliseconds each time, and at most a sixteenth of all time.
    private func relieve() -> Bool {
        guard let trim, rest.load(ordering: .relaxed) > limit / 64 else { return false }
        let begin = Self.now
        guard begin >= nextTrimming.load(ordering: .relaxed) else { return false }
        trim()
        remeasure()
        let end = Self.now
        nextTrimming.store(end + 16 * (end - begin), ordering: .relaxed)
        return true
    }

    /// Nanoseconds after `start`.
    private static var now: Int {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    }

    // MARK: Limiting

    /// Charges bytes of Lua's heap before they are allocated.
    ///
    /// Returns false, without charging them, if the memory would exceed what can be granted; with `beyondLimit`, if it
    /// would exceed it by more than half of the reserve.
    package func grants(_ bytes: Int, beyondLimit: Bool = false) -> Bool {
        measureIfDue()
        let maximum = beyondLimit ? (capacity + limit) / 2 : capacity
        var sum = heap.load(ordering: .relaxed)
        while true {
            let (wanted, overflows) = sum.addingReportingOverflow(bytes)
            guard !overflows, wanted <= maximum - rest.load(ordering: .relaxed) else {
                if overflows || !relieve() { return false }
                sum = heap.load(ordering: .relaxed)
                continue
            }
            let (done, now) = heap.weakCompareExchange(
                expected: sum, desired: wanted, ordering: .relaxed)
            if done {
                recordHighest()
                return true
            }
            sum = now
        }
    }

    /// Charges bytes of Lua's heap that cannot be refused.
    package func record(_ bytes: Int) {
        heap.add(bytes, ordering: .relaxed)
        recordHighest()
    }

    /// Releases bytes that were charged or recorded.
    package func release(_ bytes: Int) { heap.subtract(bytes, ordering: .relaxed) }

    /// Returns whether the script may take this number of bytes, which are not charged.
    package func hasSpace(for bytes: Int) -> Bool {
        measureIfDue()
        let maximum = capacity.subtractingReportingOverflow(bytes)
        guard !maximum.overflow else { return false }
        return self.bytes <= maximum.partialValue || relieve() && self.bytes <= maximum.partialValue
    }

    /// Throws unless the script may take this number of bytes, which are not charged.
    package func requireSpace(for bytes: Int) throws(MemoryLimitReached) {
        guard hasSpace(for: bytes) else { throw MemoryLimitReached(limit: limit) }
    }

    /// Whether the script has more memory than its limit, so that its computations must stop.
    package var isExhausted: Bool {
        let result = bytes > limit && !(relieve() && bytes <= limit)
        if !result { exhaustions.store(0, ordering: .relaxed) }
        return result
    }

    /// Whether a garbage collection is worth its time.
    ///
    /// True if the memory exceeds three quarters of the limit, and has grown by more than a sixteenth of it after the
    /// last collection.
    package var needsCollection: Bool {
        measureIfDue()
        let bytes = bytes
        return bytes > capacity / 4 * 3
            && bytes - afterCollection.load(ordering: .relaxed) > limit / 16
    }

    /// Records that garbage was collected, and free memory returned to the system.
    package func didCollect() {
        remeasure()
        afterCollection.store(bytes, ordering: .relaxed)
        nextFutileCollection.store(Self.now + Self.collectionPause, ordering: .relaxed)
    }

    /// Whether a script without memory that continues to make calls collects garbage before the next one.
    ///
    /// True for the first calls, because the script may have released memory, and later only after a pause.
    package var collectsBeforeRefusal: Bool {
        exhaustions.add(1, ordering: .relaxed).newValue <= 16
            || Self.now >= nextFutileCollection.load(ordering: .relaxed)
    }

    private func recordHighest() {
        let sum = bytes
        if sum > highest.load(ordering: .relaxed) { highest.store(sum, ordering: .relaxed) }
    }
}

extension Array {
    /// Throws if the script does not have the memory for the array to grow, when the next element makes it move.
    ///
    /// Call it before elements are appended in a loop of any length; costs a comparison.
    @inline(__always)
    package func requireSpaceToGrow() throws(MemoryLimitReached) {
        if count == capacity { try requireSpaceToMove(count * MemoryLayout<Element>.stride) }
    }
}

extension Dictionary {
    /// Throws if the script does not have the memory for the table to grow, when the next key makes it move.
    ///
    /// Call it before keys are added in a loop of any length; costs a comparison.
    @inline(__always)
    package func requireSpaceToGrow() throws(MemoryLimitReached) {
        // A table is at most three quarters full.
        if count == capacity {
            try requireSpaceToMove(
                count / 3 * 4 * (MemoryLayout<Key>.stride + MemoryLayout<Value>.stride))
        }
    }
}

private func requireSpaceToMove(_ bytes: Int) throws(MemoryLimitReached) {
    guard bytes > 64 << 10, let account = MemoryAccount.current else { return }
    try account.requireSpace(for: 2 * bytes)
}

/// The error of a script that has reached its memory limit.
package struct MemoryLimitReached: Error, Hashable, Sendable, CustomStringConvertible {
    /// The limit, in bytes.
    package let limit: Int

    /// Creates the error of an account with this limit.
    package init(limit: Int) { self.limit = limit }

    /// The message, with the limit.
    package var description: String { "not enough memory: the limit of \(size) was reached" }

    /// The limit in the largest unit that represents it exactly, in the notation of `--memory`.
    private var size: String {
        for (shift, unit) in [(30, "GB"), (20, "MB"), (10, "KB")]
        where limit >= 1 << shift && limit % (1 << shift) == 0 {
            return "\(limit >> shift) \(unit)"
        }
        return "\(limit) bytes"
    }
}

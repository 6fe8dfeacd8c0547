import Synchronization

// MemoryAccounts: one limit for all memory of a script, including memory outside of Lua.
//
// Code that allocates memory for a script charges the script's account first, and releases the charge when it frees the
// memory. Lua's allocator, the pages of in-memory stores, decoded documents, observers and timers share one sum, so
// memory that is refused in one place is not available in another.
//
// Threads: all members are usable on any thread. `MemoryAccount.current` is the account of the script that the calling
// thread runs, for modules that do not depend on scripts.
//
// Charges for Swift objects are estimates that include headers and rounding, and err on the high side. An eighth of
// each limit is reserved for memory that the estimates miss, such as fragmentation. If a process runs a single script,
// its account also measures the memory of the process periodically and charges what the estimates have missed.

/// The memory account of one script: a limit, and the bytes charged against it.
///
/// The sum of the bytes that ``charge(_:)`` has granted never exceeds the ``capacity``. ``record(_:)`` adds allocations
/// that can no longer be refused; the account then grants no bytes until enough bytes have been released.
///
/// ```swift
/// let account = MemoryAccount(limit: 64 << 20)
/// try account.charge(4096)
/// defer { account.release(4096) }
/// ```
package final class MemoryAccount: Sendable {
    /// The account of the script that the calling thread runs; nil without a limit.
    @TaskLocal package static var current: MemoryAccount?

    /// The maximum memory of the script, in bytes.
    package let limit: Int
    /// The maximum number of bytes that can be charged: the limit without the reserve for inaccurate charges.
    package let capacity: Int
    private let reserve: Int
    private let charged = Atomic(0)
    /// The part of the charged bytes that are pages of files in memory.
    private let pages = Atomic(0)
    private let highest = Atomic(0)
    private let afterCollection = Atomic(0)
    /// The memory of the process in excess of the charges, at the last measurement.
    private let missed = Atomic(0)
    private let measure: (@Sendable () -> Int?)?
    private let trim: (@Sendable () -> Void)?
    /// The charged bytes when the heap was last trimmed because the account refused bytes.
    private let chargedAtTrim = Atomic(Int.min)
    private let measuredBefore = Atomic(0)
    private let measurementsDue = Atomic(0)
    /// The number of calls of ``needsCollection`` for each measurement.
    private static let callsPerMeasurement = 64

    /// Creates an account without charges.
    ///
    /// `measure` returns the anonymous memory of the process in bytes, or nil if the system does not provide it. Pass
    /// it only for a process that runs a single script. `trim` returns free memory of the heap to the system, where it
    /// would otherwise count as memory that the charges have missed.
    package init(
        limit: Int, measure: (@Sendable () -> Int?)? = nil, trim: (@Sendable () -> Void)? = nil
    ) {
        self.limit = max(limit, 1)
        reserve = self.limit / 8
        capacity = self.limit - reserve
        self.measure = measure
        self.trim = trim
    }

    /// The bytes that are currently charged; only recorded or measured bytes can exceed the capacity.
    package var bytes: Int { charged.load(ordering: .relaxed) + missed.load(ordering: .relaxed) }

    /// Records the memory that the process uses before the script starts, which the account does not count.
    package func beginMeasuring() {
        guard let now = measure?() else { return }
        measuredBefore.store(now - anonymous, ordering: .relaxed)
    }

    /// Measures the memory of the process and charges what the estimates have missed.
    private func remeasure() {
        guard let measure, let now = measure() else { return }
        let taken = now - measuredBefore.load(ordering: .relaxed)
        missed.store(max(0, taken - anonymous), ordering: .relaxed)
    }

    /// Trims the heap and measures the process again, if that may make more bytes available.
    ///
    /// It takes up to some milliseconds, so it happens only after many bytes were charged or released.
    private func relieve() -> Bool {
        guard missed.load(ordering: .relaxed) > capacity / 64 else { return false }
        let charged = charged.load(ordering: .relaxed)
        let last = chargedAtTrim.load(ordering: .relaxed)
        guard last == .min || abs(charged - last) > capacity / 64 else { return false }
        chargedAtTrim.store(charged, ordering: .relaxed)
        trim?()
        remeasure()
        return true
    }

    private var anonymous: Int {
        charged.load(ordering: .relaxed) - pages.load(ordering: .relaxed)
    }

    /// Adds to the number of charged bytes that are pages of files in memory; negative to subtract.
    func notePages(_ bytes: Int) { pages.add(bytes, ordering: .relaxed) }

    /// The highest number of bytes charged at the same time.
    package var peak: Int { highest.load(ordering: .relaxed) }

    /// Charges bytes before they are allocated.
    ///
    /// Throws, without charging them, if the sum would exceed the capacity.
    package func charge(_ bytes: Int) throws(MemoryLimitReached) {
        guard grants(bytes) else { throw MemoryLimitReached(limit: limit) }
    }

    /// Charges bytes before they are allocated.
    ///
    /// Returns false, without charging them, if the sum would exceed the capacity; with `beyondLimit`, if the sum would
    /// exceed it by more than a quarter of the reserve.
    package func grants(_ bytes: Int, beyondLimit: Bool = false) -> Bool {
        let capacity = capacity + (beyondLimit ? reserve / 4 : 0)
        var sum = charged.load(ordering: .relaxed)
        while true {
            let (wanted, overflows) = sum.addingReportingOverflow(bytes)
            guard !overflows, wanted <= capacity - missed.load(ordering: .relaxed) else {
                if overflows || !relieve() { return false }
                sum = charged.load(ordering: .relaxed)
                continue
            }
            let (done, now) = charged.weakCompareExchange(
                expected: sum, desired: wanted, ordering: .relaxed)
            if done {
                note(wanted)
                return true
            }
            sum = now
        }
    }

    /// Charges bytes that are already allocated, or that cannot be refused.
    package func record(_ bytes: Int) {
        note(charged.add(bytes, ordering: .relaxed).newValue)
    }

    /// Releases bytes that were charged or recorded.
    package func release(_ bytes: Int) {
        charged.subtract(bytes, ordering: .relaxed)
    }

    /// Whether a garbage collection is worth its time.
    ///
    /// True if more than three quarters of the capacity are charged, and more than a sixteenth of the capacity was
    /// charged after the last collection.
    package var needsCollection: Bool {
        if measure != nil,
            measurementsDue.add(1, ordering: .relaxed).newValue % Self.callsPerMeasurement == 0
        {
            remeasure()
        }
        let bytes = bytes
        return bytes > capacity / 4 * 3
            && bytes - afterCollection.load(ordering: .relaxed) > capacity / 16
    }

    /// Records that garbage was collected.
    package func didCollect() {
        remeasure()
        _ = relieve()
        afterCollection.store(bytes, ordering: .relaxed)
    }

    private func note(_ sum: Int) {
        if sum > highest.load(ordering: .relaxed) { highest.store(sum, ordering: .relaxed) }
    }
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

import Synchronization

// MemoryAccounts: one limit for all memory that a script takes, wherever it is allocated.
//
// Code that allocates for a script charges its account before, and releases the bytes after. Lua's allocator, the pages of
// stores in memory, decoded documents, observers and timers all share one sum, so that none of them can take what
// another one was refused.
//
// Threads: all members may be used on any thread. `MemoryAccount.current` is the account of the script that the calling
// thread runs; modules that know no script find the account there.
//
// Charges of Swift objects are estimates that include headers and rounding, and err upwards. An eighth of each limit is
// kept for what they miss, such as pieces of freed memory that nothing fits in. Where a process runs a single script, its
// account also measures the process now and then, and charges what the estimates have missed.

/// The memory of one script: a limit, and the bytes that are charged against it.
///
/// The sum of what ``charge(_:)`` granted never exceeds the ``capacity``. What cannot be refused any more is noted by
/// ``record(_:)``; until as much was released, the account grants nothing.
///
/// ```swift
/// let account = MemoryAccount(limit: 64 << 20)
/// try account.charge(4096)
/// defer { account.release(4096) }
/// ```
package final class MemoryAccount: Sendable {
    /// The account of the script that the calling thread runs; nil where nothing is limited.
    @TaskLocal package static var current: MemoryAccount?

    /// The most bytes that the script may take.
    package let limit: Int
    /// The most bytes that may be charged: the limit without what is kept for the imprecision of charges.
    package let capacity: Int
    private let reserve: Int
    private let charged = Atomic(0)
    /// Of it, the pages of files in memory.
    private let pages = Atomic(0)
    private let highest = Atomic(0)
    private let afterCollection = Atomic(0)
    /// The memory of the process beyond the charges, at the last measurement.
    private let missed = Atomic(0)
    private let measure: (@Sendable () -> Int?)?
    private let measuredBefore = Atomic(0)
    private let measurementsDue = Atomic(0)
    /// So many calls of ``needsCollection`` share one measurement.
    private static let callsPerMeasurement = 64

    /// Creates an account that nothing is charged to.
    ///
    /// `measure` returns the bytes of anonymous memory that the process has taken, or nil where the system does not say. Only for a process that runs a single script.
    package init(limit: Int, measure: (@Sendable () -> Int?)? = nil) {
        self.limit = max(limit, 1)
        reserve = self.limit / 8
        capacity = self.limit - reserve
        self.measure = measure
    }

    /// The bytes that are charged now; more than the capacity only by what was recorded or measured.
    package var bytes: Int { charged.load(ordering: .relaxed) + missed.load(ordering: .relaxed) }

    /// Notes what the process has taken before the script began, which does not count.
    package func beginMeasuring() {
        guard let now = measure?() else { return }
        measuredBefore.store(now - anonymous, ordering: .relaxed)
    }

    /// Measures the process, and charges what the estimates have missed.
    private func remeasure() {
        guard let measure, let now = measure() else { return }
        let taken = now - measuredBefore.load(ordering: .relaxed)
        missed.store(max(0, taken - anonymous), ordering: .relaxed)
    }

    private var anonymous: Int {
        charged.load(ordering: .relaxed) - pages.load(ordering: .relaxed)
    }

    /// Notes how many more of the charged bytes, or fewer, are pages of files in memory.
    func notePages(_ bytes: Int) { pages.add(bytes, ordering: .relaxed) }

    /// The most bytes that were ever charged at once.
    package var peak: Int { highest.load(ordering: .relaxed) }

    /// Charges bytes that are about to be allocated.
    ///
    /// Throws, and charges nothing, if the sum would exceed the capacity.
    package func charge(_ bytes: Int) throws(MemoryLimitReached) {
        guard grants(bytes) else { throw MemoryLimitReached(limit: limit) }
    }

    /// Charges bytes that are about to be allocated.
    ///
    /// Returns false, and charges nothing, if the sum would exceed the capacity, or, with `beyondLimit`, exceed it by more than a
    /// quarter of the reserve.
    package func grants(_ bytes: Int, beyondLimit: Bool = false) -> Bool {
        let capacity = capacity + (beyondLimit ? reserve / 4 : 0)
        var sum = charged.load(ordering: .relaxed)
        while true {
            let (wanted, overflows) = sum.addingReportingOverflow(bytes)
            guard !overflows, wanted <= capacity - missed.load(ordering: .relaxed) else {
                return false
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

    /// Charges bytes that are allocated already, or that cannot be refused.
    package func record(_ bytes: Int) {
        note(charged.add(bytes, ordering: .relaxed).newValue)
    }

    /// Returns bytes that were charged or recorded.
    package func release(_ bytes: Int) {
        charged.subtract(bytes, ordering: .relaxed)
    }

    /// Whether a garbage collection is worth its time: the account is three quarters full, and a good part of that was
    /// charged after the last one.
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

    /// Notes that garbage was collected.
    package func didCollect() {
        remeasure()
        afterCollection.store(bytes, ordering: .relaxed)
    }

    private func note(_ sum: Int) {
        if sum > highest.load(ordering: .relaxed) { highest.store(sum, ordering: .relaxed) }
    }
}

/// A script has reached the limit of its memory.
package struct MemoryLimitReached: Error, Hashable, Sendable, CustomStringConvertible {
    /// The limit, in bytes.
    package let limit: Int

    /// The error of an account with this limit.
    package init(limit: Int) { self.limit = limit }

    /// The message, with the limit.
    package var description: String { "not enough memory: the limit of \(size) was reached" }

    /// The limit in the largest unit that shows it exactly, as `--memory` takes it.
    private var size: String {
        for (shift, unit) in [(30, "GB"), (20, "MB"), (10, "KB")]
        where limit >= 1 << shift && limit % (1 << shift) == 0 {
            return "\(limit >> shift) \(unit)"
        }
        return "\(limit) bytes"
    }
}

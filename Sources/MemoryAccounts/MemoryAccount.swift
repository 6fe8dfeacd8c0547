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
// its account also measures the memory of the process periodically and charges what the estimates have missed. Pages of
// mapped files are not charged, because the system can read them again: if there are too many, the account releases
// them (``MappedFiles``).

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
    private let measure: (@Sendable () -> (anonymous: Int, files: Int)?)?
    private let trim: (@Sendable () -> Void)?
    /// The charged bytes when the heap was last trimmed because the account refused bytes.
    private let chargedAtTrim = Atomic(Int.min)
    private let measuredBefore = Atomic(0)
    /// The resident memory of the process, with the pages of files, before the script started.
    private let residentBefore = Atomic(0)
    /// The resident pages of files in bytes after they were last released.
    private let filesBefore = Atomic(0)
    private static let start = ContinuousClock.now
    /// The earliest time of the next measurement in nanoseconds after `start`; never before `beginMeasuring`.
    private let nextMeasurement = Atomic(Int.max)
    /// The minimum time between two measurements in nanoseconds.
    ///
    /// In this time a process can map about half of the reserve: 30 megabytes in a millisecond. A measurement takes
    /// about a thousand nanoseconds.
    private let measurementInterval: Int

    /// Creates an account without charges.
    ///
    /// `measure` returns the resident memory of the process in bytes, or nil if the system does not provide it. Pass it
    /// only for a process that runs a single script. `trim` returns free memory of the heap to the system, where it
    /// would otherwise count as memory that the charges have missed.
    package init(
        limit: Int, measure: (@Sendable () -> (anonymous: Int, files: Int)?)? = nil,
        trim: (@Sendable () -> Void)? = nil
    ) {
        self.limit = max(limit, 1)
        reserve = self.limit / 8
        capacity = self.limit - reserve
        measurementInterval = max(20_000, min(self.limit / 640, 200_000))
        self.measure = measure
        self.trim = trim
    }

    /// The bytes that are currently charged; only recorded or measured bytes can exceed the capacity.
    package var bytes: Int { charged.load(ordering: .relaxed) + missed.load(ordering: .relaxed) }

    /// Records the memory that the process uses before the script starts, which the account does not count.
    package func beginMeasuring() {
        guard let now = measure?() else { return }
        measuredBefore.store(now.anonymous - anonymous, ordering: .relaxed)
        residentBefore.store(now.anonymous + now.files - bytes, ordering: .relaxed)
        filesBefore.store(now.files, ordering: .relaxed)
        nextMeasurement.store(0, ordering: .relaxed)
    }

    /// Measures the memory of the process, if the last measurement is too old.
    ///
    /// Code that reads pages of mapped files calls it about once for each megabyte, because such pages are not charged.
    /// Takes less than a tenth of a microsecond if no measurement is due, and about two otherwise.
    package func measureIfDue() {
        guard measure != nil else { return }
        let (seconds, attoseconds) = Self.start.duration(to: .now).components
        let now = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        guard now >= nextMeasurement.load(ordering: .relaxed) else { return }
        nextMeasurement.store(now + measurementInterval, ordering: .relaxed)
        remeasure()
    }

    /// Measures the memory of the process, charges what the estimates have missed, and releases the pages of mapped
    /// files if there are too many.
    private func remeasure() {
        guard let measure, let now = measure() else { return }
        let taken = now.anonymous - measuredBefore.load(ordering: .relaxed)
        missed.store(max(0, taken - anonymous), ordering: .relaxed)
        limitPages(now)
    }

    /// Whether the account measures the memory of the process.
    package var isMeasured: Bool { measure != nil }

    /// Releases the pages of mapped files if there are too many.
    ///
    /// Takes about a microsecond for each resident megabyte that it releases.
    private func limitPages(_ now: (anonymous: Int, files: Int)) {
        // Pages that the process uses all the time come back, so releasing a few of them is not worth its time.
        let kept = min(filesBefore.load(ordering: .relaxed), now.files)
        filesBefore.store(kept, ordering: .relaxed)
        guard now.anonymous + now.files - residentBefore.load(ordering: .relaxed) > capacity,
            now.files - kept > limit / 32
        else { return }
        MappedFiles.releasePages()
        if let left = measure?() { filesBefore.store(left.files, ordering: .relaxed) }
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

    /// Throws unless the account has these bytes left, for memory that is freed before the caller returns.
    package func requireSpace(for bytes: Int) throws(MemoryLimitReached) {
        try charge(bytes)
        release(bytes)
    }

    /// Charges bytes before they are allocated.
    ///
    /// Returns false, without charging them, if the sum would exceed the capacity; with `beyondLimit`, if the sum would
    /// exceed it by more than a quarter of the reserve.
    package func grants(_ bytes: Int, beyondLimit: Bool = false) -> Bool {
        measureIfDue()
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
        measureIfDue()
        let bytes = bytes
        return bytes > capacity / 4 * 3
            && bytes - afterCollection.load(ordering: .relaxed) > capacity / 16
    }

    /// Whether the script has taken so much memory beyond the capacity that its computations must stop.
    ///
    /// Memory that cannot be refused may exceed the capacity by half of the reserve.
    package var isExhausted: Bool { bytes > capacity + reserve / 2 }

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

import SystemCalls

/// The flushes of a log that the writers of this process share.
///
/// A flush covers all records that were appended before it began. So while it is under way, other writers append their
/// records, and one further flush covers all of these. Each writer waits for a flush that covers its own record.
///
/// After a failed flush, the system counts records as written that the device may not have. The log is then broken: no
/// record may follow, and the writers of these records make the data file complete instead (RedoLog).
final class FlushGroup: @unchecked Sendable {
    // Unchecked because: `monitor` guards all following properties.
    private let monitor = Monitor()
    /// The number of records that were appended, and the number of those that a flush covers.
    private var appended: UInt64 = 0
    private var flushed: UInt64 = 0
    /// The version of the last record that was appended, and of the last one that is known to be on the device.
    private var newest: UInt64 = 0
    private var durable: UInt64 = 0
    private var failures = 0
    /// The system's error of the last failed flush.
    private var failureCode: Int32 = 0
    private var isFlushing = false
    private var isFailed = false

    /// A record for which its writer waits.
    struct Record {
        fileprivate let number: UInt64
        /// The number of failed flushes before it was appended.
        fileprivate let failures: Int
    }

    /// Whether a writer waits for a flush.
    var isInUse: Bool { monitor.withLock { flushed < appended } }

    /// Whether a record of a commit that others see may be missing on the device.
    var isBroken: Bool { monitor.withLock { isFailed } }

    /// The newest version up to which all records are on the device, including those of other processes, as far as this
    /// process knows.
    var durableVersion: UInt64 { monitor.withLock { durable } }

    /// Counts the record of a version that was appended.
    func append(_ version: UInt64) -> Record {
        monitor.withLock {
            appended += 1
            newest = version
            return Record(number: appended, failures: failures)
        }
    }

    /// Waits until a record is on the device; returns the system's error if a flush has failed since it was appended, or 0.
    ///
    /// `flush` returns the system's error or 0. `isCommitted` means that the commit of the record is visible.
    func wait(for record: Record, isCommitted: Bool, _ flush: () -> Int32) -> Int32 {
        monitor.withLock {
            assert(record.number <= appended, "a record is appended before it is flushed")
            while flushed < record.number, failures == record.failures {
                guard !isFlushing else {
                    monitor.wait()
                    continue
                }
                isFlushing = true
                let (covered, before, version) = (appended, flushed, newest)
                var code: Int32 = 0
                monitor.withoutLock { code = flush() }
                isFlushing = false
                if code == 0 {
                    flushed = max(flushed, covered)
                    durable = max(durable, version)
                } else {
                    failures += 1
                    failureCode = code
                    // The writer itself withdraws a record whose commit is not visible yet.
                    isFailed = isFailed || isCommitted || covered > before + 1
                    flushed = appended
                }
                assert(flushed <= appended, "only appended records are flushed")
                monitor.broadcast()
            }
            return failures == record.failures ? 0 : failureCode
        }
    }

    /// Records that the data file contains all commits, and needs no record.
    func reset() {
        monitor.withLock {
            flushed = appended
            isFailed = false
            monitor.broadcast()
        }
    }
}

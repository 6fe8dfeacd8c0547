import ColumnStorage
import MemoryAccounts
import SystemCalls

/// The threads with which a store reads many objects.
package struct ScanThreads: Sendable {
    /// The number of threads, including the calling one.
    package var count: Int
    /// The number of objects from which more than one thread is used.
    package var minRows = 200_000
    /// The number of clusters that a thread reads at once; 64 contain about 32,000 objects.
    package var clusters = 64

    /// One thread.
    static let one = ScanThreads(count: 1)
}

extension StoreView {
    /// Computes something for consecutive clusters of a table, and returns the results in the order of the clusters.
    ///
    /// All scans of many rows use this function. `prepare` is called once for each thread, with a view of the same
    /// version for this thread, and returns the function that computes the result for some clusters. With `isEven`, the
    /// table is divided evenly among the threads, for results that take longer to merge. The merged result must not
    /// depend on the division.
    ///
    /// Small tables, and all tables in a write transaction, are read by the calling thread alone. Throws the first error
    /// of any thread; the limits of the calling thread apply to all.
    func scan<Part>(
        _ rows: TableReader, isEven: Bool = false,
        _ prepare: (StoreView) throws -> (Range<Int>) throws -> Part
    ) throws -> [Part] {
        let count = rows.clusterCount
        let interruption = Interruption.current
        let maximum = rows.count > threads.minRows ? min(threads.count, WorkerPool.maxThreads) : 1
        // No thread would get a part of fewer clusters.
        let useful = min(maximum, (count + threads.clusters - 1) / threads.clusters)
        let helpers = useful > 1 && snapshot.write == nil ? try helpers(useful - 1) : []
        let size = max(1, isEven ? (count + helpers.count) / (helpers.count + 1) : threads.clusters)
        let parts = (count + size - 1) / size
        func clusters(_ part: Int) -> Range<Int> { part * size..<min(count, (part + 1) * size) }
        assert(
            parts == 0 || clusters(parts - 1).upperBound == count,
            "the parts have all clusters")
        let own = try prepare(self)
        guard !helpers.isEmpty, parts > 1 else {
            return try (0..<parts).map { part in
                try interruption?.step(size)
                return try own(clusters(part))
            }
        }
        let stop = StopFlag()
        let account = MemoryAccount.current
        var functions: [(Int) throws -> Part] = [
            { part in
                try interruption?.step(size)
                return try own(clusters(part))
            }
        ]
        for helper in helpers {
            let interruption = Interruption { stop.isRaised }
            func limited<Result>(_ body: () throws -> Result) throws -> Result {
                try Interruption.$current.withValue(interruption) {
                    try MemoryAccount.$current.withValue(account) { try body() }
                }
            }
            let function = try limited { try prepare(helper) }
            functions.append { part in
                try limited {
                    try interruption.step(size)
                    return try function(clusters(part))
                }
            }
        }
        return try ParallelWork(count: parts, functions).results(stop: stop) {
            try interruption?.step(1024)
        }
    }

    /// Returns views of this version for other threads.
    private func helpers(_ count: Int) throws -> [StoreView] {
        let snapshots = try StoreError.wrapping { () throws(StorageError) in
            try snapshot.companions(count)
        }
        return snapshots.map { StoreView(schema: schema, snapshot: $0, isFrozen: true) }
    }
}

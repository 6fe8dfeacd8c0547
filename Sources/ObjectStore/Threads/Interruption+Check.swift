import ColumnStorage

extension Interruption {
    /// Throws `limit_exceeded` if a computation was interrupted since the last call; its result must not be used.
    static func check() throws {
        guard let current, current.takeGivenUp() else { return }
        if let reached = current.takeReachedLimit() { throw reached }
        throw StoreError(.limitExceeded, "the evaluation of a query was stopped")
    }
}

/// The check whether the calling thread should stop its computation.
package typealias Interruption = ColumnStorage.Interruption

import ColumnStorage

extension Interruption {
    /// Throws `limit_exceeded` if something was given up since the last call: what was computed is not to be used.
    static func check() throws {
        guard let current, current.takeGivenUp() else { return }
        throw StoreError(.limitExceeded, "the evaluation of a query was stopped")
    }
}

/// Says whether the calling thread is to give up what it computes.
package typealias Interruption = ColumnStorage.Interruption

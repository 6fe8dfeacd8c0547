@testable import LMDBStorage

extension Environment {
    /// The log, where commits are logged.
    var log: RedoLog? { commits as? RedoLog }
}

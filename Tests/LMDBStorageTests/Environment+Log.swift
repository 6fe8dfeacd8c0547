@testable import LMDBStorage

extension Environment {
    /// The log, if commits are logged.
    var log: RedoLog? { commits as? RedoLog }
}

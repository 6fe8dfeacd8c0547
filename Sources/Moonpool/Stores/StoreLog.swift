import ColumnStorage
import Logging
import ObjectStore

/// The warnings of stores, which the program's `LoggingSystem` receives with the label `moonpool`.
enum StoreLog {
    private static let logger = Logger(label: "moonpool")

    /// Returns the name of a store as a writer, with a handler that logs its long waits.
    static func writer(of location: StoreLocation, for actor: (any Actor)?) -> LockUser {
        let name =
            switch location {
            case .file(let path): path
            case .memory(let name): "the in-memory store '\(name)'"
            }
        let owner = actor.map { "a store of \(type(of: $0))" } ?? "a store of a task"
        return LockUser(owner) { holder in
            logger.warning("a write of \(name) waits for \(holder)")
        }
    }
}

import LuaHost
import ObjectStore
import StoreBindings

/// The error of a migration that failed or was interrupted.
package struct MigrationFailure: ScriptError {
    /// What remains of the migration.
    enum Outcome {
        case rolledBack
        /// It is applied; only its report is missing.
        case committed
        /// It is started: each of its batches was committed.
        case started(StartedMigration)

        fileprivate var text: String {
            switch self {
            case .rolledBack: return "it was rolled back"
            case .committed: return "it is applied"
            case .started(let state):
                let command = state.isWhole ? "up" : "start"
                let progress =
                    state.isReady
                    ? "all objects are converted"
                    : "\(state.converted) of \(state.total) objects are converted"
                let way =
                    state.isReady && !state.isWhole ? "complete ends it" : "\(command) continues it"
                return
                    "migration \(state.number) (\(state.name)) is started, and \(progress): moonpool migrate \(way), "
                    + "abort takes it back"
            }
        }
    }

    /// The original error.
    let cause: any Error
    /// The number of the migration.
    let number: Int
    /// The name of its file.
    let fileName: String
    /// The path of its file.
    let path: String
    /// The object that was being migrated, such as `Person id = 17`.
    let object: String?
    /// What remains of it.
    let outcome: Outcome
    /// The earlier migrations that were applied.
    let applied: LuaTable?

    /// The error code of the cause.
    package var scriptCode: String { Self.code(of: cause) }

    /// The line of the migration file where it failed; nil if the message does not contain it.
    var line: Int? {
        let message = Self.message(of: cause)
        guard message.hasPrefix(path + ":") else { return nil }
        return Int(message.dropFirst(path.count + 1).prefix { $0.isNumber })
    }

    /// The error, its location, and the state of the store.
    package var scriptMessage: String {
        let location = object.map { ", at \($0)" } ?? ""
        if scriptCode == "interrupted" {
            return "'\(fileName)' was interrupted\(location); \(outcome.text)"
        }
        return "\(Self.message(of: cause)) ('\(fileName)'\(location); \(outcome.text))"
    }

    static func code(of error: any Error) -> String {
        if let error = error as? LuaError {
            if error.kind == .interrupted { return "interrupted" }
            return (error.underlying as? any ScriptError)?.scriptCode ?? "error"
        }
        return (error as? any ScriptError)?.scriptCode ?? "error"
    }

    /// Returns the part of an error's message that says what to do; nil if it has none.
    static func advice(of error: any Error) -> String? {
        let cause = (error as? MigrationFailure)?.cause ?? error
        let stored = (cause as? LuaError)?.underlying ?? cause
        return (stored as? StoreError)?.advice(for: .script)
    }

    static func message(of error: any Error) -> String {
        if let error = error as? LuaError { return error.message }
        return (error as? any ScriptError)?.scriptMessage ?? "\(error)"
    }
}

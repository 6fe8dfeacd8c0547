import LuaHost
import ObjectStore
import StoreBindings

/// A migration that failed: nothing of it is in the store.
package struct MigrationFailure: ScriptError {
    /// The error that the migration has thrown.
    package let cause: any Error
    /// The migration.
    package let file: MigrationFile
    /// The object that was being migrated, such as `Person id = 17`.
    package let object: String?
    /// Whether whole batches of it are in the store, and the next run continues there.
    package let isResumable: Bool
    /// The migrations before it, which were applied.
    package internal(set) var applied: [AppliedMigration] = []

    /// The code of the cause.
    package var scriptCode: String { MigrationFailure.code(of: cause) }

    /// Whether it was stopped from outside.
    package var isInterrupt: Bool { scriptCode == "interrupted" }

    /// The line of the file at which it failed, if the message names one.
    package var line: Int? {
        let message = MigrationFailure.message(of: cause)
        guard message.hasPrefix(file.path + ":") else { return nil }
        return Int(message.dropFirst(file.path.count + 1).prefix { $0.isNumber })
    }

    /// The error, its location, and the state of the store.
    package var scriptMessage: String {
        let place = object.map { ", at \($0)" } ?? ""
        let outcome =
            isResumable ? "the next run continues after its last batch" : "it was rolled back"
        if isInterrupt { return "'\(file.fileName)' was interrupted\(place); \(outcome)" }
        return "\(MigrationFailure.message(of: cause)) ('\(file.fileName)'\(place); \(outcome))"
    }

    /// The code and the sentence of any error.
    package static func describe(_ error: any Error) -> (code: String, message: String) {
        (code(of: error), message(of: error))
    }

    static func code(of error: any Error) -> String {
        if let error = error as? LuaError {
            if error.kind == .interrupted { return "interrupted" }
            return (error.underlying as? any ScriptError)?.scriptCode ?? "error"
        }
        return (error as? any ScriptError)?.scriptCode ?? "error"
    }

    static func message(of error: any Error) -> String {
        if let error = error as? LuaError { return error.message }
        return (error as? any ScriptError)?.scriptMessage ?? "\(error)"
    }
}

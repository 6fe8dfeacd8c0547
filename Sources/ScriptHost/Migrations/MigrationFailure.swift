import LuaHost
import ObjectStore
import StoreBindings

/// The error of a failed migration, which has been rolled back.
package struct MigrationFailure: ScriptError {
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
    /// Whether batches of the migration were committed, so that the next run continues after them.
    let isResumable: Bool
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
        let outcome =
            isResumable ? "the next run continues after its last batch" : "it was rolled back"
        if scriptCode == "interrupted" {
            return "'\(fileName)' was interrupted\(location); \(outcome)"
        }
        return "\(Self.message(of: cause)) ('\(fileName)'\(location); \(outcome))"
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

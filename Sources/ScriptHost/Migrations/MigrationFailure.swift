import LuaHost
import ObjectStore
import StoreBindings

extension StoreError {
    /// Creates an error about a folder or a store with the advice that ends its message.
    init(_ code: Code, _ text: String, advice: String) {
        self.init(code, text, program: advice, script: advice)
    }
}

/// The error of a failed migration, which has been rolled back.
package struct MigrationFailure: ScriptError {
    /// The original error.
    package let cause: any Error
    /// The migration.
    package let file: MigrationFile
    /// The object that was being migrated, such as `Person id = 17`.
    package let object: String?
    /// Whether batches of the migration were committed, so that the next run continues after them.
    package let isResumable: Bool
    /// The earlier migrations that were applied.
    package internal(set) var applied: [AppliedMigration] = []

    /// The error code of the cause.
    package var scriptCode: String { MigrationFailure.code(of: cause) }

    /// Whether the migration was interrupted.
    package var isInterrupt: Bool { scriptCode == "interrupted" }

    /// The line of the migration file where it failed; nil if the message does not contain it.
    package var line: Int? {
        let message = MigrationFailure.message(of: cause)
        guard message.hasPrefix(file.path + ":") else { return nil }
        return Int(message.dropFirst(file.path.count + 1).prefix { $0.isNumber })
    }

    /// The error, its location, and the state of the store.
    package var scriptMessage: String {
        let location = object.map { ", at \($0)" } ?? ""
        let outcome =
            isResumable ? "the next run continues after its last batch" : "it was rolled back"
        if isInterrupt { return "'\(file.fileName)' was interrupted\(location); \(outcome)" }
        return "\(MigrationFailure.message(of: cause)) ('\(file.fileName)'\(location); \(outcome))"
    }

    /// Returns the code and the message of any error.
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

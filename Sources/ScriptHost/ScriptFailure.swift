import EventLoops
import LuaHost
import MemoryAccounts
import ObjectStore
import SystemCalls

/// An error in a script, for its host.
public struct ScriptFailure: Error, Sendable, CustomStringConvertible {
    /// The stable error code.
    ///
    /// The code of the error if it has one, such as `limit_exceeded`, `duplicate_key` or `interrupted`; `syntax` for a
    /// chunk that does not compile; `error` for other errors.
    public var code: StoreError.Code
    /// The message with its source location: `script:12: attempt to index a nil value`.
    public var message: String
    /// The call stack at the raising code, innermost call first; nil if there is none.
    public var traceback: String?
    /// The original error, if a Swift function threw it.
    public var underlying: (any Error)?

    /// The limit that ended the run; nil if no limit did.
    public private(set) var limit: ScriptLimits.Kind?

    /// The message.
    public var description: String { message }

    package static let closed = ScriptFailure(.closed, "the engine has been closed")

    package init(_ code: StoreError.Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates a failure; call it on the thread of the error's state, because the code is read from the raised value.
    package init(_ error: LuaError) {
        message = error.message
        traceback = error.traceback
        underlying = error.underlying
        limit =
            switch (error.kind, error.limit?.limit) {
            case (.memory, _): .memory
            case (_, .time?): .time
            case (_, .instructions?): .instructions
            default: error.underlying is MemoryLimitReached ? .memory : nil
            }
        let code =
            switch error.kind {
            case .syntax: "syntax"
            case .memory: "limit_exceeded"
            case .closed: "closed"
            case .interrupted: error.limit?.scriptCode ?? "interrupted"
            case .runtime, .handler:
                error.code ?? error.value.table?["code"].text ?? "error"
            }
        self.code = StoreError.Code(rawValue: code)
    }

    /// Returns errors of Lua and errors with a code as failures, and other errors unchanged.
    package static func describing(_ error: any Error) -> any Error {
        switch error {
        case let error as LuaError: return ScriptFailure(error)
        case let error as any ScriptError:
            var failure = ScriptFailure(
                StoreError.Code(rawValue: error.scriptCode), error.scriptMessage)
            failure.underlying = error
            return failure
        default: return error
        }
    }
}

/// An error of a Swift function with its own code; scripts read it as `err.code` and `err.message`.
public struct ScriptFunctionError: Error, Hashable, ScriptError {
    /// The stable code.
    public let code: StoreError.Code
    /// A message of one sentence.
    public let message: String

    /// Creates an error to throw from a registered function.
    public init(_ code: StoreError.Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The text of the code.
    package var scriptCode: String { code.rawValue }
    /// The message.
    package var scriptMessage: String { message }
}

/// An error or a warning of a script outside of its main chunk, formatted for output.
public struct ScriptReport: Sendable {
    /// The origin of the error, such as `observer 'totals'` or `timer (zoo.lua:12)`.
    ///
    /// Empty for a warning and for the total time limit.
    public let source: String
    /// The error in one line: `zoo.lua:14: attempt to index a nil value`.
    public let message: String
    /// The call stack at the raising code; nil if there is none.
    public let traceback: String?
    /// The lines of the script around the source location, with a mark; nil if they are not available.
    public let excerpt: String?
    /// The complete report: message, excerpt and traceback, with a line break at the end.
    public let text: String

    init(program: String, source: String, message: String, traceback: String?, excerpt: String?) {
        self.source = source
        self.message = message
        self.traceback = traceback
        self.excerpt = excerpt
        var lines = [
            source.isEmpty
                ? "\(program): \(message)" : "\(program): error in \(source): \(message)"
        ]
        if let excerpt { lines.append(excerpt) }
        if let traceback { lines.append(traceback) }
        text = lines.joined(separator: "\n") + "\n"
    }

    /// Creates a report about behavior that the author of the script may not expect; it is not an error.
    init(hint: String, program: String) {
        source = ""
        message = hint
        traceback = nil
        excerpt = nil
        text = "\(program): hint: \(hint)\n"
    }

    /// Creates a report of a Lua warning, in the format of `lua`.
    init(warning: String) {
        source = ""
        message = warning
        traceback = nil
        excerpt = nil
        text = "Lua warning: \(warning)\n"
    }
}

/// Excerpts of a script around the source location in a message.
enum SourceExcerpt {
    /// Returns the source location at the start of a message: `zoo.lua:12: text`.
    static func location(in message: String) -> (path: String, line: Int)? {
        // A path can contain colons, so the location ends at the first `:digits:`.
        let parts = message.split(separator: ":", omittingEmptySubsequences: false)
        for index in parts.indices.dropFirst() where index + 1 < parts.endIndex {
            if let line = Int(parts[index]), line > 0 {
                return (parts[..<index].joined(separator: ":"), line)
            }
        }
        return nil
    }

    /// Returns up to three lines, with a mark at the line of the message; nil if the message names no readable file.
    static func of(_ message: String) -> String? {
        guard let (path, line) = location(in: message),
            let bytes = ProcessServices.read(path, limit: 4 << 20), !bytes.contains(0)
        else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return nil }
        let numbers = max(1, line - 1)...min(lines.count, line + 1)
        let width = "\(numbers.upperBound)".count
        return numbers.filter { $0 == line || !lines[$0 - 1].isEmpty }.map { number in
            let label = "\(number)"
            let padding = String(repeating: " ", count: width - label.count)
            return "  \(number == line ? ">" : " ") \(padding)\(label) | \(lines[number - 1])"
        }.joined(separator: "\n")
    }
}

import LuaHost

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

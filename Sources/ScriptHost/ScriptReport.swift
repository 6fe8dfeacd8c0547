import LuaHost

/// Something that went wrong in a script outside of its main chunk, ready to be shown.
public struct ScriptReport: Sendable {
    /// The origin of the error, such as `observer 'totals'` or `timer (zoo.lua:12)`; empty for a warning and for the
    /// total time limit.
    public let source: String
    /// The error in one line: `zoo.lua:14: attempt to index a nil value`.
    public let message: String
    /// The calls that led to it.
    public let traceback: String?
    /// The lines of the script around the place, marked.
    public let excerpt: String?
    /// The whole report: message, excerpt and traceback, with a line end.
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

    /// Something that the script's author may not expect; nothing has failed.
    init(hint: String, program: String) {
        source = ""
        message = hint
        traceback = nil
        excerpt = nil
        text = "\(program): hint: \(hint)\n"
    }

    /// A warning of Lua, worded as `lua` does.
    init(warning: String) {
        source = ""
        message = warning
        traceback = nil
        excerpt = nil
        text = "Lua warning: \(warning)\n"
    }
}

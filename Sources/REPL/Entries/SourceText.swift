import EventLoops
import SystemCalls

/// The text of Lua files that the prompt runs.
enum SourceText {
    /// Reads a file; errors refer to it as `name`.
    static func read(_ path: String, named name: String) throws(CommandError) -> String {
        do {
            let text = String(decoding: try ProcessServices.readWhole(path), as: UTF8.self)
            // The first line of a program can be a `#!` line; it becomes a comment, so that line numbers do not change.
            return text.hasPrefix("#") ? "--" + text : text
        } catch {
            throw CommandError("cannot read \(name): \(error.reason)")
        }
    }
}

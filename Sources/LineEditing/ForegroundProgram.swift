import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs programs that temporarily use the terminal: a pager, an editor.
///
/// Thread: the thread that edits lines, between lines. Output of other threads is buffered until the program ends.
/// Ctrl-C goes to the program.
package enum ForegroundProgram {
    /// The outcome of editing a text.
    package enum Edited: Equatable, Sendable {
        /// The text that the user has saved.
        case text(String)
        /// The reason for a failure of the editor or of a file.
        case failed(String)
    }

    /// Shows a text in the user's pager: `PAGER`, or `less`, which exits at once if the text fits in the window.
    ///
    /// Returns false, without showing the text, if there is no pager or `PAGER` is empty.
    package static func page(_ text: String, _ output: AsyncOutput) -> Bool {
        let pager = ProcessServices.environment("PAGER") ?? "less"
        guard !pager.isEmpty, let file = TemporaryFile(text, suffix: "") else { return false }
        // The shell exits with 127 if the program does not exist.
        let command = "LESS=${LESS-FRX}; export LESS; { \(pager)\n} < \"$0\""
        return run(command, file, output) != 127
    }

    /// Passes a text to a shell command as its standard input.
    package static func run(_ command: String, _ text: String, _ output: AsyncOutput) {
        guard let file = TemporaryFile(text, suffix: "") else {
            return output.write("cannot write a temporary file\n")
        }
        _ = run("{ \(command)\n} < \"$0\"", file, output)
    }

    /// Lets the user edit a text in `VISUAL`, `EDITOR`, or `vi`.
    package static func edit(_ text: String, _ output: AsyncOutput) -> Edited {
        let editor =
            ["VISUAL", "EDITOR"].lazy.compactMap(ProcessServices.environment).first { !$0.isEmpty }
            ?? "vi"
        guard let file = TemporaryFile(text, suffix: ".lua") else {
            return .failed("cannot write a temporary file")
        }
        let status = run("\(editor) \"$0\"", file, output)
        guard status == 0 else {
            return .failed(
                status == 127
                    ? "cannot find the editor '\(editor)'; set EDITOR"
                    : "'\(editor)' ended with code \(status); nothing was run")
        }
        guard let bytes = ProcessServices.read(file.path, limit: .max) else {
            return .failed("the edited file no longer exists")
        }
        return .text(String(decoding: bytes, as: UTF8.self))
    }

    /// Runs a shell command with the path of the file as `$0`; returns its exit code.
    private static func run(
        _ command: String, _ file: TemporaryFile, _ output: AsyncOutput
    ) -> Int32 {
        output.beginEditing()
        defer {
            output.endEditing()
            // These interrupts were intended for the program.
            _ = TerminalSignals.takeInterrupts()
        }
        switch ShellCommand.run(command, [file.path]) {
        case .exit(let code): return code
        case .signal(let number): return 128 + number
        }
    }
}

/// A file for another program, which is deleted with this value.
private final class TemporaryFile {
    let path: String

    /// Creates the file; returns nil if it cannot be written.
    init?(_ text: String, suffix: String) {
        let folder =
            ProcessServices.environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var name = Array("\(folder)/moonpool-XXXXXX\(suffix)".utf8CString)
        let file = mkstemps(&name, Int32(suffix.utf8.count))
        guard file >= 0 else { return nil }
        path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        Descriptor.write(file, Array(text.utf8))
        Descriptor.close(file)
    }

    deinit { unlink(path) }
}

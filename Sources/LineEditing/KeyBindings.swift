import CEdit

/// The user's key bindings: the commands in `~/.editrc`, in the format of `man editrc`.
struct KeyBindings {
    /// Lines that select the emacs or vi mode.
    private var modes: [String] = []
    private var others: [String] = []

    /// Reads a file; if it cannot be read, there are no commands.
    init(_ path: String?) {
        guard let path, let bytes = HistoryFile.read(path) else { return }
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            // A command can be limited to one program: `moonpool:bind -v`.
            switch first.split(separator: ":").last ?? "" {
            case "bind" where words.contains("-v") || words.contains("-e"):
                modes.append(String(line))
            // The command would turn editing off, which the prompt needs to print output above the line.
            case "edit": break
            default: others.append(String(line))
            }
        }
    }

    /// The sequences of function keys in the commands.
    var sequences: Set<String> {
        let words = others.flatMap { $0.split(whereSeparator: \.isWhitespace) }.map { word in
            word.filter { $0 != "\"" && $0 != "'" }.replacing("\\e", with: "\u{1B}")
                .replacing("^[", with: "\u{1B}").replacing("\\033", with: "\u{1B}")
        }
        return Set(words.filter { $0.hasPrefix("\u{1B}") })
    }

    /// Selects the emacs or vi mode, which resets all keys.
    func selectMode(of editor: OpaquePointer) { modes.forEach { run($0, on: editor) } }

    /// Runs all other commands of the file.
    func apply(to editor: OpaquePointer) { others.forEach { run($0, on: editor) } }

    private func run(_ line: String, on editor: OpaquePointer) {
        let tokenizer = tok_winit(nil)
        defer { tok_wend(tokenizer) }
        withWide(line) { text in
            var count: Int32 = 0
            var words: UnsafeMutablePointer<UnsafePointer<wchar_t>?>?
            guard tok_wstr(tokenizer, text, &count, &words) == 0, count > 0 else { return }
            _ = el_wparse(editor, count, words)
        }
    }
}

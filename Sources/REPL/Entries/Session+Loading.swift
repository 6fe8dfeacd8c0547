extension Session {
    /// Runs a file: as a chunk where it is one, otherwise entry by entry, with dot commands and expressions.
    func load(_ text: String, named file: String) {
        let compiler = EntryCompiler()
        guard compiler.status(of: text) != .complete, !text.hasPrefix("#"),
            text.split(separator: "\n").contains(where: { EntryText.isCommand(String($0)) })
                || !isChunk(text, compiler)
        else {
            evaluate(text, named: file)
            return
        }
        guard let entries = Self.entries(of: text, compiler) else {
            // The compiler's message names the line.
            evaluate(text, named: file)
            return
        }
        for entry in entries {
            if EntryText.isCommand(entry) {
                runCommand(entry)
            } else {
                evaluate(entry, named: file)
            }
            if hasFailed || wantsToEnd { return }
        }
    }

    private func isChunk(_ text: String, _ compiler: EntryCompiler) -> Bool {
        if case .wrong = compiler.status(of: text) { return false }
        return true
    }

    /// A text as the entries that the prompt would take; nil if one of them is wrong.
    private static func entries(of text: String, _ compiler: EntryCompiler) -> [String]? {
        var entries: [String] = []
        var unfinished = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            let entry = unfinished.isEmpty ? line : unfinished + "\n" + line
            if entry.allSatisfy(\.isWhitespace) { continue }
            switch compiler.status(of: entry) {
            case .incomplete: unfinished = entry
            case .wrong: return nil
            case .complete:
                unfinished = ""
                entries.append(entry)
            }
        }
        return unfinished.isEmpty ? entries : nil
    }

    /// Whether something keeps a script running at the end.
    var keepsRunning: Bool {
        !context.storeModule.activeTokens.isEmpty
            || liveExpressions.contains { !$0.effect.isDisposed }
    }
}

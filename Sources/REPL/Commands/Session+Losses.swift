import EventLoops
import LineEditing
import ObjectStore
import StoreBindings
import Synchronization

extension Session {
    /// Makes `define` ask for confirmation before it loses data, if the prompt can ask.
    func confirmLosses() {
        guard output.ask != nil else { return }
        context.storeModule.confirmsLoss = { [weak self] preview in
            guard let self, isRunning else { return false }
            screen.writeToScreen(text(of: preview))
            hasConfirmedLoss = try ask("apply the change and lose these values? y/n ")
            return hasConfirmedLoss
        }
    }

    /// Asks until the answer is yes or no; Ctrl-C means no.
    ///
    /// Observers and timers run while it waits.
    private func ask(_ question: String) throws -> Bool {
        guard let ask = output.ask else { return false }
        screen.finishLine()
        while true {
            let answer = Answer()
            ask(question) { answer.fill($0) }
            while !answer.isThere {
                _ = context.loop.wait(for: .milliseconds(20)) { [context] in
                    answer.isThere || context.isExiting || context.state.isStopping
                }
                try context.state.checkStopping()
                if context.isExiting { return false }
            }
            switch answer.text?.trimmed.lowercased() {
            case "y"?, "yes"?: return true
            case "n"?, "no"?, nil: return false
            default: continue
            }
        }
    }

    private final class Answer: Sendable {
        private let state = Mutex<(isThere: Bool, text: String?)>((false, nil))
        var isThere: Bool { state.withLock { $0.isThere } }
        var text: String? { state.withLock { $0.text } }
        func fill(_ text: String?) { state.withLock { $0 = (true, text) } }
    }

    /// Returns the affected objects, with the values before and after side by side.
    private func text(of preview: [LossPreview]) -> String {
        var shown: [String] = []
        for loss in preview {
            shown += wrap.lines(loss.difference).map { style.paint($0, .strong) }
            guard !loss.rows.isEmpty else {
                shown.append(style.paint("  no object has a value", .dim))
                continue
            }
            let rows = loss.rows.map { row in
                [
                    "  " + row.object, shortened(row.old.summary),
                    row.new.map { shortened($0.summary) } ?? "(removed)",
                ]
            }
            let table = lines(of: [["  object", "before", "after"]] + rows)
            shown += table
            if loss.objects > loss.rows.count {
                let text =
                    "  \(ValueText.count(loss.rows.count)) of \(ValueText.count(loss.objects, "object"))"
                shown.append(style.paint(text, .dim))
            }
        }
        return shown.map { $0 + "\n" }.joined()
    }

    private func shortened(_ text: String) -> String {
        TerminalText.truncate(
            ControlCharacters.escaped(text, onOneLine: true), to: max(8, (window.columns - 24) / 2))
    }
}

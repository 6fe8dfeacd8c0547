import EventLoops
import LineEditing
import ObjectStore
import StoreBindings

extension Session {
    /// Makes `define` ask for confirmation before it loses data, if the prompt can ask.
    func confirmLosses() {
        guard output.ask != nil else { return }
        context.storeModule.confirmsLoss = { [weak self] preview in
            guard let self, isRunning else { return false }
            screen.writeToScreen(text(of: preview))
            let answer = try ask(
                "apply the change and lose these values? y/n ", choices: ["yes", "no"])
            hasConfirmedLoss = answer == "yes"
            return hasConfirmedLoss
        }
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

import LineEditing

extension MetaCommand {
    static let tutorial: [MetaCommand] = [
        MetaCommand(
            "tutorial", "[N | off]", "Ten steps to try things in; N goes to a step, off ends it.",
            argument: .words(["off"])
        ) { session, text in
            switch text {
            case "off":
                session.tutorial = nil
                session.write("the tutorial is over\n")
            case "": try session.showTutorial(at: session.tutorial?.number ?? 1)
            default:
                guard let number = Int(text) else {
                    throw CommandError(
                        ".tutorial takes a number from 1 to \(Tutorial.steps.count), or off")
                }
                try session.showTutorial(at: number)
            }
        }
    ]
}

extension Session {
    fileprivate func showTutorial(at number: Int) throws {
        guard let found = Tutorial(at: number) else {
            throw CommandError(".tutorial has steps 1 to \(Tutorial.steps.count)")
        }
        tutorial = found
        writeStep(found)
    }

    /// Goes on when an entry has done what the step asks for.
    func advanceTutorial(after entry: String) {
        guard var tutorial, !entry.hasPrefix(".tutorial"), tutorial.step.isDone(self, entry) else {
            return
        }
        if tutorial.isLast {
            self.tutorial = nil
            screen.writeToScreen(style.paint("That was the tutorial.", .strong) + "\n")
            return
        }
        tutorial.advance()
        self.tutorial = tutorial
        writeStep(tutorial)
    }

    private func writeStep(_ tutorial: Tutorial) {
        let step = tutorial.step
        let title = "\(tutorial.number)/\(Tutorial.steps.count)  \(step.title)"
        var text = "\n" + style.paint(title, .strong) + "\n"
        for line in Self.wrapped(step.text, to: min(window.columns - 1, 90)) { text += line + "\n" }
        text += "    " + style.paint(step.entry, .string) + "\n"
        screen.writeToScreen(text)
    }

    /// A text in lines of at most so many columns, broken between words.
    static func wrapped(_ text: String, to columns: Int) -> [String] {
        var lines: [String] = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if TerminalText.width(last) + TerminalText.width(String(word)) + 1 <= columns {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

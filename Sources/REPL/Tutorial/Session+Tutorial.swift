import LineEditing
import Reference

extension MetaCommand {
    static var tutorial: [MetaCommand] {
        [
            MetaCommand(
                "tutorial", "[N | off]",
                "Learn the basics in ten steps. N starts at a step; off ends the tutorial.",
                argument: .words(["off"])
            ) { session, text in
                switch text {
                case "off":
                    session.tutorial = nil
                    session.write("the tutorial has ended\n")
                case "": try session.showTutorial(at: session.tutorial?.number ?? 1)
                default:
                    guard let number = Int(text) else {
                        throw CommandError(
                            "expected a step from 1 to \(Tutorial.steps.count), or off, got '\(text)'"
                        )
                    }
                    try session.showTutorial(at: number)
                }
            }
        ]
    }
}

extension Session {
    fileprivate func showTutorial(at number: Int) throws {
        guard let found = Tutorial(at: number) else {
            throw CommandError("expected a step from 1 to \(Tutorial.steps.count), got \(number)")
        }
        prepareTutorial(before: number)
        tutorial = found
        writeStep(found)
    }

    /// Runs the entries of earlier steps that a step depends on, unless the store contains the user's own data.
    private func prepareTutorial(before number: Int) {
        guard let store, case .memory = store.store.configuration.location else { return }
        for step in Tutorial.steps.prefix(number - 1)
        where step.isPreparation && !step.isDone(self, "") {
            screen.writeToScreen(style.paint("> \(step.entry)", .dim) + "\n")
            evaluate(step.entry)
        }
    }

    /// Advances to the next step if the entry has completed the current one.
    func advanceTutorial(after entry: String) {
        guard var tutorial, !entry.hasPrefix(".tutorial"), tutorial.step.isDone(self, entry) else {
            return
        }
        if tutorial.isLast {
            self.tutorial = nil
            screen.writeToScreen(style.paint("You have finished the tutorial.", .strong) + "\n")
            return
        }
        tutorial.advance()
        self.tutorial = tutorial
        writeStep(tutorial)
    }

    private func writeStep(_ tutorial: Tutorial) {
        let step = tutorial.step
        let title = "\(tutorial.number)/\(Tutorial.steps.count)  \(step.title)"
        let wrap = TextWrap(columns: min(window.columns - 1, 90), width: TerminalText.width)
        var text = "\n" + style.paint(title, .strong) + "\n"
        for line in wrap.lines(step.text) { text += line + "\n" }
        for line in wrap.lines(ofCode: step.entry, indent: "    ", hanging: "      ") {
            text += style.paint(line, .string) + "\n"
        }
        screen.writeToScreen(text)
    }
}

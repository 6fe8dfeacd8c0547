import EventLoops
import Synchronization

extension Session {
    /// Asks until the answer is the beginning of one choice; without choices, any answer ends the question.
    ///
    /// Returns the choice; nil after Ctrl-C, at the end of input, and if the prompt cannot ask. Observers and timers run
    /// while it waits.
    func ask(_ question: String, choices: [String]) throws -> String? {
        guard let ask = output.ask else { return nil }
        screen.finishLine()
        while true {
            let answer = Answer()
            ask(question) { answer.fill($0) }
            while !answer.isThere {
                _ = context.loop.wait(for: .milliseconds(20)) { [context] in
                    answer.isThere || context.isExiting || context.state.isStopping
                }
                try context.state.checkStopping()
                if context.isExiting { return nil }
            }
            guard let text = answer.text?.trimmed else { return nil }
            if choices.isEmpty { return text }
            let typed = text.lowercased()
            if let choice = choices.first(where: { $0.lowercased() == typed }) { return choice }
            let found = choices.filter { $0.lowercased().hasPrefix(typed) }
            if found.count == 1 { return found[0] }
        }
    }

    private final class Answer: Sendable {
        private let state = Mutex<(isThere: Bool, text: String?)>((false, nil))
        var isThere: Bool { state.withLock { $0.isThere } }
        var text: String? { state.withLock { $0.text } }
        func fill(_ text: String?) { state.withLock { $0 = (true, text) } }
    }
}

import EventLoops
import LineEditing
import Synchronization

/// The state that the script's thread shares with the terminal thread.
final class Mailbox: Sendable {
    /// Work for the terminal thread after an entry.
    enum FollowUp: Sendable, Equatable {
        case nothing
        /// Show a text in the pager, or pipe it to a command.
        case page(String, command: String?)
        /// Open the session's panel in place of the prompt.
        case panel
        /// Open a text in the editor; the result is the next entry.
        case edit(String)
    }

    private struct State {
        var prompt = "> "
        var isIdle = false
        var wantsToEnd = false
        var followUp = FollowUp.nothing
        var status: Int32?
        var session: LoopBound<Session>?
        var panel: PanelFrame?
        var question: Question?
    }

    /// A question of the running entry.
    struct Question: Sendable {
        let text: String
        /// Receives the answer; nil for Ctrl-C and the end of input.
        let answered: @Sendable (String?) -> Void
    }

    private let state = Mutex(State())
    private let pipe: WakePipe

    init(waking pipe: WakePipe) { self.pipe = pipe }

    /// The text of the next prompt.
    var prompt: String { state.withLock { $0.prompt } }

    /// Whether no entry is running.
    var isIdle: Bool { state.withLock { $0.isIdle } }

    /// Whether the session is about to end.
    var wantsToEnd: Bool { state.withLock { $0.wantsToEnd } }

    /// Returns the pending work of the last entry, and clears it.
    func takeFollowUp() -> FollowUp {
        state.withLock { state in
            defer { state.followUp = .nothing }
            return state.followUp
        }
    }

    /// The content of the open panel; nil until the panel has content.
    var panelFrame: PanelFrame? { state.withLock { $0.panel } }

    /// Replaces the content of the panel; nil before the panel opens.
    func show(_ frame: PanelFrame?) {
        state.withLock { $0.panel = frame }
        pipe.wake()
    }

    /// Passes a question to the terminal thread.
    func ask(_ text: String, _ answered: @escaping @Sendable (String?) -> Void) {
        state.withLock { $0.question = Question(text: text, answered: answered) }
        pipe.wake()
    }

    /// Returns the question of the running entry, and clears it.
    func takeQuestion() -> Question? {
        state.withLock { state in
            defer { state.question = nil }
            return state.question
        }
    }

    /// The exit code of the script; nil while it runs.
    var status: Int32? { state.withLock { $0.status } }

    /// The session, for use on the script's thread.
    var session: LoopBound<Session>? { state.withLock { $0.session } }

    func begin(_ session: LoopBound<Session>) { state.withLock { $0.session = session } }

    /// Records that an entry has been submitted.
    func busy() { state.withLock { $0.isIdle = false } }

    /// Records that the entry has ended.
    func idle(prompt: String, wantsToEnd: Bool, followUp: FollowUp = .nothing) {
        state.withLock { state in
            state.followUp = followUp
            state.prompt = prompt
            state.isIdle = true
            state.wantsToEnd = wantsToEnd
        }
        pipe.wake()
    }

    /// Replaces the prompt text while no entry runs.
    func refresh(prompt: String) {
        let isShown = state.withLock { state in
            guard state.isIdle else { return false }
            state.prompt = prompt
            return true
        }
        if isShown { pipe.wake() }
    }

    /// Records that the script has ended.
    func ended(status: Int32) {
        state.withLock { state in
            state.status = status
            state.session = nil
        }
        pipe.wake()
    }
}

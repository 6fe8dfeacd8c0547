import EventLoops
import LineEditing
import Synchronization

/// What the script's thread tells the thread that edits lines.
final class Mailbox: Sendable {
    /// What an entry leaves to do for the thread that has the terminal.
    enum FollowUp: Sendable, Equatable {
        case nothing
        /// To show a text in the pager, or to give it to another program.
        case page(String, command: String?)
        /// To give the session's panel the terminal.
        case panel
        /// To let the user edit a text, which is the next entry then.
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
    }

    private let state = Mutex(State())
    private let pipe: WakePipe

    init(waking pipe: WakePipe) { self.pipe = pipe }

    /// What the next prompt shows.
    var prompt: String { state.withLock { $0.prompt } }

    /// Whether the last entry is done with.
    var isIdle: Bool { state.withLock { $0.isIdle } }

    /// Whether the last entry was `.quit`.
    var wantsToEnd: Bool { state.withLock { $0.wantsToEnd } }

    /// What is left to do of the last entry, once.
    func takeFollowUp() -> FollowUp {
        state.withLock { state in
            defer { state.followUp = .nothing }
            return state.followUp
        }
    }

    /// What the open panel shows; nil while there is nothing yet.
    var panelFrame: PanelFrame? { state.withLock { $0.panel } }

    /// The panel shows something else; nil before it begins.
    func show(_ frame: PanelFrame?) {
        state.withLock { $0.panel = frame }
        pipe.wake()
    }

    /// The script's exit code, once it has ended.
    var status: Int32? { state.withLock { $0.status } }

    /// The session; to be used on the script's thread.
    var session: LoopBound<Session>? { state.withLock { $0.session } }

    func begin(_ session: LoopBound<Session>) { state.withLock { $0.session = session } }

    /// An entry is about to be handed over.
    func busy() { state.withLock { $0.isIdle = false } }

    /// The entry is done with.
    func idle(prompt: String, wantsToEnd: Bool, followUp: FollowUp = .nothing) {
        state.withLock { state in
            state.followUp = followUp
            state.prompt = prompt
            state.isIdle = true
            state.wantsToEnd = wantsToEnd
        }
        pipe.wake()
    }

    /// The prompt has become another one, while nothing runs.
    func refresh(prompt: String) {
        let isShown = state.withLock { state in
            guard state.isIdle else { return false }
            state.prompt = prompt
            return true
        }
        if isShown { pipe.wake() }
    }

    /// The script has ended.
    func ended(status: Int32) {
        state.withLock { state in
            state.status = status
            state.session = nil
        }
        pipe.wake()
    }
}

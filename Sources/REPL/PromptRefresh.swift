import EventLoops
import ScriptHost

/// Tells of a prompt that has become another one while nothing was entered: observers have written, or other processes.
///
/// On the script's thread.
final class PromptRefresh {
    private unowned let session: Session
    private let show: (String) -> Void
    private var shown: String
    private var timer: LoopTimer?

    /// So that many commits in a row do not make the line flicker.
    private static let pause = Duration.milliseconds(50)

    init(_ session: Session, show: @escaping (String) -> Void) {
        self.session = session
        self.show = show
        shown = session.prompt
        session.context.onTurn = { [weak self] in self?.look() }
    }

    private func look() {
        guard timer == nil, !session.isRunning, session.prompt != shown else { return }
        timer = session.context.loop.timer(after: Self.pause, keepsAlive: false) { [weak self] in
            guard let self else { return }
            timer = nil
            guard !session.isRunning else { return }
            shown = session.prompt
            show(shown)
        }
    }
}

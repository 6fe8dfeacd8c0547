import EventLoops
import ScriptHost

/// Reports that the prompt text changed while no entry ran, because of writes of observers or other processes.
///
/// Thread: the script's thread.
final class PromptRefresh {
    private unowned let session: Session
    private let show: (String) -> Void
    private var shown: String
    private var timer: LoopTimer?

    /// The delay before a report, which avoids flicker after many commits in a row.
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

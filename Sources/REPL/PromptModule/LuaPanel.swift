import EventLoops
import LineEditing
import LuaHost
import ObjectStore

/// A view that temporarily replaces the prompt: lines that are redrawn in place, and commands of a single key, which are
/// functions of Lua.
///
/// Thread: the script's thread.
final class LuaPanel {
    private unowned let session: Session
    private let content: LuaFunction
    /// Receives the names of keys.
    var key: LuaFunction?
    /// Runs when the panel is closed.
    var closed: LuaFunction?
    /// Runs after a change of a followed store, before the panel is drawn again.
    var changed: LuaFunction?
    /// The stores whose changes draw the panel again.
    var follows: [Store] = []
    private var tokens: [NotificationToken] = []
    private var show: (() -> Void)?
    private var redraw: LoopTimer?
    private var laterRedraw: LoopTimer?
    private var hasChanged = false
    /// The error that replaces the lines.
    private var failure: [String]?

    /// The maximum delay of a redraw while calls of `refresh` follow each other.
    private static let pause = Duration.milliseconds(20)

    init(_ session: Session, lines: LuaFunction) {
        self.session = session
        content = lines
    }

    /// Calls a function whenever the lines may have changed; nil ends the calls.
    func whenChanged(_ show: (() -> Void)?) {
        self.show = show
        guard show == nil else {
            tokens = follows.compactMap { store in
                // The error is ignored: without an observer, the panel only lacks automatic updates.
                try? store.observeChanges { [weak self] _ in
                    self?.hasChanged = true
                    self?.refresh()
                }
            }
            return
        }
        tokens = []
        redraw?.cancel()
        laterRedraw?.cancel()
        guard let closed = closed.take() else { return }
        do {
            _ = try session.context.entry { () throws in try closed.call([]) }
        } catch {
            session.fail(error)
        }
    }

    /// Draws the lines again, soon or after a time.
    func refresh(after delay: Duration? = nil) {
        guard show != nil else { return }
        if let delay {
            laterRedraw?.cancel()
            laterRedraw = session.context.loop.timer(after: delay, keepsAlive: false) {
                [weak self] in self?.show?()
            }
            return
        }
        guard redraw == nil else { return }
        redraw = session.context.loop.timer(after: Self.pause, keepsAlive: false) { [weak self] in
            guard let self else { return }
            redraw = nil
            if hasChanged, let changed { _ = protected { try changed.call([]) } }
            hasChanged = false
            show?()
        }
    }

    /// Returns the lines for a window of this size.
    func lines(columns: Int, rows: Int) -> [String] {
        if let failure { return failure }
        // Output that is not redrawn in place has no number of rows.
        let rows: LuaValue = rows == .max ? .nil : .integer(Int64(rows))
        return protected {
            let shown = try content.call([.integer(Int64(columns)), rows]).first ?? .nil
            guard let list = shown.table else {
                throw CommandError("the lines of a panel must be a table, got \(shown.typeName)")
            }
            return try list.array.flatMap { line in
                try session.context.state.describe(line).description
                    .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            }
        } ?? failure ?? []
    }

    /// Handles a key; returns true if it closes the panel.
    func press(_ key: PanelKey) -> Bool {
        if key == .interrupt { return true }
        guard let function = self.key, failure == nil else {
            return key == .character("q") || key == .escape
        }
        let result = protected { try function.call([.text(key.name)]).first ?? .nil }
        return result == .boolean(true)
    }

    /// Runs a function of the panel; its error replaces the lines.
    private func protected<Result>(_ body: () throws -> Result) -> Result? {
        do {
            return try session.context.entry { () throws in try body() }
        } catch {
            let text = session.errorText.text(of: error) + "\n\nq leaves"
            failure = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            return nil
        }
    }
}

extension PanelKey {
    /// The name for scripts: `up`, `page_up`, or the character.
    fileprivate var name: String {
        switch self {
        case .up: "up"
        case .down: "down"
        case .left: "left"
        case .right: "right"
        case .pageUp: "page_up"
        case .pageDown: "page_down"
        case .home: "home"
        case .end: "end"
        case .enter: "enter"
        case .escape: "escape"
        case .interrupt: "interrupt"
        case .character(let character): String(character)
        }
    }
}

extension Session {
    /// Replaces the prompt with a panel, once the entry has ended.
    ///
    /// If the output cannot be redrawn in place, prints the lines of the panel once.
    func open(_ panel: LuaPanel) {
        self.panel?.whenChanged(nil)
        guard output.hasPanels else {
            for line in panel.lines(columns: window.columns, rows: .max) { write(line + "\n") }
            return panel.whenChanged(nil)
        }
        self.panel = panel
    }

    /// The content of the open panel; nil if none is open.
    func panelFrame() -> PanelFrame? {
        guard let panel else { return nil }
        if let size = output.window() { window = size }
        let lines = module.using(self) { panel.lines(columns: window.columns, rows: window.rows) }
        return PanelFrame(lines: fittingPanel(lines))
    }

    /// Passes a key to the open panel and returns the new content.
    func pressInPanel(_ key: PanelKey) -> PanelFrame {
        guard let panel else { return PanelFrame(lines: [], isOver: true) }
        let size = output.window() ?? window
        window = size
        let (isOver, shown) = module.using(self) {
            (panel.press(key), panel.lines(columns: size.columns, rows: size.rows))
        }
        let lines = fittingPanel(shown)
        if isOver {
            panel.whenChanged(nil)
            self.panel = nil
        }
        return PanelFrame(lines: lines, isOver: isOver)
    }

    /// Closes the panel if the terminal has ended it.
    func closePanel() {
        panel?.whenChanged(nil)
        panel = nil
    }

    private func fittingPanel(_ lines: [String]) -> [String] {
        lines.prefix(max(1, window.rows - 1)).map(fitting)
    }
}

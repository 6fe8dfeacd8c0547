import EventLoops
import LineEditing
import LuaHost
import ObjectStore

/// A panel whose lines and keys are functions of Lua.
final class LuaPanel: Panel {
    private unowned let session: Session
    private let content: LuaFunction
    /// Receives the names of keys.
    var key: LuaFunction?
    /// Runs when the panel is closed.
    var closed: LuaFunction?
    /// The store whose changes draw the panel again.
    var follows: Store?
    private var token: NotificationToken?
    private var show: (() -> Void)?
    private var redraw: LoopTimer?
    /// The error that replaces the lines.
    private var failure: [String]?

    /// The maximum delay of a redraw while calls of `refresh` follow each other.
    private static let pause = Duration.milliseconds(20)

    init(_ session: Session, lines: LuaFunction) {
        self.session = session
        content = lines
    }

    func whenChanged(_ show: (() -> Void)?) {
        self.show = show
        guard show == nil else {
            // The error is ignored: without an observer, the panel only lacks automatic updates.
            token = try? follows?.observeChanges { [weak self] _ in self?.refresh() }
            return
        }
        token = nil
        redraw?.cancel()
        guard let closed = closed.take() else { return }
        do {
            _ = try session.context.entry { () throws in try closed.call([]) }
        } catch {
            session.fail(error)
        }
    }

    /// Draws the lines again.
    func refresh() {
        guard redraw == nil, show != nil else { return }
        redraw = session.context.loop.timer(after: Self.pause, keepsAlive: false) { [weak self] in
            guard let self else { return }
            redraw = nil
            show?()
        }
    }

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

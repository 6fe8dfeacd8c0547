import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import StoreBindings

/// A query as a table that is updated when data changes.
///
/// New rows, changed cells and removed rows have colors. The observers that ran and the commit that caused the change
/// appear below the table. A redraw takes the time of evaluating the query, and time proportional to the rows of the
/// window.
final class WatchPanel: Panel {
    /// The difference between a row and its previous state.
    private enum Mark {
        case new, removed
        /// The columns that changed, with their previous texts.
        case changed([Int: String])
    }

    private struct Row {
        let key: ObjectReference
        var cells: [String]
        var mark: Mark?
    }

    private unowned let session: Session
    private let text: String
    private let evaluate: () throws -> [LuaValue]
    private let handle: StoreHandle?
    private var grid: Grid?
    private var rows: [Row] = []
    private var others: [String] = []
    private var calls: [Int: Int] = [:]
    private var fired: [String] = []
    private var version: UInt64 = 0
    private var window = (columns: 0, rows: 0)
    private var tokens: [NotificationToken] = []
    private var show: (() -> Void)?
    private var redraw: LoopTimer?
    private var fade: LoopTimer?

    /// The maximum delay of a redraw while commits follow each other.
    private static let pause = Duration.milliseconds(20)
    /// The time for which removed rows and colors stay visible.
    private static let fading = Duration.milliseconds(1_500)

    init(_ session: Session, _ text: String) throws {
        self.session = session
        self.text = text
        evaluate = try session.prepareQuery(text)
        handle = session.store
        _ = try evaluate()
        noteCalls()
    }

    func whenChanged(_ show: (() -> Void)?) {
        self.show = show
        guard show != nil else {
            tokens = []
            redraw?.cancel()
            fade?.cancel()
            return
        }
        guard tokens.isEmpty else { return }
        tokens = session.context.openStores.compactMap { store in
            // The error is ignored: a store that cannot be observed is shown without updates.
            try? store.observeChanges { [weak self] _ in self?.storeHasChanged() }
        }
    }

    private func storeHasChanged() {
        guard redraw == nil else { return }
        redraw = session.context.loop.timer(after: Self.pause, keepsAlive: false) { [weak self] in
            guard let self else { return }
            redraw = nil
            update(marking: true)
            show?()
        }
    }

    private func noteCalls() {
        let active = session.context.storeModule.activeTokens
        fired = active.filter { $0.statistics.calls > calls[$0.number] ?? 0 }.map {
            "\(ObserverWatch.label(of: $0)) \(Session.text(of: .nanoseconds(Int64($0.statistics.handling.last * 1_000))))"
        }
        calls = Dictionary(
            active.map { ($0.number, $0.statistics.calls) }, uniquingKeysWith: { $1 })
    }

    private func update(marking: Bool) {
        let limit = max(1, window.rows == .max ? 20 : window.rows - 9)
        do {
            let values = try evaluate()
            guard let value = values.first, values.count == 1,
                case .results(let results)? = session.context.storeModule.inspect(value),
                case .grid(let now)? = StoreValues(module: session.context.storeModule).describe(
                    value, limits: limits(limit))
            else {
                grid = nil
                var printer = session.printer()
                printer.limits.rows = limit
                printer.limits.items = limit
                others = values.flatMap { value in
                    printer.print(value).text.replacing(": .last shows them", with: "")
                        .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
                }
                return noteVersion()
            }
            let table = results.query.table
            let shown = try results.limited(to: now.rows.count)
            let keys = try shown.keys().map {
                ObjectReference(table: table, key: $0)
            }
            take(zip(keys, now.rows).map { Row(key: $0, cells: $1) }, marking: marking)
            grid = now
        } catch {
            grid = nil
            let message = (error as? StoreError)?.scriptMessage ?? "\(error)"
            others = [session.style.paint(message, .error)]
        }
        noteVersion()
    }

    private func noteVersion() {
        version = handle.map { $0.store.isClosed ? 0 : $0.store.version } ?? 0
        noteCalls()
    }

    private func limits(_ rows: Int) -> PrintLimits {
        PrintLimits(items: rows, rows: rows, columns: max(20, window.columns - 1))
    }

    private func take(_ next: [Row], marking: Bool) {
        guard marking, grid != nil else {
            rows = next
            return
        }
        let before = Dictionary(
            rows.filter { if case .removed? = $0.mark { false } else { true } }.map {
                ($0.key, $0.cells)
            }, uniquingKeysWith: { first, _ in first })
        let present = Set(next.map(\.key))
        var merged = next.map { row -> Row in
            var row = row
            guard let old = before[row.key] else {
                row.mark = .new
                return row
            }
            var changed: [Int: String] = [:]
            for column in row.cells.indices
            where old.indices.contains(column) && old[column] != row.cells[column] {
                changed[column] = old[column]
            }
            if !changed.isEmpty { row.mark = .changed(changed) }
            return row
        }
        for (index, row) in rows.enumerated() where !present.contains(row.key) {
            if case .removed? = row.mark { continue }
            merged.insert(
                Row(key: row.key, cells: row.cells, mark: .removed), at: min(index, merged.count))
        }
        rows = merged
        guard rows.contains(where: { $0.mark != nil }) else { return }
        fade?.cancel()
        fade = session.context.loop.timer(after: Self.fading, keepsAlive: false) { [weak self] in
            guard let self else { return }
            fade = nil
            rows.removeAll { if case .removed? = $0.mark { true } else { false } }
            for index in rows.indices { rows[index].mark = nil }
            fired = []
            show?()
        }
    }

    func lines(columns: Int, rows windowRows: Int) -> [String] {
        if (columns, windowRows) != window {
            window = (columns, windowRows)
            update(marking: false)
        }
        let style = session.style
        var lines = [style.paint(TerminalText.truncate(text, to: max(10, columns - 1)), .strong)]
        if var grid {
            grid.rows = rows.map { row in
                guard case .changed(let changed)? = row.mark else { return row.cells }
                return row.cells.enumerated().map { index, cell in
                    changed[index].map { "\($0) → \(cell)" } ?? cell
                }
            }
            grid.paint = { [rows] row, column, text in
                switch rows[row].mark {
                case .new?: style.paint(text, .added)
                case .removed?: style.paint(text, .struck)
                case .changed(let changed)? where changed[column] != nil:
                    style.paint(text, .changed)
                default: text
                }
            }
            let removed = rows.count { if case .removed? = $0.mark { true } else { false } }
            grid.count = max(grid.count, rows.count - removed)
            lines += grid.render(width: max(20, columns - 1), style: style)
        } else {
            lines += others
        }
        lines.append(cause(style))
        if !fired.isEmpty {
            lines.append(style.paint("ran: \(fired.prefix(4).joined(separator: ", "))", .word))
        }
        if windowRows != .max { lines.append(style.paint("q leaves", .dim)) }
        return lines
    }

    /// Returns the commit that caused the change.
    private func cause(_ style: Style) -> String {
        guard let handle, !handle.store.isClosed else { return "" }
        let text = VersionText(style: style)
        var parts = [style.paint("v\(version)", .type)]
        let origin = text.origin(handle.store.commit(of: version))
        if !origin.isEmpty { parts.append(style.paint(origin, .dim)) }
        if let summary = try? handle.store.summary(of: version) {
            parts.append(text.changes(summary))
        }
        return parts.joined(separator: "  ")
    }

    func press(_ key: PanelKey) -> Bool {
        switch key {
        case .character("q"), .interrupt, .escape: true
        default: false
        }
    }
}

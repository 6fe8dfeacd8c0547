import LineEditing
import ObjectStore
import StoreBindings

/// The versions of a store as a list: arrows select, Enter shows the difference, g opens the version, q closes the
/// list.
final class HistoryPanel: Panel {
    private unowned let session: Session
    private let handle: StoreHandle
    private var versions: [VersionSummary]
    private var selected = 0
    private var first = 0
    /// The lines of the difference below the list.
    private var detail: [String] = []
    private var shownDetail: UInt64?
    private var remark = ""
    private var token: NotificationToken?
    private var show: (() -> Void)?

    init(_ session: Session, _ handle: StoreHandle) throws {
        self.session = session
        self.handle = handle
        versions = try handle.store.versions().reversed()
    }

    private var text: VersionText { VersionText(style: session.style) }

    func whenChanged(_ show: (() -> Void)?) {
        self.show = show
        guard show != nil else {
            token = nil
            return
        }
        guard token == nil else { return }
        // The error is ignored: without an observer, the list only lacks automatic updates.
        token = try? handle.store.observeChanges { [weak self] _ in
            self?.reload()
            self?.show?()
        }
    }

    private func reload() {
        guard let now = try? handle.store.versions() else { return }
        let current = versions.indices.contains(selected) ? versions[selected].version : 0
        versions = now.reversed()
        selected = selected == 0 ? 0 : versions.firstIndex { $0.version == current } ?? 0
    }

    func lines(columns: Int, rows: Int) -> [String] {
        let visible = rows == .max ? versions.count : max(3, (rows - 4) / (detail.isEmpty ? 1 : 2))
        if selected < first { first = selected }
        if selected >= first + visible { first = selected - visible + 1 }
        let present = session.visitedVersion ?? handle.store.version
        let shown = versions[min(first, versions.count)...].prefix(visible)
        let width = shown.map { "\($0.version)".count }.max() ?? 1
        let origins = shown.map { text.origin(handle.store.commit(of: $0.version)) }
        let originWidth = origins.map { TerminalText.width($0) }.max() ?? 0
        var lines = zip(shown, origins).enumerated().map { offset, entry -> String in
            let (version, origin) = entry
            let isSelected = first + offset == selected && rows != .max
            let number = "\(version.version)"
            var line = isSelected ? session.style.paint("❯ ", .strong) : "  "
            line += String(repeating: " ", count: width - number.count)
            line += session.style.paint("v" + number, isSelected ? .strong : .type)
            line += version.version == present ? session.style.paint(" ◂ ", .strong) : "   "
            if originWidth > 0 {
                let padding = String(
                    repeating: " ", count: originWidth - TerminalText.width(origin) + 2)
                line += session.style.paint(origin, .dim) + padding
            }
            line += text.changes(version)
            if !version.isKept { line += session.style.paint("  (values gone)", .dim) }
            return line
        }
        if versions.isEmpty { lines.append("no versions are recorded") }
        guard rows != .max else { return lines }
        if !detail.isEmpty {
            lines.append(
                session.style.paint(String(repeating: "─", count: min(40, columns - 1)), .dim))
            lines += detail.prefix(max(2, rows - lines.count - 3))
        }
        if !remark.isEmpty { lines.append(session.style.paint(remark, .error)) }
        lines.append(
            session.style.paint("↑↓ select · Enter difference · g open · q leave", .dim))
        return lines
    }

    func press(_ key: PanelKey) -> Bool {
        remark = ""
        switch key {
        case .up: move(by: -1)
        case .down: move(by: 1)
        case .pageUp: move(by: -10)
        case .pageDown: move(by: 10)
        case .home: move(by: -versions.count)
        case .end: move(by: versions.count)
        case .enter, .right: showDifference()
        case .left, .escape: detail = []
        case .character("g"): return go()
        case .character("q"), .interrupt: return true
        case .character("k"): move(by: -1)
        case .character("j"): move(by: 1)
        case .character: break
        }
        return false
    }

    private func move(by distance: Int) {
        selected = max(0, min(versions.count - 1, selected + distance))
        if !detail.isEmpty { showDifference() }
    }

    private func showDifference() {
        guard versions.indices.contains(selected) else { return }
        let version = versions[selected].version
        if versions[selected].changesSchema {
            detail = [
                "version \(version) changed the schema, so the previous version cannot be read"
            ]
            return
        }
        do {
            let difference = try handle.store.difference(
                from: version - 1, to: version, for: session.holder)
            detail = text.lines(difference, limit: 100)
        } catch {
            detail = []
            remark = (error as? StoreError)?.scriptMessage ?? "\(error)"
        }
    }

    private func go() -> Bool {
        guard versions.indices.contains(selected) else { return false }
        do {
            try session.visit(versions[selected].version)
            return true
        } catch {
            remark = (error as? StoreError)?.scriptMessage ?? "\(error)"
            return false
        }
    }
}

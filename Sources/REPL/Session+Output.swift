import Charts
import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import Reference
import ScriptHost
import StoreBindings
import SystemCalls

extension Session {
    // MARK: - Prompt

    /// The store for commands and the prompt: the variable `store`, or the store opened last.
    var store: StoreHandle? {
        if let visited, !visited.handle.store.isClosed { return visited.handle }
        for value in [evaluator.local("store"), context.state.globals["store"]] {
            if let value, case .store(let handle)? = context.storeModule.inspect(value),
                !handle.store.isClosed
            {
                return handle
            }
        }
        return context.storeModule.handles.last
    }

    /// The prompt text: store name, version, `write` in a transaction, number of observers.
    package var prompt: String {
        let escape = "\u{1}"
        func paint(_ text: String, _ role: Style.Role) -> String {
            guard style.isColored else { return text }
            let parts = Style.rendered(style.paint("|", role)).split(separator: "|")
            guard parts.count == 2 else { return text }
            return "\(escape)\(parts[0])\(escape)\(text)\(escape)\(parts[1])\(escape)"
        }
        guard let handle = store else { return paint("moonpool", .strong) + "> " }
        var words = [
            paint(Self.shortName(handle.name), .strong),
            visitedVersion.map { paint("@v\($0)", .error) }
                ?? paint("v\(handle.store.version)", .dim),
        ]
        if handle.store.isInWrite { words.append(paint("write", .error)) }
        let observers = context.storeModule.activeTokens.count
        if observers > 0 {
            words.append(paint(ValueText.count(observers, "observer"), .type))
        }
        return words.joined(separator: " ") + "> "
    }

    private static func shortName(_ name: String) -> String {
        var short = name.split(separator: "/").last.map(String.init) ?? name
        if short.hasSuffix(".moonpool") { short.removeLast(".moonpool".count) }
        short = ControlCharacters.escaped(short, onOneLine: true)
        return short.count > 48 ? short.prefix(47) + "…" : short
    }

    // MARK: - Values

    /// Prints values in the output mode of the session.
    ///
    /// Output to a file is not shortened. `first` is the number of the first value, for labels.
    func print(_ values: [LuaValue], isGenerous: Bool = false, numberedFrom first: Int? = nil) {
        screen.beginPage()
        guard mode == .table else { return printInMode(values) }
        var isShortened = false
        for (index, value) in values.enumerated() {
            let printed = printer(isGenerous: isGenerous).print(value)
            var text = printed.text
            if let first, output.labelsResults, !screen.isRedirected {
                text = ResultLabel.adding(
                    first + index, to: text, columns: window.columns, style: style)
            }
            write(text + "\n")
            isShortened = isShortened || printed.isShortened && !printed.text.contains(".last")
        }
        if isShortened, !isGenerous, !screen.isPicture {
            write(style.paint(".last shows the rest", .dim) + "\n")
        }
    }

    private func printInMode(_ values: [LuaValue]) {
        do {
            try stoppable { [self] in
                for value in values {
                    let writer = ModeWriter(
                        mode, context, endOfLine: screen.file == nil ? "\n" : nil, write: write)
                    // A function, token or store has no representation in data formats.
                    if try !writer.write(value) { write(printer().print(value).text + "\n") }
                }
            }
        } catch {
            fail(error)
        }
    }

    /// Returns a printer for the window; `isGenerous` raises its limits for `.last`.
    func printer(isGenerous: Bool = false) -> ValuePrinter {
        var limits = PrintLimits(
            rows: max(5, min(40, window.rows - 8)), columns: max(20, window.columns))
        if isGenerous { limits = limits.generous() }
        // Output to a file is not limited to the width of the window.
        if screen.isRedirected, !screen.isPicture { limits.columns = 1_000 }
        var printer = ValuePrinter(
            context.storeModule, limits: limits, style: style, functionInfo: functionInfo)
        if !screen.isPicture { printer.remedy = ": .last shows them" }
        return printer
    }

    /// The error printer.
    var errorText: ErrorText {
        ErrorText(
            style: style, wrap: wrap,
            source: { [evaluator] name in
                // The chunk of a file is named after its path.
                evaluator.source(named: name)
                    ?? (name.hasSuffix(".lua") ? try? SourceText.read(name, named: name) : nil)
            },
            hint: { [self] in hint(for: $0) },
            print: { [self] in printer().print($0).text })
    }

    /// Returns the text of a report of the script host, with an excerpt of the entry that it names.
    func text(of report: ScriptReport) -> String {
        guard !report.source.isEmpty else { return report.text }
        var lines = [errorText.wrapped("error in \(report.source): \(report.message)")]
        if let hint = errorText.hint(report.message) { lines.append(hint) }
        if let excerpt = report.excerpt ?? errorText.excerpt(report.message) {
            lines.append(excerpt)
        }
        // The message of an interrupted handler has no location, so the traceback shows it.
        let way = errorText.way(report.traceback, besides: report.message == "interrupted" ? 0 : 1)
        return lines.joined(separator: "\n") + way + "\n"
    }

    static func text(of duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let microseconds = Double(seconds) * 1e6 + Double(attoseconds) / 1e12
        if microseconds < 1_000 { return "\(Int(microseconds)) µs" }
        if microseconds < 1_000_000 { return "\(Double(Int(microseconds / 100)) / 10) ms" }
        return "\(Double(Int(microseconds / 10_000)) / 100) s"
    }

    // MARK: - Layout

    /// Lays out rows in columns, each as wide as its widest cell.
    func lines(of rows: [[String]], numeric: Set<Int> = [], header: Bool = true) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let rows = rows.map { row in
            row.map { ControlCharacters.escaped($0, onOneLine: true) }
                + Array(repeating: "", count: count - row.count)
        }
        let widths = (0..<count).map { column in
            rows.map { TerminalText.width($0[column]) }.max() ?? 0
        }
        return rows.enumerated().map { index, row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(
                    repeating: " ", count: widths[column] - TerminalText.width(cell))
                let isLast = column == row.count - 1
                line += numeric.contains(column) ? padding + cell : cell + (isLast ? "" : padding)
                if !isLast { line += "  " }
            }
            return header && index == 0 ? style.paint(line, .dim) : line
        }
    }

    /// Returns at most as many lines as the window has rows, with a remark about the others.
    func fitting(_ lines: [String]) -> [String] {
        let rows = max(1, window.rows - 1)
        guard lines.count > rows else { return lines.map(fitting) }
        let more =
            "… \(ValueText.count(lines.count - rows + 1)) more lines; enlarge the window"
        return lines.prefix(rows - 1).map(fitting) + [fitting(style.paint(more, .dim))]
    }

    /// Returns a line for the terminal, truncated to one row of the window.
    func fitting(_ line: String) -> String {
        let line = Style.rendered(line, onOneLine: true)
        let plain = TerminalText.plain(line)
        return TerminalText.width(plain) < window.columns
            ? line : TerminalText.truncate(plain, to: window.columns - 1)
    }

    // MARK: - Help

    /// Wraps text at the width of the window.
    var wrap: TextWrap { TextWrap(columns: window.columns - 1, width: TerminalText.width) }

    /// The help printer, with the colors and the width of the session.
    var helpText: HelpText {
        HelpText(columns: window.columns - 1) { [style] text, role in
            switch role {
            case .title: style.paint(text, .strong)
            case .signature: style.paint(text, .type)
            case .example: style.paint(text, .dim)
            }
        }
    }

    /// Installs the global function `help`, which takes a name, a function or a value.
    ///
    /// A script that `moonpool attach` has opened keeps its own global `help`.
    func installHelp() {
        guard context.configuration.isInteractive || context.state.globals["help"].isNil else {
            return
        }
        installedHelp = .function(
            context.state.makeFunction("help", of: "prompt") { [weak module] call in
                _ = try module?.file("help")["show"].function?.call(call.rest(from: 1))
                return .none
            })
        context.state.globals["help"] = installedHelp
    }
}

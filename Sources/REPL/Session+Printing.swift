import LineEditing
import LuaHost
import ScriptHost

extension Session {
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
            hint: { [self] in NameHints(self).hint(for: $0) },
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
}

import LineEditing
import LuaHost
import ScriptHost

extension Session {
    /// Prints values in the mode of the session; all of them where they go to a file.
    func print(_ values: [LuaValue], isGenerous: Bool = false) {
        screen.beginPage()
        guard mode == .table else { return printInMode(values) }
        var isShortened = false
        for value in values {
            let printed = printer(isGenerous: isGenerous).print(value)
            write(printed.text + "\n")
            isShortened = isShortened || printed.isShortened && !printed.text.contains(".last")
        }
        if isShortened, !isGenerous {
            write(style.paint(".last shows the rest", .dim) + "\n")
        }
    }

    private func printInMode(_ values: [LuaValue]) {
        do {
            try stoppable { [self] in
                for value in values {
                    let writer = ModeWriter(
                        mode, context, endOfLine: screen.file == nil ? "\n" : nil, write: write)
                    // A function, a token, a store: no format has them.
                    if try !writer.write(value) { write(printer().print(value).text + "\n") }
                }
            }
        } catch {
            fail(error)
        }
    }

    /// A printer for the window; with everything for `.last`.
    func printer(isGenerous: Bool = false) -> ValuePrinter {
        var limits = PrintLimits(
            rows: max(5, min(40, window.rows - 8)), columns: max(20, window.columns))
        if isGenerous { limits = limits.generous() }
        // In a file nothing has to fit.
        if screen.isRedirected { limits.columns = 1_000 }
        var printer = ValuePrinter(
            context.storeModule, limits: limits, style: style, functionInfo: functionInfo)
        printer.remedy = ": .last shows them"
        return printer
    }

    /// The printer of errors.
    var errorText: ErrorText {
        ErrorText(
            style: style, source: { [evaluator] in evaluator.source(named: $0) },
            hint: { [self] in NameHints(self).hint(for: $0) },
            print: { [self] in printer().print($0).text })
    }

    /// A report of the script host, with the excerpt of an entry where it names one.
    func text(of report: ScriptReport) -> String {
        guard !report.source.isEmpty else { return report.text }
        var lines = [style.paint("error in \(report.source): \(report.message)", .error)]
        if let hint = errorText.hint(report.message) { lines.append(hint) }
        if let excerpt = report.excerpt ?? errorText.excerpt(report.message) {
            lines.append(excerpt)
        }
        // A message that names no place, such as that of a handler which was stopped, leaves the place to the calls.
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

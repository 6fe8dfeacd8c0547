import EventLoops
import LuaHost
import ObjectStore
import ScriptHost
import StoreBindings

// A session of the prompt as the script's thread sees it: entries come in, text goes out.
//
// What it is for: evaluating an entry, printing what it gives, dot commands, completion, and what the prompt shows. It
// knows no terminal: tests drive it without one.
//
// Threads: everything here belongs to the script's thread.

/// Where a session's text goes.
public struct SessionOutput: Sendable {
    /// Gets everything that is to be seen, in order.
    public var write: @Sendable (String) -> Void
    /// Ends a line that a script has left unfinished, so that what follows begins one.
    public var finishLine: @Sendable () -> Void

    /// Makes an output.
    public init(
        write: @escaping @Sendable (String) -> Void,
        finishLine: @escaping @Sendable () -> Void = {}
    ) {
        self.write = write
        self.finishLine = finishLine
    }
}

/// Evaluates entries on a script's thread and prints what comes of them.
public final class Session {
    let context: ScriptContext
    let evaluator: Evaluator
    let style: Style
    private let output: SessionOutput
    /// The window as it was when the entry was given.
    var window: (columns: Int, rows: Int)
    /// Whether every entry tells how long it took.
    var isTiming = false
    /// Whether `.quit` was given.
    private(set) var wantsToEnd = false
    /// The values of the last entry that gave any, for `.last`.
    private(set) var lastValues: [LuaValue] = []
    private var resultNumber = 0
    private let functionInfo: LuaFunction?
    /// The entries that went well, for `.save`.
    private(set) var script: [String] = []

    /// How many numbered results are kept.
    private static let keptResults = 1_000

    /// A session in a script that is interactive.
    public init(
        _ context: ScriptContext, style: Style, window: (columns: Int, rows: Int) = (80, 24),
        output: SessionOutput
    ) {
        self.context = context
        self.style = style
        self.window = window
        self.output = output
        evaluator = Evaluator(context.state)
        functionInfo = context.state.globals["debug"].table?["getinfo"].function
        installInspect()
    }

    /// Shows a text.
    func write(_ text: String) { output.write(text) }

    // MARK: - Entries

    /// Runs one whole entry: a command or Lua.
    public func run(_ entry: String) {
        if entry.allSatisfy(\.isWhitespace) { return }
        let clock = ContinuousClock()
        let begin = clock.now
        if EntryText.isCommand(entry) {
            runCommand(entry)
        } else {
            evaluate(entry)
        }
        if isTiming {
            write(style.paint(Self.text(of: clock.now - begin), .dim) + "\n")
        }
    }

    /// Runs Lua and prints its values or its error.
    ///
    /// True if it went well.
    @discardableResult  // because only commands that go on afterwards ask
    func evaluate(_ entry: String, named name: String? = nil) -> Bool {
        do {
            let values = try evaluator.evaluate(entry, named: name) { body in
                try context.entry { () throws in try body() }
            }
            if name == nil { script.append(entry) }
            show(values)
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// Prints values as results of an entry.
    func show(_ values: [LuaValue]) {
        guard !values.isEmpty else { return }
        output.finishLine()
        let globals = context.state.globals
        globals["_"] = values[0]
        for value in values {
            resultNumber += 1
            globals["_\(resultNumber)"] = value
            if resultNumber > Self.keptResults {
                globals["_\(resultNumber - Self.keptResults)"] = .nil
            }
        }
        lastValues = values
        var isShortened = false
        for value in values {
            let printed = printer().print(value)
            write(printed.text + "\n")
            isShortened = isShortened || printed.isShortened && !printed.text.contains(".last")
        }
        if isShortened { write(style.paint(".last shows the rest", .dim) + "\n") }
    }

    /// Prints an error.
    func fail(_ error: any Error) {
        output.finishLine()
        var text = errorText
        text.current = evaluator.newestName
        write(text.text(of: error) + "\n")
    }

    /// Prints an error of a command, in one line.
    func fail(_ message: String) { write(style.paint(message, .error) + "\n") }

    /// Ends the session after this entry.
    func end() { wantsToEnd = true }

    // MARK: - Printing

    /// A printer for the window; with everything for `.last`.
    func printer(isGenerous: Bool = false) -> ValuePrinter {
        let module = context.storeModule
        var limits = PrintLimits(
            rows: max(5, min(40, window.rows - 8)), columns: max(20, window.columns))
        if isGenerous { limits = limits.generous() }
        var printer = ValuePrinter(
            state: context.state, limits: limits, style: style,
            describe: { StoreValues(module: module).describe($0, limits: $1) })
        printer.place = { [functionInfo] function in
            guard let info = try? functionInfo?.call([.function(function), "S"]).first?.table,
                let source = info["short_src"].text, let line = info["linedefined"].integer
            else { return nil }
            return line > 0 ? "\(source):\(line)" : "built in"
        }
        return printer
    }

    /// The printer of errors.
    var errorText: ErrorText {
        ErrorText(
            style: style, source: { [evaluator] in evaluator.source(named: $0) },
            print: { [self] in printer().print($0).text })
    }

    /// A report of the script host, with the excerpt of an entry where it names one.
    func text(of report: ScriptReport) -> String {
        guard !report.source.isEmpty else { return report.text }
        var lines = [style.paint("error in \(report.source): \(report.message)", .error)]
        if let excerpt = report.excerpt ?? errorText.excerpt(report.message) {
            lines.append(excerpt)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func installInspect() {
        context.module["inspect"] = .function(
            context.state.makeFunction("inspect") { [weak self] call in
                guard let self else { return .none }
                var printer = self.printer()
                printer.style = .plain
                if let options = call[2].table {
                    if let depth = options["depth"].integer { printer.limits.depth = Int(depth) }
                    if let items = options["items"].integer { printer.limits.items = Int(items) }
                    if let width = options["width"].integer { printer.limits.columns = Int(width) }
                }
                return call.answer(.text(printer.print(call[1]).text))
            })
    }

    static func text(of duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let microseconds = Double(seconds) * 1e6 + Double(attoseconds) / 1e12
        if microseconds < 1_000 { return "\(Int(microseconds)) µs" }
        if microseconds < 1_000_000 { return "\(Double(Int(microseconds / 100)) / 10) ms" }
        return "\(Double(Int(microseconds / 10_000)) / 100) s"
    }

    // MARK: - The store of the session

    /// The store that commands and the prompt mean: the variable `store`, else the one opened last.
    var store: StoreHandle? {
        for value in [evaluator.local("store"), context.state.globals["store"]] {
            if let value, case .store(let handle)? = context.storeModule.inspect(value),
                !handle.store.isClosed
            {
                return handle
            }
        }
        return context.storeModule.handles.last
    }

    /// The prompt: name, version, `write`, observers.
    public var prompt: String {
        let escape = "\u{1}"
        func paint(_ text: String, _ role: Style.Role) -> String {
            guard style.isColored else { return text }
            let parts = style.paint("\u{2}", role).split(separator: "\u{2}")
            guard parts.count == 2 else { return text }
            return "\(escape)\(parts[0])\(escape)\(text)\(escape)\(parts[1])\(escape)"
        }
        guard let handle = store else { return paint("moonpool", .strong) + "> " }
        var words = [
            paint(Self.shortName(handle.name), .strong), paint("v\(handle.store.version)", .dim),
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
        return short.count > 24 ? short.prefix(23) + "…" : short
    }
}

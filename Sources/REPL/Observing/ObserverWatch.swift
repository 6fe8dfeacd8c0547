import LuaHost
import ScriptHost
import StoreBindings

/// Labels the output of the running observer or timer and records the durations of calls.
///
/// Thread: the script's thread.
final class ObserverWatch {
    private let output: SessionOutput
    private let style: Style
    private var label = ""
    private var traces: [Int: ObserverTrace] = [:]
    /// The numbers of observers whose call has not returned because it sleeps or waits.
    private var running: [Int] = []

    private static let mostTraces = 4_096

    init(_ output: SessionOutput, _ style: Style) {
        self.output = output
        self.style = style
    }

    /// Starts to label and measure the calls of a script.
    func watch(_ context: ScriptContext) {
        context.storeModule.aroundCalls = { [weak self] token, call in
            guard let self else { return try call() }
            try named(Self.label(of: token)) { () throws in try measured(token, call) }
        }
        context.aroundCallbacks = { [weak self] source, call in
            guard let self else { return try call() }
            try named(Self.label(of: source), call)
        }
    }

    /// Returns the label of an observer: its name, or the number that `.why` takes.
    static func label(of token: TokenHandle) -> String {
        token.name.isEmpty ? "observer \(token.number)" : token.name
    }

    /// Returns `timer (zoo.lua:3)` without the parentheses.
    private static func label(of source: String) -> String {
        source.filter { $0 != "(" && $0 != ")" }
    }

    private func named(_ name: String, _ call: () throws -> Void) rethrows {
        let outer = label
        set(Style.rendered(style.paint("[\(name)]", .type), onOneLine: true) + " ")
        defer { set(outer) }
        try call()
    }

    /// Runs a function whose output has no label.
    func unlabelled(_ body: () -> Void) {
        guard !label.isEmpty else { return body() }
        let outer = label
        set("")
        defer { set(outer) }
        body()
    }

    private func set(_ label: String) {
        self.label = label
        output.label(label)
    }

    private func measured(_ token: TokenHandle, _ call: () throws -> Void) rethrows {
        let clock = ContinuousClock()
        let begin = clock.now
        running.append(token.number)
        defer {
            running.removeLast()
            let (seconds, attoseconds) = (clock.now - begin).components
            if traces.count >= Self.mostTraces { traces = [:] }
            traces[token.number, default: ObserverTrace()].add(
                Double(seconds) * 1e6 + Double(attoseconds) / 1e12)
        }
        try call()
    }

    /// Returns whether a call of the observer has not returned yet.
    func isRunning(_ token: TokenHandle) -> Bool { running.contains(token.number) }

    /// Returns the durations of the last calls of an observer as bars, the newest at the right.
    func sparkline(of token: TokenHandle) -> String { traces[token.number]?.sparkline ?? "" }
}

/// The durations of the last calls of an observer.
struct ObserverTrace {
    private var microseconds: [Double] = []

    private static let kept = 16

    mutating func add(_ duration: Double) {
        if microseconds.count == Self.kept { microseconds.removeFirst() }
        microseconds.append(duration)
    }

    /// One bar for each call, scaled to the longest.
    var sparkline: String { Sparkline.text(of: microseconds) }
}

/// Draws numbers as a row of small bars.
enum Sparkline {
    private static let bars = Array("▁▂▃▄▅▆▇█")

    /// Returns one bar for each value, scaled to the greatest.
    static func text(of values: [Double]) -> String {
        let greatest = values.max() ?? 0
        return String(
            values.map { value in
                guard greatest > 0, value > 0 else { return bars[0] }
                return bars[min(bars.count - 1, Int(value / greatest * Double(bars.count)))]
            })
    }
}

import EventLoops
import SystemCalls

/// A progress line for long operations, shown on terminals only.
final class ProgressLine {
    /// The progress at the start, which is not zero after a resumed interruption.
    private struct Beginning {
        let time: ContinuousClock.Instant
        let count: Int
        let part: Double
    }

    private let verb: String
    private let isTerminal = Descriptor.isTerminal(2)
    private var lastReported = ContinuousClock.now
    private var hasReported = false
    private var beginning: Beginning?
    private var lastCount = 0
    private var lastDrawn = ContinuousClock.now
    private var isDrawn = false

    init(_ verb: String) { self.verb = verb }

    /// Shows the count, the rate and, if the completed fraction is known, the remaining time.
    ///
    /// Redraws at most four times a second. A count below the previous one starts a new measurement, for example for the
    /// next class.
    func update(_ count: Int, _ part: Double?) {
        let now = ContinuousClock.now
        defer { lastCount = count }
        guard let beginning, count >= lastCount else {
            self.beginning = Beginning(time: now, count: count, part: part ?? 0)
            return
        }
        guard isTerminal else {
            // In a log file, a line every ten seconds shows that the work continues.
            guard now - lastReported > .seconds(hasReported ? 10 : 2) else { return }
            (lastReported, hasReported) = (now, true)
            return ProcessServices.writeError(
                "moonpool: \(self.text(count, part, since: beginning, now - beginning.time))\n")
        }
        guard now - lastDrawn > .milliseconds(250) else { return }
        lastDrawn = now
        isDrawn = true
        let text = text(count, part, since: beginning, now - beginning.time)
        // A longer line would wrap, and the next update could not overwrite it.
        let columns = Descriptor.windowSize(2)?.columns ?? 80
        ProcessServices.draw("\r\u{1B}[K\(text.prefix(max(columns - 1, 1)))")
    }

    /// Erases the line.
    func end() {
        guard isDrawn else { return }
        isDrawn = false
        ProcessServices.draw("\r\u{1B}[K")
    }

    private func text(
        _ count: Int, _ part: Double?, since beginning: Beginning, _ elapsed: Duration
    ) -> String {
        let seconds = max(elapsed / .seconds(1), 0.001)
        let rate = Int(Double(count - beginning.count) / seconds)
        var text = "\(count) \(verb), \(rate) per second"
        guard let part = part.map({ min(max($0, 0), 1) }) else { return text }
        if part - beginning.part > 0.01 {
            let left = seconds / (part - beginning.part) * (1 - part)
            text += ", \(Self.duration(left)) left"
        }
        let bar = String(repeating: "#", count: Int(part * 20))
        let rest = String(repeating: ".", count: 20 - bar.count)
        return "[\(bar)\(rest)] \(Int(part * 100)) %, \(text)"
    }

    /// Returns a duration such as `12 s`, `5 min` or `3 h 20 min`.
    private static func duration(_ seconds: Double) -> String {
        let seconds = Int(seconds.rounded(.up))
        if seconds < 120 { return "\(seconds) s" }
        let minutes = (seconds + 30) / 60
        return minutes < 120 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }
}

import Synchronization
import SystemCalls

/// The destination of all output of the process while a line may be edited.
///
/// Usable on any thread. While no line is edited, bytes are written directly to the terminal. During editing they are
/// buffered for the editing thread, which erases the typed line, prints the bytes and draws the line again. If more
/// output arrives than the terminal accepts, complete lines in the middle are dropped, and their number is printed
/// instead.
///
/// Each line that a thread prints begins with the label of the thread. A footer is drawn in place below all output.
package final class AsyncOutput: Sendable {
    struct State {
        /// Whether a line is being edited, or another program has the terminal; output is buffered in the meantime.
        var isEditing = false
        var pending: [UInt8] = []
        var dropped = 0
        var endsInLine = true
        var labels = LineLabels()
        var footer: [String] = []
        var tap: (@Sendable ([UInt8]) -> Void)?
    }

    let state = Mutex(State())
    let descriptor: Int32
    /// A pipe that wakes the editing thread.
    package let pipe: WakePipe

    /// The maximum number of bytes buffered for one redraw, which is several hundred lines.
    static let limit = 64 << 10

    /// Creates an output to a descriptor; returns nil if the system has no descriptors left for the pipe.
    package init?(descriptor: Int32 = 1) {
        guard let pipe = WakePipe() else { return nil }
        self.pipe = pipe
        self.descriptor = descriptor
    }

    /// Returns an output that discards everything, for programs that only use its tap.
    package static func discarding() -> AsyncOutput? {
        Descriptor.discarding().flatMap { AsyncOutput(descriptor: $0) }
    }

    /// Prints bytes, above the line that is being edited.
    ///
    /// Usable on any thread.
    package func write(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        if bytes.isEmpty { return }
        // Inside the lock, so that lines of two threads do not mix and editing does not begin between them.
        let mustWake = state.withLock { write(bytes, to: &$0) }
        if mustWake { pipe.wake() }
    }

    /// Returns whether the editing thread must print the bytes.
    private func write(_ bytes: [UInt8], to state: inout State) -> Bool {
        let text = state.labels.label(bytes, endsInLine: state.endsInLine)
        state.endsInLine = bytes.last == UInt8(ascii: "\n")
        state.tap?(text)
        guard state.isEditing else {
            send(text, above: &state)
            return false
        }
        state.pending += text
        Self.thin(&state)
        return true
    }

    /// Prints text, above the line that is being edited.
    package func write(_ text: String) { write(text.utf8) }

    /// Records that the terminal has echoed the end of a line.
    package func recordEchoedLine() { state.withLock { $0.endsInLine = true } }

    /// Ends an unfinished last line, so that a prompt starts on a new line.
    package func finishLine() { state.withLock { finishLine(&$0) } }

    private func finishLine(_ state: inout State) {
        if !state.isEditing, !state.endsInLine { _ = write([UInt8(ascii: "\n")], to: &state) }
    }

    /// Sets the prefix of each line that the calling thread prints from now on; empty for none.
    ///
    /// An unfinished line with another label is ended first.
    package func setLabel(_ label: String) {
        state.withLock { $0.labels.set(Array(label.utf8)) }
    }

    /// Passes a copy of all output, including labels, to a function; nil stops it.
    ///
    /// The function is called on the printing threads, one at a time, and must not print.
    package func setTap(_ tap: (@Sendable ([UInt8]) -> Void)?) {
        state.withLock { $0.tap = tap }
    }

    /// Records that another program has the terminal; from now on, output is buffered.
    func beginEditing() { state.withLock { $0.isEditing = true } }

    /// Ends an unfinished last line, and records that a line is edited; from now on, output is buffered.
    ///
    /// No output of another thread comes between the two, which would put the prompt behind it.
    func beginLine() {
        state.withLock { state in
            finishLine(&state)
            state.isEditing = true
        }
    }

    /// Prints the buffered output and stops buffering, after a line was entered.
    func endEditing() {
        state.withLock { state in
            assert(state.isEditing, "editing ends once")
            state.isEditing = false
            let rest = Self.take(&state)
            Descriptor.write(descriptor, Array(rest))
        }
    }

    /// Returns the buffered output to print above the typed line; it always consists of complete lines.
    func takePending() -> [UInt8] { state.withLock { Self.take(&$0) } }

    private static func take(_ state: inout State) -> [UInt8] {
        defer {
            state.pending = []
            state.dropped = 0
        }
        if !state.pending.isEmpty, state.pending.last != UInt8(ascii: "\n") {
            state.endsInLine = true
            return state.pending + [UInt8(ascii: "\n")]
        }
        return state.pending
    }

    /// Drops complete lines in the middle: the first lines show the beginning, the last ones the current state.
    private static func thin(_ state: inout State) {
        guard state.pending.count > limit else { return }
        let newline = UInt8(ascii: "\n")
        let marker: UInt8 = 0x1E  // an ASCII record separator, which no terminal shows
        let head = state.pending.prefix(limit / 4)
        guard let headEnd = head.lastIndex(of: newline) else {
            state.pending.removeFirst(state.pending.count - limit)
            return
        }
        let tail = state.pending.suffix(limit / 4)
        guard let tailStart = tail.firstIndex(of: newline), tailStart > headEnd else { return }
        let middle = state.pending[(headEnd + 1)...tailStart]
        var lines = 0
        for byte in middle where byte == newline { lines += 1 }
        // A note about earlier dropped lines is among the dropped lines; it does not count as a line, and its number is
        // added.
        if middle.contains(marker) { lines -= 1 }
        state.dropped += lines
        let note = Array("… \(state.dropped) lines omitted …".utf8) + [marker, newline]
        state.pending.replaceSubrange((headEnd + 1)...tailStart, with: note)
    }
}

extension AsyncOutput {
    /// Draws lines below all printed output, in place of the previous footer; an empty array removes the footer.
    ///
    /// Usable on any thread while no line is being edited. Each line must fit the window; a longer one would wrap, so
    /// that the footer could not be erased. Truncate lines before adding colors, whose escape sequences count as
    /// characters.
    package func setFooter(_ lines: [String]) {
        state.withLock { state in
            guard !state.isEditing else { return }
            var text = Self.erasing(state.footer)
            if !lines.isEmpty, !state.endsInLine {
                text += "\r\n"
                state.endsInLine = true
            }
            state.footer = lines
            text += Self.drawing(lines)
            send(Array(text.utf8))
        }
    }

    /// Makes the footer a part of the printed output.
    package func keepFooter() { state.withLock { $0.footer = [] } }

    /// Prints bytes above the footer.
    func send(_ bytes: [UInt8], above state: inout State) {
        if state.footer.isEmpty { return send(bytes) }
        // An unfinished line is ended, because the footer would be drawn into it.
        let end = state.endsInLine ? "" : "\n"
        state.endsInLine = true
        send(
            Array(Self.erasing(state.footer).utf8) + bytes
                + Array((end + Self.drawing(state.footer)).utf8))
    }

    private func send(_ bytes: [UInt8]) {
        Descriptor.write(descriptor, bytes)
    }

    private static func drawing(_ lines: [String]) -> String {
        lines.map { $0 + "\n" }.joined()
    }

    private static func erasing(_ lines: [String]) -> String {
        lines.isEmpty ? "" : "\u{1B}[\(lines.count)A\r\u{1B}[J"
    }
}

extension AsyncOutput {
    /// The event that ended a wait between lines.
    package enum Event: Sendable { case woken, interrupted, timeout }

    /// Waits until another thread wakes the pipe, the user presses Ctrl-C, or the time has passed.
    ///
    /// Used for waiting while code runs.
    package func waitForEvent(milliseconds: Int? = nil) -> Event {
        while true {
            if TerminalSignals.takeInterrupts() > 0 { return .interrupted }
            let readiness = Descriptor.waitForInput(
                nil, or: pipe.readEnd, milliseconds: milliseconds)
            pipe.drain()
            if TerminalSignals.takeInterrupts() > 0 { return .interrupted }
            if readiness == .second { return .woken }
            if readiness == .timeout { return .timeout }
        }
    }
}

/// Inserts a label with the source before each printed line.
///
/// Each thread has its own label, because observers run on one thread while workers print on theirs.
struct LineLabels {
    private var labels: [UInt: [UInt8]] = [:]
    /// The label of the unfinished line.
    private var unfinished: [UInt8] = []

    /// Sets the label of the calling thread's output from now on; empty for none.
    mutating func set(_ label: [UInt8]) {
        labels[ThreadIdentity.current.number] = label.isEmpty ? nil : label
    }

    /// Returns the bytes with the calling thread's label before each line.
    ///
    /// `endsInLine` is whether the previous output ended its line. Output that does not continue that line starts a new
    /// one.
    mutating func label(_ bytes: [UInt8], endsInLine: Bool) -> [UInt8] {
        let label = labels.isEmpty ? [] : labels[ThreadIdentity.current.number] ?? []
        let continues = !endsInLine && unfinished == label
        let newline = UInt8(ascii: "\n")
        unfinished = label
        if label.isEmpty { return endsInLine || continues ? bytes : [newline] + bytes }
        var result: [UInt8] = endsInLine || continues ? [] : [newline]
        var isAtStart = !continues
        for byte in bytes {
            if isAtStart { result += label }
            result.append(byte)
            isAtStart = byte == newline
        }
        return result
    }
}

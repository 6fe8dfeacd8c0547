import Synchronization

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
    package func noteEchoedLine() { state.withLock { $0.endsInLine = true } }

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
            state.isEditing = false
            let rest = Self.take(&state)
            rest.withUnsafeBytes { Descriptor.write(descriptor, $0) }
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

import Synchronization

/// Where everything goes that is printed while a line may be being typed.
///
/// Any thread may write. While no line is edited the bytes go straight to the terminal; while one is, they are kept for
/// the editing thread, which erases the typed line, prints them and draws the line again. When more comes than the
/// terminal takes, the middle is dropped, in whole lines, and their number is printed instead.
///
/// A thread's label begins each line that the thread prints. Below all output there may be a footer, lines that are
/// drawn again in place.
package final class AsyncOutput: Sendable {
    struct State {
        /// A line is typed, or the terminal is another program's: what is printed has to wait.
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
    /// Wakes the thread that edits lines.
    package let pipe: WakePipe

    /// How many bytes are kept for one redrawing: some hundred lines.
    static let limit = 64 << 10

    /// Makes an output on a descriptor; nil when the system has none left for its pipe.
    package init?(descriptor: Int32 = 1) {
        guard let pipe = WakePipe() else { return nil }
        self.pipe = pipe
        self.descriptor = descriptor
    }

    /// An output that shows nothing, for programs that only listen to it.
    package static func discarding() -> AsyncOutput? {
        Descriptor.discarding().flatMap { AsyncOutput(descriptor: $0) }
    }

    /// Prints bytes, above the line that is being typed if there is one.
    ///
    /// Any thread.
    package func write(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        if bytes.isEmpty { return }
        let mustWake = state.withLock { state in
            let text = state.labels.label(bytes, endsInLine: state.endsInLine)
            state.endsInLine = bytes.last == UInt8(ascii: "\n")
            state.tap?(text)
            guard state.isEditing else {
                // Inside the lock: otherwise two threads' lines would mix, and an editor could begin between them.
                send(text, above: &state)
                return false
            }
            state.pending += text
            Self.thin(&state)
            return true
        }
        if mustWake { pipe.wake() }
    }

    /// Prints text, as `write` does bytes.
    package func write(_ text: String) { write(text.utf8) }

    /// Records that the terminal has echoed the end of a line.
    package func noteEchoedLine() { state.withLock { $0.endsInLine = true } }

    /// Ends the last line if it was left unfinished, so that a prompt begins a new one.
    package func finishLine() {
        if state.withLock({ !$0.isEditing && !$0.endsInLine }) { write("\n") }
    }

    /// Sets the text that begins each line that the calling thread prints from here on; none if empty.
    ///
    /// A line that was left unfinished under another label is ended first.
    package func setLabel(_ label: String) {
        state.withLock { $0.labels.set(Array(label.utf8)) }
    }

    /// Calls a function with all that is printed from here on, labels and all; nil ends that.
    ///
    /// Called on the threads that print, one at a time; it may not print.
    package func setTap(_ tap: (@Sendable ([UInt8]) -> Void)?) {
        state.withLock { $0.tap = tap }
    }

    /// From here on a line is on the screen.
    func beginEditing() { state.withLock { $0.isEditing = true } }

    /// The typed line is done with: what is kept is printed now, and the rest goes straight out again.
    func endEditing() {
        state.withLock { state in
            state.isEditing = false
            let rest = Self.take(&state)
            rest.withUnsafeBytes { Descriptor.write(descriptor, $0) }
        }
    }

    /// The output that has to be printed above the typed line, always complete lines.
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

    /// Drops complete lines from the middle: the first ones show the beginning, the last ones the present state.
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
        // An earlier note among the dropped lines is one line too many, and its number counts on.
        if middle.contains(marker) { lines -= 1 }
        state.dropped += lines
        let note = Array("… \(state.dropped) lines left out …".utf8) + [marker, newline]
        state.pending.replaceSubrange((headEnd + 1)...tailStart, with: note)
    }
}

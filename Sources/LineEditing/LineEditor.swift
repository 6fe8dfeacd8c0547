import CEdit
import SystemCalls

// A line of text typed at a terminal, as a Swift object over libedit.
//
// The line editor of the prompt. It reads one line at a time with the usual keys, history, completion and pasting,
// while other threads continue printing: their output appears above the typed line, which stays unchanged.
//
// It does not depend on Lua. Its client decides whether an entry is complete and returns the completions.
//
// Threads: an editor belongs to the thread that created it (the main thread of a process, which receives the signals);
// `AsyncOutput` and `WakePipe` are usable on any thread.
//
// Caveats:
// * While a line is edited, the terminal sends no signals; Ctrl-C, Ctrl-Z and Ctrl-\ arrive as characters, and Ctrl-\ is
//   ignored. Between lines the terminal has its original settings, and Ctrl-C sends SIGINT (see `TerminalSignals`).
// * libedit edits the line and reads the keys; the editor draws (see `LineFrame`).
// * libedit uses wide characters in the locale of the thread. The editor sets a UTF-8 locale for its thread and does
//   not change the locale of the process, because scripts expect the locale of `lua`.

/// The outcome of reading a line.
package enum LineInput: Equatable, Sendable {
    /// A line without its line break; a recalled or pasted line can contain several lines.
    case line(String)
    /// The up arrow in the first line of the typed text, if the caller has enabled it, to restore the previous lines.
    case earlierLines(String)
    /// Ctrl-C; the typed text is discarded.
    case interrupted
    /// Ctrl-D on an empty line, or a closed terminal.
    case endOfInput
}

/// Reads lines from a terminal.
package final class LineEditor {
    let editor: OpaquePointer
    private let historyHandle: OpaquePointer
    private let streams: [UnsafeMutablePointer<FILE>]
    let input: Int32
    let descriptor: Int32
    let output: AsyncOutput
    var prompt = ""
    var windowSize: (columns: Int, rows: Int)
    var wasInterrupted = false
    /// The text of the line that Ctrl-C has ended.
    var abandoned = ""
    var wasStopped = false
    var needsEarlierLines = false
    /// Whether the characters of a paste are read.
    var isPasting = false
    var hasEarlierLines = false
    /// Whether the editor is in vi mode.
    var usesViKeys = false
    /// The characters of a key sequence that libedit has not received yet.
    var waiting: [Unicode.Scalar] = []
    /// The key sequences that have a function; others are ignored.
    var boundSequences: Set<String> = []
    /// The names and descriptions of functions, which libedit refers to.
    var names: [UnsafeMutablePointer<wchar_t>] = []
    /// The earlier versions of the line.
    var undoing = Undo()
    /// The frame on the screen, the row of the cursor in it, and the window that it was drawn for; nil if there is none.
    var drawn: (frame: LineFrame, cursorRow: Int, window: (columns: Int, rows: Int))?
    var initial = (before: "", after: "")
    /// The index of the displayed entry in the history; the number of entries for a new one.
    var historyPosition = 0
    /// The text that begins all entries that the up and down arrows recall.
    var recalledPrefix = ""
    /// The changed texts of entries that the user has left with the arrow keys, by index in the history.
    var drafts: [Int: String] = [:]
    /// The number of times that output was printed above the typed line.
    package internal(set) var interjections = 0

    /// The entries that can be recalled.
    package let history: EditHistory
    /// Returns the completions at the cursor, given the text before and after it.
    package var completer: ((_ before: String, _ after: String) -> Completion?)?

    /// Returns the colors of the typed text, each time it is drawn; nil for no colors.
    package var painter: ((_ text: String) -> [ColoredRun])?

    /// Returns a hint about the typed text, which appears in gray at its end.
    ///
    /// Called with the typed text when the line is drawn and when the output's pipe is woken, if the cursor is at the
    /// end.
    package var hint: ((_ before: String) -> String?)?
    /// Returns the text to record for an entered line, such as a corrected indentation.
    package var corrector: ((_ line: String) -> String)?
    /// The hint on the screen.
    var shownHint: String?

    /// Returns the current prompt, or nil to keep it; called when the output's pipe is woken.
    package var currentPrompt: (() -> String?)?

    /// Returns whether to stop reading, as at the end of input; called when the output's pipe is woken.
    package var mustStop: (() -> Bool)?

    /// The character before and after parts of a prompt that take no space on the screen, such as colors.
    package static let promptEscape: Unicode.Scalar = "\u{1}"

    /// Returns the visible part of a prompt: the text without the parts between two ``promptEscape``.
    package static func visible(_ prompt: String) -> String {
        prompt.split(
            separator: Character(promptEscape), omittingEmptySubsequences: false
        ).enumerated().filter { $0.offset % 2 == 0 }.map { String($0.element) }.joined()
    }

    /// Creates an editor; returns nil if the descriptors are not a terminal that can move its cursor.
    ///
    /// `keyBindings` is the path of a file with commands as in `~/.editrc`; it can select the vi mode.
    package init?(
        input: Int32 = 0, descriptor: Int32 = 1, output: AsyncOutput, history: EditHistory,
        keyBindings: String? = nil
    ) {
        guard Descriptor.isTerminal(input), Descriptor.isTerminal(descriptor),
            TerminalEnvironment.movesItsCursor,
            let reading = Descriptor.stream(input, "r"),
            // The editor draws the line, so the output of libedit is discarded.
            let writing = fopen("/dev/null", "w")
        else { return nil }
        shim_use_utf8()
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        guard
            let editor = el_init_fd(
                "moonpool", reading, writing, writing, input, descriptor, descriptor),
            let historyHandle = history_winit()
        else { return nil }
        self.editor = editor
        self.historyHandle = historyHandle
        self.input = input
        self.descriptor = descriptor
        self.output = output
        self.history = history
        streams = [reading, writing]
        windowSize = Descriptor.windowSize(descriptor) ?? (80, 24)
        // The unretained reference stays valid, because `deinit` ends libedit's editor before the object is released.
        shim_set_client(editor, Unmanaged.passUnretained(self).toOpaque())
        shim_set_signals(editor, 0)
        configureKeys(keyBindings)
        shim_disable_terminal_signals(editor)
        shim_history_set_size(historyHandle, Int32(history.limit))
        shim_history_set_unique(historyHandle, 1)
        shim_set_history(editor, historyHandle)
        shim_set_reader(
            editor,
            { editor, character in
                guard let editor, let character else { return -1 }
                return LineEditor.of(editor)?.readCharacter(into: character) ?? -1
            })
        for entry in history.entries { enter(entry) }
    }

    deinit {
        DrawingTurn.take()
        el_end(editor)
        DrawingTurn.give()
        history_wend(historyHandle)
        for stream in streams { fclose(stream) }
        for name in names { name.deallocate() }
    }

    /// Shows the prompt and reads one line.
    ///
    /// Blocks; output of other threads appears above the line.
    ///
    /// The line starts with the text `initial`, with the cursor between its parts. With `hasEarlierLines`, the up arrow in
    /// the first line ends the reading.
    package func readLine(
        prompt: String, initial: (before: String, after: String) = ("", ""),
        hasEarlierLines: Bool = false
    ) -> LineInput {
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        self.prompt = prompt
        self.initial = initial
        self.hasEarlierLines = hasEarlierLines
        historyPosition = history.entries.count
        drafts = [:]
        recalledPrefix = ""
        undoing = Undo()
        needsEarlierLines = false
        wasInterrupted = false
        wasStopped = false
        drawn = nil
        waiting = []
        noticeWindowSize()
        output.pipe.drain()
        output.beginLine()
        // The terminal is prepared before the prompt is drawn, because it would echo earlier input.
        shim_prepare_terminal(editor, 1)
        write("\u{1B}[?2004h")
        if !initial.before.isEmpty || !initial.after.isEmpty { _ = push(Self.initialKey) }
        var count: Int32 = 0
        let line = el_wgets(editor, &count)
        write("\u{1B}[?2004l")
        defer { output.endEditing() }
        if wasInterrupted {
            // Later output starts below the abandoned line.
            drawEntered(abandoned + "^C")
            el_reset(editor)
            return .interrupted
        }
        if needsEarlierLines {
            let (before, after) = typed
            eraseLine()
            el_reset(editor)
            return .earlierLines(corrector?(before + after) ?? before + after)
        }
        guard !wasStopped, let line, count > 0 else {
            write("\r\n")
            return .endOfInput
        }
        var text = decodeWide(line, Int(count))
        if text.last == "\n" { text.removeLast() }
        text = corrector?(text) ?? text
        drawEntered(text)
        return .line(text)
    }

    /// Adds an entry to the history of this and later sessions.
    package func remember(_ entry: String) {
        if history.add(entry) { enter(history.entries.last ?? entry) }
    }

    private func enter(_ entry: String) {
        // libedit removes the line break of a recalled line, so the stored line must have one.
        withWide(entry + "\n") { _ = shim_history_enter(historyHandle, $0) }
    }

    static func of(_ editor: OpaquePointer) -> LineEditor? {
        guard let client = shim_client(editor) else { return nil }
        return Unmanaged<LineEditor>.fromOpaque(client).takeUnretainedValue()
    }

    /// The width and height of the window.
    package var window: (columns: Int, rows: Int) {
        Descriptor.windowSize(descriptor) ?? windowSize
    }

    // MARK: - Screen

    func write(_ text: String) {
        Descriptor.write(descriptor, Array(text.utf8))
    }

    /// The typed text before and after the cursor.
    var typed: (before: String, after: String) {
        guard let info = el_wline(editor)?.pointee, let start = info.buffer,
            let cursor = info.cursor,
            let end = info.lastchar
        else { return ("", "") }
        return (
            decodeWide(start, cursor - start), decodeWide(cursor, end - cursor)
        )
    }

    /// Updates the window size; returns whether it has changed.
    @discardableResult  // because nothing needs to be redrawn before a line is edited
    func noticeWindowSize() -> Bool {
        guard let size = Descriptor.windowSize(descriptor), size != windowSize else { return false }
        windowSize = size
        el_resize(editor)
        return true
    }
}

extension LineEditor {
    /// Reads a character for libedit; waits for the terminal and for output that must be shown in the meantime.
    ///
    /// Returns 1 for a character, 0 at the end of input, and -1 if reading ends without a line.
    func readCharacter(into character: UnsafeMutablePointer<wchar_t>) -> Int32 {
        DrawingTurn.give()
        defer { DrawingTurn.take() }
        recordForUndo()
        while true {
            // While keys are pending, the line will be drawn again soon.
            if waiting.isEmpty, !Descriptor.hasInput(input) { draw() }
            if TerminalSignals.takeInterrupts() > 0 { return interrupt() }
            let readiness =
                waiting.isEmpty
                ? Descriptor.waitForInput(input, or: output.pipe.readEnd) : .first
            switch readiness {
            case .second:
                output.pipe.drain()
                showWhatHappened()
                if mustStop?() == true {
                    wasStopped = true
                    return -1
                }
            case .interrupted, .timeout: showWhatHappened()
            case .first:
                if waiting.isEmpty {
                    guard let key = readKey() else { return 0 }
                    waiting = key
                }
                if waiting.isEmpty { continue }
                let scalar = waiting.removeFirst()
                switch scalar {
                case "\u{3}": return interrupt()
                case "\u{1A}": suspend()
                // Ctrl-\ is ignored.
                case "\u{1C}": break
                default:
                    character.pointee = wchar_t(scalar.value)
                    return 1
                }
            }
        }
    }

    private func interrupt() -> Int32 {
        let (before, after) = typed
        abandoned = before + after
        wasInterrupted = true
        return -1
    }

    /// Stops the job with the terminal restored, and draws the line again when the job continues.
    private func suspend() {
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        eraseLine()
        write("\u{1B}[?2004l")
        shim_prepare_terminal(editor, 0)
        Signals.suspendJob()
        shim_prepare_terminal(editor, 1)
        write("\u{1B}[?2004h")
        noticeWindowSize()
    }

    /// Shows new output, a new prompt or a new window size.
    private func showWhatHappened() {
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        let bytes = output.takePending()
        let wasResized = noticeWindowSize()
        if !bytes.isEmpty || wasResized {
            interjections += 1
            eraseLine()
            Descriptor.write(descriptor, bytes)
        }
        if let newPrompt = currentPrompt?() { prompt = newPrompt }
    }

    /// Reads a key: a character, or the sequence of a function key; empty for a sequence without a function.
    ///
    /// The Escape key sends the first character of a sequence, but no other character follows within 40 ms. In vi mode,
    /// the first two characters of a sequence become one, because the Escape key is a command itself.
    private func readKey() -> [Unicode.Scalar]? {
        guard let first = readScalar() else { return nil }
        guard !isPasting, first == "\u{1B}",
            Descriptor.hasInput(input, milliseconds: Self.escapePatience), let next = readScalar()
        else { return [first] }
        guard next == "[" || next == "O" else { return [first, next] }
        var sequence = [first, next]
        while Descriptor.hasInput(input, milliseconds: Self.escapePatience),
            let scalar = readScalar()
        {
            sequence.append(scalar)
            // The Linux console sends a second bracket before the letter of F1 to F5.
            let isBracket = scalar == "[" && sequence.count == 3
            if !isBracket && !(" "..."?").contains(scalar) { break }
        }
        let text = String(String.UnicodeScalarView(sequence))
        guard boundSequences.contains(text) else { return [] }
        return Array(keySequence(text).unicodeScalars)
    }

    private static let escapePatience: Int32 = 40

    /// Reads one UTF-8 character; invalid bytes become U+FFFD.
    private func readScalar() -> Unicode.Scalar? {
        guard let first = Descriptor.readByte(input) else { return nil }
        if first < 0x80 { return Unicode.Scalar(first) }
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1
        var bytes = [first]
        while bytes.count < length {
            guard let next = Descriptor.readByte(input) else { return nil }
            bytes.append(next)
            if next & 0xC0 != 0x80 { break }
        }
        return String(decoding: bytes, as: UTF8.self).unicodeScalars.first
    }
}

extension LineEditor {
    /// The previous versions of the typed text, for undo.
    struct Undo {
        private var earlier: [(before: String, after: String)] = []
        private var current = (before: "", after: "")
        private var isTyping = false

        private static let limit = 500

        /// Records the typed text.
        ///
        /// Typing a word counts as one change.
        mutating func record(_ text: (before: String, after: String)) {
            guard text.before + text.after != current.before + current.after else {
                current = text
                return
            }
            let typed = text.before.dropLast()
            let isInsertion = typed == current.before && text.after == current.after
            let beginsWord =
                text.before.last?.isWhitespace == true && typed.last?.isWhitespace == false
            if !isInsertion || !isTyping || beginsWord {
                earlier.append(current)
                if earlier.count > Self.limit { earlier.removeFirst() }
                assert(earlier.count <= Self.limit, "the undo keeps at most its limit")
            }
            isTyping = isInsertion
            current = text
        }

        /// Returns the text before the last change, or nil if there was none.
        mutating func undo() -> (before: String, after: String)? {
            guard let last = earlier.popLast() else { return nil }
            isTyping = false
            current = last
            return last
        }
    }

    /// The maximum length of a text that is recorded while keys are pending, because recording copies the text.
    private static let longestNoted = 4_096

    /// Records the typed text before the next key changes it.
    func recordForUndo() {
        guard let info = el_wline(editor)?.pointee, let start = info.buffer,
            let end = info.lastchar,
            end - start <= Self.longestNoted || !Descriptor.hasInput(input)
        else { return }
        let typed = typed
        // During an incremental search, the last line of the text shows the pattern.
        let last = (typed.before + typed.after).split(separator: "\n").last ?? ""
        if ["bck:", "bck?", "fwd:", "fwd?"].contains(last.prefix(4)) { return }
        undoing.record(typed)
    }

    /// Handles Ctrl-_: restores the text before the last change.
    func undo() -> UInt8 {
        undoing.record(typed)
        guard let text = undoing.undo() else { return beep() }
        replaceTyped(with: text)
        return UInt8(CC_REFRESH)
    }
}

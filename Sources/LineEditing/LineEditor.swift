import CEdit

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
        var text = text
        text.withUTF8 { Descriptor.write(descriptor, UnsafeRawBufferPointer($0)) }
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

import CEdit

// A line of text typed at a terminal, as a Swift object over libedit.
//
// The line editor of the prompt. It reads one line at a time with the usual keys, history, completion and pasting,
// while other threads continue printing: their output appears above the typed line, which stays unchanged.
//
// What it does not do: it knows no Lua; whether an entry is complete, and what may be completed, others say.
//
// Threads: everything here belongs to one thread, the one that made the editor (a process's main thread, because signals
// go there); `AsyncOutput` and `WakePipe` may be used from anywhere.
//
// Caveats:
// * While a line is read the terminal sends no signals; Ctrl-C, Ctrl-Z and Ctrl-\ are characters that are handled here.
//   Between lines the terminal is as it was, and Ctrl-C is SIGINT (see `TerminalSignals`).
// * libedit works in wide characters of the thread's locale: the editor gives its thread a UTF-8 one, and leaves the
//   process's alone, because scripts expect the locale that `lua` starts in.

/// The outcome of reading a line.
package enum LineInput: Equatable, Sendable {
    /// A line, without its end; a recalled or pasted one may have several.
    case line(String)
    /// The arrow up in the first line of what is typed, where the caller has requested it, to get the lines before back.
    case takenBack(String)
    /// Ctrl-C: what was typed is thrown away.
    case interrupted
    /// Ctrl-D on an empty line, or the terminal is gone.
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
    var wasStopped = false
    var wasTakenBack = false
    /// Combining characters that were typed and not inserted yet.
    var marks = ""
    /// Whether what is read goes to a function that takes combining characters as others.
    var takesMarksAsTheyAre = false
    /// Whether the line was painted as it is since the last key but one.
    var wasPainted = true
    var isPainted = true
    var canTakeBack = false
    /// Whether the keys are those of vi.
    var usesViKeys = false
    /// A character that was read and belongs to the next key.
    var waitingScalar: Unicode.Scalar?
    /// The earlier texts of the line.
    var undoing = Undo()
    /// Whether a suggestion is drawn behind the cursor.
    var isSuggesting = false
    var initial = (before: "", after: "")
    /// The index of the shown entry in the history; the number of entries for a new one.
    var historyPosition = 0
    /// The changed texts of entries that were left with the arrow keys, by index in the history.
    var drafts: [Int: String] = [:]
    /// How often something was printed above the typed line.
    package internal(set) var interjections = 0

    /// The entries that can be recalled.
    package let history: EditHistory
    /// Returns the completions at the cursor, given the text before and after it.
    package var completer: ((_ before: String, _ after: String) -> Completion?)?

    /// Returns the colors of the typed text whenever it is drawn; nil for none.
    package var painter: ((_ text: String) -> [ColoredRun])?

    /// Returns a remark about the typed text, which appears in gray at its end.
    ///
    /// Called whenever the line is drawn and when the output's pipe is woken, with the text before a cursor at the end.
    package var hint: ((_ before: String) -> String?)?
    /// The remark on the screen.
    var shownHint: String?

    /// Asked whenever the output's pipe is woken: the prompt as it is now; nil leaves it.
    package var currentPrompt: (() -> String?)?

    /// Asked whenever the output's pipe is woken: true ends the reading as the end of the input does.
    package var mustStop: (() -> Bool)?

    /// Marks the characters in a prompt that take no space on the screen, such as colors: one before, one after.
    package static let promptEscape: Unicode.Scalar = "\u{1}"

    /// Returns what a prompt shows: the text without the parts between ``promptEscape``.
    package static func visible(_ prompt: String) -> String {
        prompt.split(
            separator: Character(promptEscape), omittingEmptySubsequences: false
        ).enumerated().filter { $0.offset % 2 == 0 }.map { String($0.element) }.joined()
    }

    /// Creates an editor; nil if the descriptors are not a terminal, or one that cannot move its cursor.
    ///
    /// `keyBindings` is the path of a file with commands as in `~/.editrc`; it can select the vi mode.
    package init?(
        input: Int32 = 0, descriptor: Int32 = 1, output: AsyncOutput, history: EditHistory,
        keyBindings: String? = nil
    ) {
        guard Descriptor.isTerminal(input), Descriptor.isTerminal(descriptor),
            TerminalEnvironment.movesItsCursor,
            let reading = Descriptor.stream(input, "r"),
            let writing = Descriptor.stream(descriptor, "w"),
            let errors = Descriptor.stream(descriptor, "w")
        else { return nil }
        shim_use_utf8()
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        guard
            let editor = el_init_fd(
                "moonpool", reading, writing, errors, input, descriptor, descriptor),
            let historyHandle = history_winit()
        else { return nil }
        self.editor = editor
        self.historyHandle = historyHandle
        self.input = input
        self.descriptor = descriptor
        self.output = output
        self.history = history
        streams = [reading, writing, errors]
        windowSize = Descriptor.windowSize(descriptor) ?? (80, 24)
        // Because: the editor is ended in `deinit`, before the object it points back to can go.
        shim_set_client(editor, Unmanaged.passUnretained(self).toOpaque())
        shim_set_signals(editor, 0)
        configureKeys(keyBindings)
        shim_disable_terminal_signals(editor)
        shim_history_set_size(historyHandle, Int32(history.limit))
        shim_history_set_unique(historyHandle, 1)
        shim_set_history(editor, historyHandle)
        shim_set_prompt(
            editor, { editor in editor.flatMap(LineEditor.of)?.promptPointer },
            wchar_t(Self.promptEscape.value))
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
        promptPointer.deallocate()
    }

    /// Shows the prompt and reads one line.
    ///
    /// Blocks; what other threads print meanwhile goes above the line.
    ///
    /// With `initial` there is a text to begin with, and the cursor in it. With `canTakeBack` the arrow up in its first
    /// line ends the reading.
    package func readLine(
        prompt: String, initial: (before: String, after: String) = ("", ""),
        canTakeBack: Bool = false
    ) -> LineInput {
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        setPrompt(prompt)
        self.initial = initial
        self.canTakeBack = canTakeBack
        historyPosition = history.entries.count
        drafts = [:]
        undoing = Undo()
        wasTakenBack = false
        wasInterrupted = false
        wasStopped = false
        isPainted = true
        wasPainted = true
        isSuggesting = false
        shownHint = nil
        noticeWindowSize()
        output.pipe.drain()
        output.finishLine()
        output.beginEditing()
        // Before the prompt: libedit would do it only when it reads, and what is typed until then would be echoed.
        shim_prepare_terminal(editor, 1)
        write("\u{1B}[?2004h")
        if !initial.before.isEmpty || !initial.after.isEmpty { _ = push(Self.initialKey) }
        var count: Int32 = 0
        let line = el_wgets(editor, &count)
        write("\u{1B}[?2004l")
        defer { output.endEditing() }
        if wasInterrupted {
            // What follows begins below the abandoned line.
            write("^C\r\n")
            el_reset(editor)
            return .interrupted
        }
        if wasTakenBack {
            let text = typed
            eraseLine()
            el_reset(editor)
            return .takenBack(text.before + text.after)
        }
        guard !wasStopped, let line, count > 0 else {
            write("\r\n")
            return .endOfInput
        }
        var text = decodeWide(line, Int(count))
        if text.last == "\n" { text.removeLast() }
        if !wasPainted { paintEnteredLine(text) }
        return .line(text)
    }

    /// Makes an entry one item of the history, of this session and the later ones.
    package func remember(_ entry: String) {
        if history.add(entry) { enter(history.entries.last ?? entry) }
    }

    private func enter(_ entry: String) {
        // libedit ends a recalled line with its own line end: what it keeps must have one to drop.
        withWide(entry + "\n") { _ = shim_history_enter(historyHandle, $0) }
    }

    static func of(_ editor: OpaquePointer) -> LineEditor? {
        guard let client = shim_client(editor) else { return nil }
        return Unmanaged<LineEditor>.fromOpaque(client).takeUnretainedValue()
    }

    /// The window's width and height.
    package var window: (columns: Int, rows: Int) {
        Descriptor.windowSize(descriptor) ?? windowSize
    }

    // MARK: - Prompt

    /// Kept alive between `setPrompt`s: libedit reads it whenever it draws.
    private(set) var promptPointer = UnsafeMutablePointer<wchar_t>.allocate(capacity: 1)

    private func setPrompt(_ text: String) {
        prompt = text
        let scalars = text.unicodeScalars.map { wchar_t($0.value) } + [0]
        promptPointer.deallocate()
        promptPointer = .allocate(capacity: scalars.count)
        promptPointer.initialize(from: scalars, count: scalars.count)
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

    /// Erases prompt and line, prints, and lets libedit draw both again, perhaps with another prompt.
    func interject(_ bytes: [UInt8], newPrompt: String? = nil) {
        eraseLine()
        if let newPrompt { setPrompt(newPrompt) }
        // Raw mode leaves output processing on, so a line feed still returns the carriage.
        bytes.withUnsafeBytes { Descriptor.write(descriptor, $0) }
        shim_refresh(editor)
    }

    /// How many rows of the window a prompt and the line behind it take.
    package func rows(prompt: String, line: String) -> Int {
        var layout = TypedLineLayout(columns: windowSize.columns)
        layout.add(prompt: prompt, escape: Self.promptEscape)
        layout.add(text: line.unicodeScalars)
        return layout.row + 1
    }

    /// Erases so many rows above the cursor, which is at the beginning of one.
    package func eraseRows(_ count: Int) {
        let count = min(count, max(windowSize.rows - 1, 0))
        if count > 0 { write("\u{1B}[\(count)A\r\u{1B}[J") }
    }

    /// Erases prompt and line and leaves the cursor where the prompt began.
    func eraseLine() {
        var layout = TypedLineLayout(columns: windowSize.columns)
        layout.add(prompt: prompt, escape: Self.promptEscape)
        let (before, after) = typed
        layout.add(text: before.unicodeScalars)
        // The cursor cannot be above the window's first row, whatever has scrolled out of it.
        let row = min(layout.cursor(before: after).row, max(windowSize.rows - 1, 0))
        write(row > 0 ? "\u{1B}[\(row)A\r\u{1B}[J" : "\r\u{1B}[J")
    }

    /// Follows a change of the window's size; true if there was one.
    @discardableResult  // because before a line begins nothing has to be drawn again
    func noticeWindowSize() -> Bool {
        guard let size = Descriptor.windowSize(descriptor), size != windowSize else { return false }
        windowSize = size
        el_resize(editor)
        return true
    }
}

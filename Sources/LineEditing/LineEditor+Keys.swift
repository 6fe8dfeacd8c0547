import CEdit
import SystemCalls

extension LineEditor {
    /// Configures the keys: libedit's emacs or vi mode, the usual keys of other prompts, and the bindings of a file.
    func configureKeys(_ file: String?) {
        let bindings = KeyBindings(file)
        withWide("emacs") { _ = shim_set_editor(editor, $0) }
        addFunctions()
        // A change of the mode resets all keys, so the mode is selected first.
        bindings.selectMode(of: editor)
        usesViKeys = shim_uses_vi_keys(editor) != 0
        for (key, command) in Self.keys + Self.insertionKeys + (usesViKeys ? [] : Self.emacsKeys) {
            bind(key, command, inCommandMode: false)
        }
        if usesViKeys {
            for (key, command) in Self.keys + Self.viCommandKeys {
                bind(key, command, inCommandMode: true)
            }
        }
        bindings.apply(to: editor)
        boundSequences = Set(Self.keys.map { $0.0.replacing("\\e", with: "\u{1B}") })
            .union(bindings.sequences)
    }

    private func bind(_ key: String, _ command: String, inCommandMode: Bool) {
        withWide(keySequence(key)) { key in
            withWide(command) { command in
                _ =
                    inCommandMode
                    ? shim_bind_in_command_mode(editor, key, command)
                    : shim_bind(editor, key, command)
            }
        }
    }

    /// Returns the characters that ``readCharacter(into:)`` delivers for a key.
    ///
    /// In vi mode, the Escape key is a command itself, so key sequences begin with a C1 control character instead.
    func keySequence(_ key: String) -> String {
        guard usesViKeys else { return key }
        return key.replacing("\\e[", with: "\u{9B}").replacing("\\eO", with: "\u{8F}")
            .replacing("\u{1B}[", with: "\u{9B}")
    }

    private typealias Function = @convention(c) (OpaquePointer?, wint_t) -> UInt8

    private static let functions: [(name: String, summary: String, run: Function)] = [
        ("complete", "Complete the word before the cursor", { e, _ in call(e) { $0.complete() } }),
        ("paste", "Insert pasted text", { e, _ in call(e) { $0.paste() } }),
        (
            "up", "Move to the line above, or to an earlier entry",
            { e, _ in call(e) { $0.moveUp() } }
        ),
        (
            "down", "Move to the line below, or to a later entry",
            { e, _ in call(e) { $0.moveDown() } }
        ),
        ("earlier", "Recall the previous entry", { e, _ in call(e) { $0.recallEarlier() } }),
        ("later", "Recall the next entry", { e, _ in call(e) { $0.recallLater() } }),
        ("left", "Move left", { e, _ in call(e) { $0.moveLeft() } }),
        ("right", "Move right, or accept the suggestion", { e, _ in call(e) { $0.moveRight() } }),
        (
            "backspace", "Delete the character before the cursor",
            { e, _ in call(e) { $0.deleteBefore() } }
        ),
        ("delete", "Delete the character at the cursor", { e, _ in call(e) { $0.deleteAfter() } }),
        (
            "delete-or-end", "Delete the character at the cursor, or end",
            { e, _ in call(e) { $0.deleteOrEnd() } }
        ),
        ("line-break", "Begin a new line in the entry", { e, _ in call(e) { $0.breakLine() } }),
        (
            "initial", "Insert the initial text of a line",
            { e, _ in call(e) { $0.insertInitial() } }
        ),
        (
            "line-start", "Move to the start of the line of an entry",
            { e, _ in call(e) { $0.moveToLineStart() } }
        ),
        (
            "line-end", "Move to the end of the line of an entry",
            { e, _ in call(e) { $0.moveToLineEnd() } }
        ),
        ("undo", "Restore the text before the last change", { e, _ in call(e) { $0.undo() } }),
        ("clear", "Clear the screen", { e, _ in call(e) { $0.clearScreen() } }),
    ]

    private static func call(_ editor: OpaquePointer?, _ function: (LineEditor) -> UInt8) -> UInt8 {
        editor.flatMap(LineEditor.of).map(function) ?? UInt8(CC_ERROR)
    }

    private func addFunctions() {
        for (name, summary, run) in Self.functions {
            _ = shim_add_function(editor, kept("moonpool-" + name), kept(summary), run)
        }
    }

    /// Returns a text that exists as long as the editor.
    private func kept(_ text: String) -> UnsafePointer<wchar_t> {
        let elements = text.unicodeScalars.map { wchar_t($0.value) } + [0]
        let pointer = UnsafeMutablePointer<wchar_t>.allocate(capacity: elements.count)
        pointer.initialize(from: elements, count: elements.count)
        names.append(pointer)
        return UnsafePointer(pointer)
    }

    /// The key bindings of emacs mode, and of both states of vi mode: insertion and commands.
    private static let keys = [
        ("\\e[A", "moonpool-up"), ("\\eOA", "moonpool-up"),
        ("\\e[B", "moonpool-down"), ("\\eOB", "moonpool-down"),
        ("\\e[C", "moonpool-right"), ("\\eOC", "moonpool-right"),
        ("\\e[D", "moonpool-left"), ("\\eOD", "moonpool-left"),
        ("\\e[5~", "moonpool-earlier"), ("\\e[6~", "moonpool-later"),
        (initialKey, "moonpool-initial"),
        ("\\t", "moonpool-complete"),
        ("\\e[200~", "moonpool-paste"),
        ("^R", "em-inc-search-prev"), ("^S", "em-inc-search-next"), ("^_", "moonpool-undo"),
        ("^L", "moonpool-clear"),
        ("\\e[H", "moonpool-line-start"), ("\\eOH", "moonpool-line-start"),
        ("\\e[1~", "moonpool-line-start"), ("\\e[F", "moonpool-line-end"),
        ("\\eOF", "moonpool-line-end"), ("\\e[4~", "moonpool-line-end"),
        ("\\e[3~", "moonpool-delete"),
        ("\\e[1;5C", "em-next-word"), ("\\e[1;5D", "ed-prev-word"),
        ("\\e[1;3C", "em-next-word"), ("\\e[1;3D", "ed-prev-word"),
        ("^W", "ed-delete-prev-word"),
    ]

    private static let insertionKeys = [
        ("^?", "moonpool-backspace"), ("^H", "moonpool-backspace"),
    ]

    private static let emacsKeys = [
        ("^A", "moonpool-line-start"), ("^E", "moonpool-line-end"),
        ("^P", "moonpool-up"), ("^N", "moonpool-down"),
        ("^F", "moonpool-right"), ("^B", "moonpool-left"), ("^D", "moonpool-delete-or-end"),
        ("\\e^M", "moonpool-line-break"), ("\\e^J", "moonpool-line-break"),
        ("\\e^?", "ed-delete-prev-word"), ("^X^U", "moonpool-undo"),
    ]

    private static let viCommandKeys = [
        ("k", "moonpool-up"),
        ("j", "moonpool-down"), ("u", "moonpool-undo"),
    ]

    /// Handles the tab key: inserts the common prefix of the candidates, lists them, or indents an empty line.
    func complete() -> UInt8 {
        let (before, after) = typed
        if before.allSatisfy(\.isWhitespace) {
            insert("  ")
            return UInt8(CC_REFRESH)
        }
        guard let completion = completer?(before, after), !completion.candidates.isEmpty else {
            return beep()
        }
        let isOnly = completion.candidates.count == 1
        let text = completion.commonPrefix + (isOnly ? completion.suffix : "")
        let replaced = String(before.suffix(completion.replacing))
        if text != replaced, isOnly || text.count > completion.replacing {
            el_deletestr(editor, Int32(replaced.unicodeScalars.count))
            insert(text)
            return UInt8(CC_REFRESH)
        }
        if isOnly { return UInt8(CC_REFRESH) }
        interject(Array(completion.listing(columns: windowSize.columns).utf8))
        return UInt8(CC_NORM)
    }

    /// Handles a bracketed paste: the pasted lines become lines of one entry, which does not run until Enter is
    /// pressed.
    func paste() -> UInt8 {
        let end = Array("\u{1B}[201~".unicodeScalars)
        var text: [Unicode.Scalar] = []
        isPasting = true
        defer { isPasting = false }
        while true {
            var character: wchar_t = 0
            guard el_wgetc(editor, &character) == 1 else { return UInt8(CC_EOF) }
            let scalar = Unicode.Scalar(UInt32(character)) ?? "\u{FFFD}"
            text.append(scalar == "\r" ? "\n" : scalar)
            if text.suffix(end.count).elementsEqual(end) { break }
        }
        text.removeLast(end.count)
        while text.last == "\n" { text.removeLast() }
        var pasted = ""
        for scalar in text where scalar == "\n" || scalar == "\t" || scalar.value >= 0x20 {
            if scalar == "\t" { pasted += "    " } else { pasted.unicodeScalars.append(scalar) }
        }
        insert(pasted)
        return UInt8(CC_REFRESH)
    }

    /// Sounds the bell for a key that has no effect.
    func beep() -> UInt8 {
        write("\u{7}")
        return UInt8(CC_REFRESH)
    }

    func insert(_ text: String) {
        if text.isEmpty { return }
        _ = withWide(text) { el_winsertstr(editor, $0) }
    }
}

// Entries with several lines: the arrow keys move between the lines first, and then between entries.

extension LineEditor {
    /// A key sequence that no keyboard produces.
    ///
    /// Pushing it as input runs the function that is bound to it.
    static let initialKey = "\u{1B}[1;95C"

    /// Handles the up arrow: moves to the line above, restores the previously typed lines, or recalls the previous
    /// entry.
    func moveUp() -> UInt8 {
        let before = typed.before
        guard let end = before.lastIndex(of: "\n") else {
            if hasEarlierLines {
                needsEarlierLines = true
                return UInt8(CC_NEWLINE)
            }
            return recall(by: -1, startingWith: prefixToRecall)
        }
        let column = before[before.index(after: end)...].unicodeScalars.count
        let above = before[..<end]
        let start = above.lastIndex(of: "\n").map { above.index(after: $0) } ?? above.startIndex
        let length = above[start...].unicodeScalars.count
        moveCursor(by: -(column + 1 + max(0, length - column)))
        return UInt8(CC_REFRESH)
    }

    /// Handles the down arrow: moves to the line below, or recalls the next entry.
    func moveDown() -> UInt8 {
        let (before, after) = typed
        guard let end = after.firstIndex(of: "\n") else {
            return recall(by: 1, startingWith: prefixToRecall)
        }
        let start = before.lastIndex(of: "\n").map { before.index(after: $0) } ?? before.startIndex
        let column = before[start...].unicodeScalars.count
        let below = after[after.index(after: end)...].prefix { $0 != "\n" }
        let length = below.unicodeScalars.count
        moveCursor(by: after[..<end].unicodeScalars.count + 1 + min(column, length))
        return UInt8(CC_REFRESH)
    }

    /// Handles the page up key: recalls the previous entry.
    func recallEarlier() -> UInt8 { recall(by: -1, startingWith: "") }

    /// Handles the page down key: recalls the next entry.
    func recallLater() -> UInt8 { recall(by: 1, startingWith: "") }

    /// The beginning of the entries to recall: the text that was typed before the first of them.
    private var prefixToRecall: String {
        if historyPosition == history.entries.count {
            let (before, after) = typed
            recalledPrefix = after.isEmpty ? before : ""
        }
        return recalledPrefix
    }

    /// Replaces the typed text with the next entry in a direction that begins with a text, or with the new entry after
    /// the last one.
    ///
    /// Saves the typed text with its changes for a later return. At both ends of the history, nothing changes.
    private func recall(by step: Int, startingWith prefix: String) -> UInt8 {
        let entries = history.entries
        let (before, after) = typed
        var position = historyPosition + step
        while entries.indices.contains(position),
            !entries[position].hasPrefix(prefix) || entries[position] == before + after
        {
            position += step
        }
        guard (0...entries.count).contains(position) else { return beep() }
        drafts[historyPosition] = before + after
        historyPosition = position
        let text = drafts[position] ?? (position < entries.count ? entries[position] : "")
        replaceTyped(with: (text, ""))
        return UInt8(CC_REFRESH)
    }

    /// Handles the left arrow: moves by one character with its marks.
    func moveLeft() -> UInt8 {
        moveCursor(by: -(typed.before.last?.unicodeScalars.count ?? 0))
        return UInt8(CC_REFRESH)
    }

    /// Handles the right arrow: accepts the suggestion at the end of the line, otherwise moves the cursor.
    func moveRight() -> UInt8 {
        if let suggestion {
            insert(suggestion)
        } else {
            moveCursor(by: typed.after.first?.unicodeScalars.count ?? 0)
        }
        return UInt8(CC_REFRESH)
    }

    /// Handles the backspace key: deletes the last mark of a character, or a whole character.
    func deleteBefore() -> UInt8 {
        guard let last = typed.before.last, let scalar = last.unicodeScalars.last else {
            return beep()
        }
        let category = scalar.properties.generalCategory
        let isMark = scalar != "\u{FE0F}" && [.nonspacingMark, .spacingMark].contains(category)
        el_deletestr(editor, Int32(isMark ? 1 : last.unicodeScalars.count))
        return UInt8(CC_REFRESH)
    }

    /// Handles the delete key.
    func deleteAfter() -> UInt8 {
        guard let first = typed.after.first else { return beep() }
        moveCursor(by: first.unicodeScalars.count)
        el_deletestr(editor, Int32(first.unicodeScalars.count))
        return UInt8(CC_REFRESH)
    }

    /// Handles Ctrl-D: ends the input on a line without typed text, otherwise deletes.
    func deleteOrEnd() -> UInt8 {
        let (before, after) = typed
        let isIndent = before == initial.before && before.allSatisfy { $0 == " " }
        return isIndent && after.isEmpty ? UInt8(CC_EOF) : deleteAfter()
    }

    /// Replaces the typed text; the cursor is placed between the two parts of the new text.
    func replaceTyped(with text: (before: String, after: String)) {
        let (before, after) = typed
        moveCursor(by: after.unicodeScalars.count)
        let length = before.unicodeScalars.count + after.unicodeScalars.count
        if length > 0 { el_deletestr(editor, Int32(clamping: length)) }
        insert(text.before + text.after)
        moveCursor(by: -text.after.unicodeScalars.count)
    }

    /// Handles Home and Ctrl-A: moves to the start of the current line of the entry.
    func moveToLineStart() -> UInt8 {
        let before = typed.before
        let start = before.lastIndex(of: "\n").map { before.index(after: $0) }
        moveCursor(by: -before[(start ?? before.startIndex)...].unicodeScalars.count)
        return UInt8(CC_REFRESH)
    }

    /// Handles End and Ctrl-E: moves to the end of the current line of the entry.
    func moveToLineEnd() -> UInt8 {
        moveCursor(by: typed.after.prefix { $0 != "\n" }.unicodeScalars.count)
        return UInt8(CC_REFRESH)
    }

    /// Handles Alt-Enter: inserts a line break at the cursor.
    func breakLine() -> UInt8 {
        insert("\n")
        return UInt8(CC_REFRESH)
    }

    /// Inserts the initial text of the line and sets the cursor.
    func insertInitial() -> UInt8 {
        insert(initial.before + initial.after)
        moveCursor(by: -initial.after.unicodeScalars.count)
        return UInt8(CC_REFRESH)
    }

    func push(_ keys: String) -> UInt8 {
        withWide(keySequence(keys)) { el_wpush(editor, $0) }
        return UInt8(CC_NORM)
    }

    func moveCursor(by distance: Int) {
        if distance != 0 { el_cursor(editor, Int32(clamping: distance)) }
    }
}

/// The user's key bindings: the commands in `~/.editrc`, in the format of `man editrc`.
struct KeyBindings {
    /// Lines that select the emacs or vi mode.
    private var modes: [String] = []
    private var others: [String] = []

    /// Reads a file; if it cannot be read, there are no commands.
    init(_ path: String?) {
        guard let path, let bytes = ProcessServices.read(path, limit: .max) else { return }
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            // A command can be limited to one program: `moonpool:bind -v`.
            switch first.split(separator: ":").last ?? "" {
            case "bind" where words.contains("-v") || words.contains("-e"):
                modes.append(String(line))
            // The command would turn editing off, which the prompt needs to print output above the line.
            case "edit": break
            default: others.append(String(line))
            }
        }
    }

    /// The sequences of function keys in the commands.
    var sequences: Set<String> {
        let words = others.flatMap { $0.split(whereSeparator: \.isWhitespace) }.map { word in
            word.filter { $0 != "\"" && $0 != "'" }.replacing("\\e", with: "\u{1B}")
                .replacing("^[", with: "\u{1B}").replacing("\\033", with: "\u{1B}")
        }
        return Set(words.filter { $0.hasPrefix("\u{1B}") })
    }

    /// Selects the emacs or vi mode, which resets all keys.
    func selectMode(of editor: OpaquePointer) { modes.forEach { run($0, on: editor) } }

    /// Runs all other commands of the file.
    func apply(to editor: OpaquePointer) { others.forEach { run($0, on: editor) } }

    private func run(_ line: String, on editor: OpaquePointer) {
        let tokenizer = tok_winit(nil)
        defer { tok_wend(tokenizer) }
        withWide(line) { text in
            var count: Int32 = 0
            var words: UnsafeMutablePointer<UnsafePointer<wchar_t>?>?
            guard tok_wstr(tokenizer, text, &count, &words) == 0, count > 0 else { return }
            _ = el_wparse(editor, count, words)
        }
    }
}

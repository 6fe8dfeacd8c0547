import CEdit

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

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
        for (key, command) in Self.keys + (usesViKeys ? [] : Self.emacsKeys) {
            bind(key, command, inCommandMode: false)
        }
        if usesViKeys {
            for (key, command) in Self.keys + Self.viCommandKeys {
                bind(key, command, inCommandMode: true)
            }
        }
        bindings.apply(to: editor)
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

    private func addFunctions() {
        _ = shim_add_completion(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.complete() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_paste(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.paste() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_up(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.moveUp() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_down(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.moveDown() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_right(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.moveRight() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_line_break(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.breakLine() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_initial(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.insertInitial() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_mark(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.insertMark() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_line_start(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.moveToLineStart() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_line_end(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.moveToLineEnd() ?? UInt8(CC_ERROR)
        }
        _ = shim_add_undo(editor) { editor, _ in
            editor.flatMap(LineEditor.of)?.undo() ?? UInt8(CC_ERROR)
        }
    }

    /// The key bindings of emacs mode, and of both states of vi mode: insertion and commands.
    private static let keys = [
        ("^^", "moonpool-mark"),
        ("\\e[A", "moonpool-up"), ("\\eOA", "moonpool-up"),
        ("\\e[B", "moonpool-down"), ("\\eOB", "moonpool-down"),
        ("\\e[C", "moonpool-right"), ("\\eOC", "moonpool-right"),
        ("\\e[D", "ed-prev-char"), ("\\eOD", "ed-prev-char"),
        (rightKey, "ed-next-char"), (initialKey, "moonpool-initial"),
        ("\\t", "moonpool-complete"),
        ("\\e[200~", "moonpool-paste"),
        ("^R", "em-inc-search-prev"), ("^_", "moonpool-undo"),
        ("\\e[H", "moonpool-line-start"), ("\\eOH", "moonpool-line-start"),
        ("\\e[1~", "moonpool-line-start"), ("\\e[F", "moonpool-line-end"),
        ("\\eOF", "moonpool-line-end"), ("\\e[4~", "moonpool-line-end"),
        ("\\e[3~", "ed-delete-next-char"),
        ("\\e[1;5C", "em-next-word"), ("\\e[1;5D", "ed-prev-word"),
        ("\\e[1;3C", "em-next-word"), ("\\e[1;3D", "ed-prev-word"),
        ("^W", "ed-delete-prev-word"),
    ]

    private static let emacsKeys = [
        ("^A", "moonpool-line-start"), ("^E", "moonpool-line-end"),
        ("^P", "moonpool-up"), ("^N", "moonpool-down"), ("^F", "moonpool-right"),
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
            insert("    ")
            return UInt8(CC_REFRESH)
        }
        guard let completion = completer?(before, after), !completion.candidates.isEmpty else {
            return UInt8(CC_REFRESH_BEEP)
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
        takesMarksAsTheyAre = true
        defer { takesMarksAsTheyAre = false }
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

    /// Inserts the combining characters that `readCharacter` has kept.
    func insertMark() -> UInt8 {
        insert(marks)
        marks = ""
        return UInt8(CC_REFRESH)
    }

    func insert(_ text: String) {
        if text.isEmpty { return }
        _ = withWide(text) { el_winsertstr(editor, $0) }
    }
}

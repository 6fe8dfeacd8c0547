import CEdit

extension LineEditor {
    /// The keys: libedit's emacs mode, and what users of other prompts expect beyond it.
    func configureKeys() {
        withWide("emacs") { _ = shim_set_editor(editor, $0) }
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
        for (key, command) in [
            ("^^", "moonpool-mark"),
            ("\\e[A", "moonpool-up"), ("\\eOA", "moonpool-up"), ("^P", "moonpool-up"),
            ("\\e[B", "moonpool-down"), ("\\eOB", "moonpool-down"), ("^N", "moonpool-down"),
            ("\\e^M", "moonpool-line-break"), ("\\e^J", "moonpool-line-break"),
            ("\\e[C", "moonpool-right"), ("\\eOC", "moonpool-right"), ("^F", "moonpool-right"),
            (Self.rightKey, "ed-next-char"), (Self.initialKey, "moonpool-initial"),
            ("\\t", "moonpool-complete"),
            ("\\e[200~", "moonpool-paste"),
            ("^R", "em-inc-search-prev"),
            ("\\e[H", "ed-move-to-beg"), ("\\eOH", "ed-move-to-beg"), ("\\e[1~", "ed-move-to-beg"),
            ("\\e[F", "ed-move-to-end"), ("\\eOF", "ed-move-to-end"), ("\\e[4~", "ed-move-to-end"),
            ("\\e[3~", "ed-delete-next-char"),
            ("\\e[1;5C", "em-next-word"), ("\\e[1;5D", "ed-prev-word"),
            ("\\e[1;3C", "em-next-word"), ("\\e[1;3D", "ed-prev-word"),
            ("^W", "ed-delete-prev-word"), ("\\e^?", "ed-delete-prev-word"),
        ] {
            withWide(key) { key in withWide(command) { _ = shim_bind(editor, key, $0) } }
        }
    }

    /// The tab key: completes what is certain, lists what is not, indents where nothing stands yet.
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

    /// A bracketed paste: its lines become lines of one entry, and nothing runs before the user says so.
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

    /// Combining characters, which `readCharacter` has kept.
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

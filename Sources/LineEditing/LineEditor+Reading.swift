import CEdit

extension LineEditor {
    /// Reads a character for libedit; waits for the terminal and for output that must be shown in the meantime.
    ///
    /// Returns 1 for a character, 0 at the end of input, and -1 if reading ends without a line.
    func readCharacter(into character: UnsafeMutablePointer<wchar_t>) -> Int32 {
        DrawingTurn.give()
        defer { DrawingTurn.take() }
        // libedit has drawn parts of the line without colors.
        var mustPaint = true
        noteForUndo()
        while true {
            // While keys are pending, the line will be drawn again soon.
            if mustPaint, waitingScalar == nil, !Descriptor.hasInput(input) {
                paintLine()
                drawSuggestion()
                mustPaint = false
                isPainted = true
            }
            if TerminalSignals.takeInterrupts() > 0 {
                wasInterrupted = true
                return -1
            }
            let readiness =
                waitingScalar != nil
                ? .first : Descriptor.waitForInput(input, or: output.pipe.readEnd)
            switch readiness {
            case .second:
                output.pipe.drain()
                if showWhatHappened() || currentHint != shownHint { mustPaint = true }
                if mustStop?() == true {
                    wasStopped = true
                    return -1
                }
            case .interrupted, .timeout:
                if showWhatHappened() { mustPaint = true }
            case .first:
                guard let scalar = readKey() else { return 0 }
                eraseSuggestion()
                switch scalar {
                case "\u{3}":
                    wasInterrupted = true
                    return -1
                case "\u{1A}":
                    suspend()
                    mustPaint = true
                // Ctrl-\ is ignored.
                case "\u{1C}": mustPaint = true
                default:
                    wasPainted = isPainted
                    isPainted = false
                    // libedit miscounts the columns if it inserts a combining character itself.
                    if scalar.value >= 0x300, displayWidth(scalar) == 0, !takesMarksAsTheyAre {
                        marks.unicodeScalars.append(scalar)
                        character.pointee = Self.markKey
                    } else {
                        character.pointee = wchar_t(scalar.value)
                    }
                    return 1
                }
            }
        }
    }

    /// The key (Ctrl-^) that libedit receives in place of combining characters.
    private static let markKey: wchar_t = 0x1E

    /// Stops the job with the terminal restored, and draws the line again when the job continues.
    private func suspend() {
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        eraseLine()
        write("\u{1B}[?2004l")
        shim_prepare_terminal(editor, 0)
        suspendJob()
        shim_prepare_terminal(editor, 1)
        write("\u{1B}[?2004h")
        noticeWindowSize()
        shim_refresh(editor)
    }

    /// Shows new output, a new prompt or a new window size; returns whether the line was drawn again.
    private func showWhatHappened() -> Bool {
        DrawingTurn.take()
        defer { DrawingTurn.give() }
        let bytes = output.takePending()
        let wasResized = noticeWindowSize()
        let newPrompt = currentPrompt?()
        let hasNewPrompt = newPrompt != nil && newPrompt != prompt
        guard !bytes.isEmpty || wasResized || hasNewPrompt else { return false }
        if !bytes.isEmpty || wasResized { interjections += 1 }
        interject(bytes, newPrompt: hasNewPrompt ? newPrompt : nil)
        return true
    }

    /// Reads a character; in vi mode, the first two characters of a function key's sequence become one.
    ///
    /// The Escape key sends the same first character, but no other character follows within 40 ms.
    private func readKey() -> Unicode.Scalar? {
        if let scalar = waitingScalar {
            waitingScalar = nil
            return scalar
        }
        let scalar = readScalar()
        guard usesViKeys, !takesMarksAsTheyAre, scalar == "\u{1B}",
            Descriptor.hasInput(input, milliseconds: Self.escapePatience), let next = readScalar()
        else { return scalar }
        switch next {
        case "[": return "\u{9B}"
        case "O": return "\u{8F}"
        default:
            waitingScalar = next
            return scalar
        }
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

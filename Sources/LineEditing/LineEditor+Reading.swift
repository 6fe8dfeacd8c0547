import CEdit

extension LineEditor {
    /// Reads a character for libedit; waits for the terminal and for output that must be shown in the meantime.
    ///
    /// Returns 1 for a character, 0 at the end of input, and -1 if reading ends without a line.
    func readCharacter(into character: UnsafeMutablePointer<wchar_t>) -> Int32 {
        DrawingTurn.give()
        defer { DrawingTurn.take() }
        noteForUndo()
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
        suspendJob()
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
            bytes.withUnsafeBytes { Descriptor.write(descriptor, $0) }
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

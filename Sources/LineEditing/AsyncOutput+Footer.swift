extension AsyncOutput {
    /// Draws lines below all printed output, in place of the previous footer; an empty array removes the footer.
    ///
    /// Usable on any thread while no line is being edited. Each line must fit the window; a longer one would wrap, so
    /// that the footer could not be erased. Truncate lines before adding colors, whose escape sequences count as
    /// characters.
    package func setFooter(_ lines: [String]) {
        state.withLock { state in
            guard !state.isEditing else { return }
            var text = Self.erasing(state.footer)
            if !lines.isEmpty, !state.endsInLine {
                text += "\r\n"
                state.endsInLine = true
            }
            state.footer = lines
            text += Self.drawing(lines)
            send(Array(text.utf8))
        }
    }

    /// Makes the footer a part of the printed output.
    package func keepFooter() { state.withLock { $0.footer = [] } }

    /// Prints bytes above the footer.
    func send(_ bytes: [UInt8], above state: inout State) {
        if state.footer.isEmpty { return send(bytes) }
        // An unfinished line is ended, because the footer would be drawn into it.
        let end = state.endsInLine ? "" : "\n"
        state.endsInLine = true
        send(
            Array(Self.erasing(state.footer).utf8) + bytes
                + Array((end + Self.drawing(state.footer)).utf8))
    }

    private func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { Descriptor.write(descriptor, $0) }
    }

    private static func drawing(_ lines: [String]) -> String {
        lines.map { $0 + "\n" }.joined()
    }

    private static func erasing(_ lines: [String]) -> String {
        lines.isEmpty ? "" : "\u{1B}[\(lines.count)A\r\u{1B}[J"
    }
}

extension AsyncOutput {
    /// Draws lines below everything that is printed, in place of the last ones; none takes them away.
    ///
    /// Any thread, while no line is being typed. A line wider than the window is cut, because its rows could not be
    /// found again otherwise. Escape sequences of colors count as characters, so cut lines with colors before.
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

    /// Leaves the footer on the screen as text that was printed.
    package func keepFooter() { state.withLock { $0.footer = [] } }

    /// Prints above the footer.
    func send(_ bytes: [UInt8], above state: inout State) {
        if state.footer.isEmpty { return send(bytes) }
        // What is below would be drawn into an unfinished line.
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

import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A key in a panel.
package enum PanelKey: Sendable, Equatable {
    case up, down, left, right, pageUp, pageDown, home, end, enter, escape
    /// Ctrl-C, or Ctrl-D.
    case interrupt
    case character(Character)
}

/// The content of a panel.
package struct PanelFrame: Sendable, Equatable {
    /// The lines, which can contain color sequences and must fit the window.
    package var lines: [String]
    /// Whether the panel is closed; its lines then stay on the screen as printed text.
    package var isOver: Bool

    /// Creates a frame.
    package init(lines: [String], isOver: Bool = false) {
        self.lines = lines
        self.isOver = isOver
    }
}

/// Shows lines that are redrawn in place and reads single keys, while other threads continue printing above them.
///
/// Thread: the thread that edits lines, between lines.
package enum PanelTerminal {
    /// Runs a panel until its frame is over or the input ends.
    ///
    /// `frame` is called when the output's pipe is woken and returns nil until there is a frame. `press` receives each
    /// key, and `resize` is called when the size of the window has changed. While `isAnswered` returns false, the next
    /// key waits for at most 300 ms, because the user may have intended it for the prompt after the panel.
    package static func run(
        _ output: AsyncOutput, input: Int32 = 0, frame: () -> PanelFrame?,
        press: (PanelKey) -> Void, isAnswered: () -> Bool, resize: () -> Void
    ) {
        guard let saved = makeRaw(input) else { return }
        output.beginLine()
        var shown: [String] = []
        var hasWaited = false
        var window = Descriptor.windowSize(output.descriptor)
        write("\u{1B}[?25l", output)
        defer {
            write("\u{1B}[?25h", output)
            var saved = saved
            tcsetattr(input, TCSADRAIN, &saved)
            output.endEditing()
        }
        while true {
            let size = Descriptor.windowSize(output.descriptor)
            if size?.columns != window?.columns || size?.rows != window?.rows {
                window = size
                resize()
            }
            if TerminalSignals.takeInterrupts() > 0 { press(.interrupt) }
            let pending = output.takePending()
            if let next = frame(), next.lines != shown || !pending.isEmpty || next.isOver {
                draw(next.lines, over: shown, above: pending, output)
                shown = next.lines
                if next.isOver { return }
            } else if !pending.isEmpty {
                draw(shown, over: shown, above: pending, output)
            }
            let waitsForAnswer = !isAnswered() && !hasWaited
            hasWaited = false
            switch Descriptor.waitForInput(
                waitsForAnswer ? nil : input, or: output.pipe.readEnd,
                milliseconds: waitsForAnswer ? patience : nil)
            {
            case .second: output.pipe.drain()
            case .interrupted: break
            case .timeout: hasWaited = true
            case .first:
                guard let key = readKey(input) else { return }
                press(key)
            }
        }
    }

    /// The maximum time in milliseconds that a key waits for the answer to the previous one.
    private static let patience = 300

    private static func draw(
        _ lines: [String], over shown: [String], above pending: [UInt8], _ output: AsyncOutput
    ) {
        var text = shown.isEmpty ? "" : "\u{1B}[\(shown.count)A\r"
        if !pending.isEmpty { text += "\u{1B}[J" + String(decoding: pending, as: UTF8.self) }
        for line in lines { text += line + "\u{1B}[K\n" }
        text += "\u{1B}[J"
        write(text, output)
    }

    private static func write(_ text: String, _ output: AsyncOutput) {
        Descriptor.write(output.descriptor, Array(text.utf8))
    }

    /// Makes the terminal deliver every key immediately, including Ctrl-C; returns the previous settings, or nil
    /// without a terminal.
    private static func makeRaw(_ input: Int32) -> termios? {
        var settings = termios()
        guard tcgetattr(input, &settings) == 0 else { return nil }
        let saved = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        settings.c_iflag &= ~tcflag_t(ICRNL | IXON)
        tcsetattr(input, TCSADRAIN, &settings)
        return saved
    }

    private static func readKey(_ input: Int32) -> PanelKey? {
        guard let byte = Descriptor.readByte(input) else { return nil }
        switch byte {
        case 0x03, 0x04: return .interrupt
        case 0x0A, 0x0D: return .enter
        case 0x1B: return readSequence(input)
        case 0x10: return .up
        case 0x0E: return .down
        case 0x20..<0x7F: return .character(Character(Unicode.Scalar(byte)))
        default: return .character("\u{FFFD}")
        }
    }

    private static func readSequence(_ input: Int32) -> PanelKey? {
        guard Descriptor.waitForInput(input, or: -1, milliseconds: 30) == .first,
            let next = Descriptor.readByte(input)
        else { return .escape }
        guard next == UInt8(ascii: "[") || next == UInt8(ascii: "O") else { return .escape }
        var digits = ""
        while let byte = Descriptor.readByte(input) {
            if (0x30...0x3B).contains(byte) {
                digits.unicodeScalars.append(Unicode.Scalar(byte))
                continue
            }
            return switch (byte, digits) {
            case (UInt8(ascii: "A"), _): .up
            case (UInt8(ascii: "B"), _): .down
            case (UInt8(ascii: "C"), _): .right
            case (UInt8(ascii: "D"), _): .left
            case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"): .home
            case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"): .end
            case (UInt8(ascii: "~"), "5"): .pageUp
            case (UInt8(ascii: "~"), "6"): .pageDown
            default: .character("\u{FFFD}")
            }
        }
        return nil
    }
}

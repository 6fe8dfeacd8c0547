import Foundation
import LineEditing
import Synchronization
import TestSupport

/// An editor on its own thread, and its terminal.
///
/// The test types keys and reads the entered lines.
///
/// Ends when the terminal has sent Ctrl-D, or at the end of the test.
final class EditingSession {
    let terminal: PseudoTerminal
    let output: AsyncOutput
    private let record = Record()

    private final class Record: Sendable {
        let answers = Mutex<[LineInput]>([])
        let ended = DispatchSemaphore(value: 0)
    }

    init(
        columns: Int = 40, rows: Int = 10, history: String? = nil, prompt: String = "> ",
        completer: (@Sendable (String, String) -> Completion?)? = nil,
        painter: (@Sendable (String) -> [ColoredRun])? = nil, keyBindings: String? = nil
    ) throws {
        setenv("TERM", "xterm", 1)
        let terminal = try PseudoTerminal(columns: columns, rows: rows)
        let descriptor = terminal.descriptor
        guard let output = AsyncOutput(descriptor: descriptor) else {
            throw PseudoTerminal.Timeout(description: "no pipe")
        }
        self.terminal = terminal
        self.output = output
        let thread = Thread { [record] in
            defer { record.ended.signal() }
            guard
                let editor = LineEditor(
                    input: descriptor, descriptor: descriptor, output: output,
                    history: EditHistory(file: history), keyBindings: keyBindings)
            else { return }
            editor.completer = completer
            editor.painter = painter
            while true {
                let line = editor.readLine(prompt: prompt)
                if case .line(let text) = line { editor.remember(text) }
                record.answers.withLock { $0.append(line) }
                if line == .endOfInput { return }
            }
        }
        thread.start()
        // The lines of a screen have no trailing spaces.
        try terminal.wait(forText: LineEditor.visible(prompt).trimmingCharacters(in: .whitespaces))
    }

    /// Types keys, waits for the expected number of lines, and returns the last one.
    func answer(_ keys: String, number: Int) throws -> LineInput? {
        try type(keys)
        try terminal.wait(for: "answer \(number)") { _ in
            record.answers.withLock { $0.count } >= number
        }
        return record.answers.withLock { $0[number - 1] }
    }

    /// Types keys when the editor reads.
    func type(_ keys: String) throws {
        try waitForPrompt()
        terminal.type(keys)
    }

    /// Waits until the next keys reach the editor; between lines, the terminal itself would process them.
    ///
    /// Queries the mode of the terminal, because the screen may still show the prompt of the previous line.
    func waitForPrompt() throws {
        try terminal.wait(for: "the prompt") { [terminal] in
            $0.isBracketingPastes && terminal.readsSingleKeys
        }
    }

    /// Leaves the editor, so that its thread ends.
    func end() throws {
        try waitForPrompt()
        // Entries may have been interrupted before, and earlier keys may still give answers.
        let count = record.answers.withLock { $0.count }
        terminal.type(PseudoTerminal.Key.interrupt)
        try terminal.wait(for: "the interrupt") { _ in
            record.answers.withLock { $0.dropFirst(count).contains(.interrupted) }
        }
        try type(PseudoTerminal.Key.end)
        try terminal.wait(for: "the end") { _ in
            record.answers.withLock { $0.last == .endOfInput }
        }
        record.ended.wait()
    }
}

import EventLoops
import LineEditing
import Synchronization
import SystemCalls

/// Records a session as text that `moonpool transcript` runs again.
///
/// Writes output as it arrives. If the file cannot be written, the recording ends.
final class TranscriptRecorder: SessionRecorder {
    private struct State {
        var text: String
        var unfinished = ""
        var entries = 0
        var failure: String?
    }

    let path: String
    private let state: Mutex<State>

    private static let buffered = 16 << 10

    /// Creates the file; throws if it cannot be written.
    init(_ path: String, columns: Int, firstEntry: Int = 1) throws {
        self.path = FileNames.expanded(path)
        state = Mutex(State(text: ""))
        let header = TranscriptText.header(columns: columns, firstEntry: firstEntry)
        if let message = ProcessServices.write(header, to: self.path) {
            throw CommandError("cannot write \(path): \(message)")
        }
    }

    deinit { _ = end() }

    func save() { state.withLock { save(&$0) } }

    func typed(_ entry: String, prompt: String) {
        state.withLock { state in
            endLine(&state)
            state.entries += 1
            state.text += TranscriptText.text(ofEntry: entry)
            save(&state)
        }
    }

    func shown(_ text: String) {
        state.withLock { state in
            state.unfinished += TerminalText.plain(text)
            let lines = state.unfinished.split(separator: "\n", omittingEmptySubsequences: false)
            for line in lines.dropLast() { add(line, &state) }
            state.unfinished = lines.last.map(String.init) ?? ""
            if state.text.utf8.count > Self.buffered { save(&state) }
        }
    }

    func end() -> Result<Int, CommandError> {
        state.withLock { state in
            endLine(&state)
            save(&state)
            return state.failure.map { .failure(CommandError("cannot write \(path): \($0)")) }
                ?? .success(state.entries)
        }
    }

    private func endLine(_ state: inout State) {
        if !state.unfinished.isEmpty { add(state.unfinished, &state) }
        state.unfinished = ""
    }

    private func add(_ line: some StringProtocol, _ state: inout State) {
        state.text += TranscriptText.text(ofShown: line) + "\n"
    }

    private func save(_ state: inout State) {
        if state.failure == nil, !state.text.isEmpty {
            state.failure = ProcessServices.write(state.text, to: path, appending: true)
        }
        state.text = ""
    }
}

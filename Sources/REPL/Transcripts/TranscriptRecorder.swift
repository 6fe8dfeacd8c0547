import EventLoops
import LineEditing
import Synchronization

/// Writes what is typed and shown into a file, as it comes.
///
/// Any thread. A file that cannot be written any more ends the recording.
final class TranscriptRecorder: Sendable {
    private struct State {
        var text: String
        var unfinished = ""
        var entries = 0
        var failure: String?
    }

    /// The file.
    let path: String
    private let state: Mutex<State>

    private static let buffered = 16 << 10

    /// Begins the file; throws what the system says.
    init(_ path: String, columns: Int, firstEntry: Int = 1) throws {
        self.path = FileNames.expanded(path)
        state = Mutex(State(text: ""))
        let header = TranscriptText.header(columns: columns, firstEntry: firstEntry)
        if let message = ProcessServices.write(header, to: self.path) {
            throw CommandError("cannot write \(path): \(message)")
        }
    }

    deinit { _ = end() }

    /// Writes what is kept so far.
    func save() { state.withLock { save(&$0) } }

    /// An entry is about to be run.
    func typed(_ entry: String) {
        state.withLock { state in
            endLine(&state)
            state.entries += 1
            state.text += TranscriptText.text(ofEntry: entry)
            save(&state)
        }
    }

    /// Something was shown.
    func shown(_ text: String) {
        state.withLock { state in
            state.unfinished += TerminalText.plain(text)
            let lines = state.unfinished.split(separator: "\n", omittingEmptySubsequences: false)
            for line in lines.dropLast() { add(line, &state) }
            state.unfinished = lines.last.map(String.init) ?? ""
            if state.text.utf8.count > Self.buffered { save(&state) }
        }
    }

    /// Ends the file; how many entries are in it, or what went wrong.
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

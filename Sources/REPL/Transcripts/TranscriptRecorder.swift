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

/// Receives the entries and the output of a session.
///
/// Usable on any thread.
protocol SessionRecorder: Sendable {
    /// The path of the recording.
    var path: String { get }

    /// Records an entry before it runs; `prompt` includes its color sequences.
    func typed(_ entry: String, prompt: String)

    /// Records output, with its control sequences.
    func shown(_ text: String)

    /// Writes the recording so far to the file.
    func save()

    /// Ends the recording; returns the number of entries, or the reason for a failure.
    func end() -> Result<Int, CommandError>
}

/// Records a session as a picture: prompts, entries with their syntax colors, and output.
///
/// Writes the whole file at each `save`. For a long session, keeps only the last lines.
final class PictureRecorder: SessionRecorder {
    private struct State {
        var text = ""
        var entries = 0
        var failure: String?
        var isSaved = true
    }

    let path: String
    private let format: PictureFormat
    private let style: Style
    private let columns: Int
    private let state = Mutex(State())

    private static let maxBytes = 1 << 20

    /// Creates the file; throws if it cannot be written.
    init(_ path: String, _ format: PictureFormat, style: Style, columns: Int) throws {
        self.path = FileNames.expanded(path)
        self.format = format
        self.style = style
        self.columns = columns
        if let message = ProcessServices.write("", to: self.path) {
            throw CommandError("cannot write '\(path)': \(message)")
        }
    }

    deinit { _ = end() }

    func typed(_ entry: String, prompt: String) {
        let indent = String(
            repeating: " ", count: max(0, TerminalText.width(TerminalText.plain(prompt)) - 3))
        var unfinished = ""
        var text = ""
        for line in entry.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        {
            text += unfinished.isEmpty ? prompt : indent + ">> "
            text += colored(line, after: unfinished) + "\n"
            unfinished += (unfinished.isEmpty ? "" : "\n") + line
        }
        state.withLock { state in
            if !state.text.isEmpty, !state.text.hasSuffix("\n") { state.text += "\n" }
            state.entries += 1
            state.isSaved = false
            state.text += text
        }
    }

    private func colored(_ line: String, after unfinished: String) -> String {
        guard style.isColored else { return line }
        var scalars = line.unicodeScalars[...]
        var text = ""
        for run in EntryColors(style: style).runs(of: line, after: unfinished) {
            let part = String(String.UnicodeScalarView(scalars.prefix(run.length)))
            scalars = scalars.dropFirst(run.length)
            text += run.code.map { "\u{1B}[\($0)m\(part)\u{1B}[0m" } ?? part
        }
        return text + String(String.UnicodeScalarView(scalars))
    }

    func shown(_ text: String) {
        state.withLock { state in
            state.text += text
            state.isSaved = false
            if state.text.utf8.count > Self.maxBytes * 2 { Self.shorten(&state.text) }
        }
    }

    private static func shorten(_ text: inout String) {
        let tail = text.utf8.suffix(maxBytes)
        let start = tail.firstIndex(of: UInt8(ascii: "\n")) ?? tail.startIndex
        text = "…" + String(text[start...])
    }

    func save() { state.withLock { save(&$0) } }

    func end() -> Result<Int, CommandError> {
        state.withLock { state in
            save(&state)
            return state.failure.map { .failure(CommandError("cannot write '\(path)': \($0)")) }
                ?? .success(state.entries)
        }
    }

    private func save(_ state: inout State) {
        guard state.failure == nil, !state.isSaved else { return }
        state.isSaved = true
        let picture = TerminalPicture(text: state.text, columns: columns)
        state.failure = ProcessServices.write(picture.document(format), to: path)
    }
}

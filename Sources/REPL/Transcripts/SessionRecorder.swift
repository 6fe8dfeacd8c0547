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

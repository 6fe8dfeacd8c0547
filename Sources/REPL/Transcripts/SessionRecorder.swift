/// Receives what is typed and shown in a session.
///
/// Any thread.
protocol SessionRecorder: Sendable {
    /// The file that is written.
    var path: String { get }

    /// Records an entry before it runs; `prompt` has its colors.
    func typed(_ entry: String, prompt: String)

    /// Records shown text, with its control sequences.
    func shown(_ text: String)

    /// Writes what is recorded so far.
    func save()

    /// Ends the recording; returns the number of entries, or the reason for a failure.
    func end() -> Result<Int, CommandError>
}

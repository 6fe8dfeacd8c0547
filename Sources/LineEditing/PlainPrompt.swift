/// A prompt for terminals that cannot move the cursor: the terminal itself edits the line.
package final class PlainPrompt {
    private let output: AsyncOutput
    private let reader = PlainLineReader()

    /// Reads from standard input.
    package init(output: AsyncOutput) { self.output = output }

    /// Shows the prompt on its own line and returns the next line.
    package func readLine(prompt: String) -> LineInput {
        output.finishLine()
        // The echo of a line that was typed before the prompt is above the prompt and does not end its line.
        let wasTypedAhead = reader.hasWaitingLine
        output.write(LineEditor.visible(prompt))
        let line = readLine()
        if line != .endOfInput, TerminalEnvironment.hasTerminalOutput, !wasTypedAhead {
            output.noteEchoedLine()
        }
        return line
    }

    /// Returns the next line without a prompt.
    package func readLine() -> LineInput {
        reader.readLine().map { .line(String(decoding: $0, as: UTF8.self)) } ?? .endOfInput
    }
}

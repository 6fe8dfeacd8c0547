import EventLoops
import LineEditing
import SystemCalls

/// Sends the session's output to the screen, a file, or the pager.
///
/// Thread: the script's thread.
final class ResultScreen {
    private let output: SessionOutput
    /// The file that receives results; nil for the screen.
    private(set) var file: String?
    /// Whether the file is for one entry only.
    private var isOnce = false
    /// Whether the entry has written to the file.
    private var hasWritten = false
    /// The format of the file if it is a picture; nil for text.
    private var picture: PictureFormat?
    /// The text of the picture, with its colors.
    private var pictureText = ""
    /// The SVG document that replaces the text of the picture.
    private var drawing: String?
    /// The shell command that receives the next results.
    private var command: String?
    /// Receives a text that goes to the pager instead of the screen.
    var didPage: (String) -> Void = { _ in }
    private var page: String?
    /// A text that is longer than the window, for the terminal thread to show in the pager.
    private var waitingPage: (text: String, command: String?)?
    private var waitingCommand: String?

    /// The maximum number of bytes for the pager; longer output is printed directly.
    private static let longestPage = 4 << 20

    init(_ output: SessionOutput) { self.output = output }

    /// Whether results go to a file or a command instead of the screen.
    var isRedirected: Bool { file != nil || command != nil }

    /// Whether the output becomes a picture.
    var isPicture: Bool { picture != nil }

    /// Whether a picture has a file for one entry, and a file or a command receives results.
    private var isConsistent: Bool {
        (picture == nil || file != nil && isOnce) && (command == nil || file == nil)
    }

    /// Writes the output of an entry: results, and the output of commands.
    func write(_ text: String) {
        if let file {
            hasWritten = true
            assert(isConsistent, "results have one destination")
            if picture != nil {
                pictureText += text
            } else if let message = ProcessServices.write(text, to: file, appending: true) {
                self.file = nil
                output.write(
                    "cannot write \(file): \(message); the rest of the output is printed here\n")
                output.write(text)
            }
        } else {
            add(text)
        }
    }

    /// Writes text that always goes to the screen: errors, and the confirmation that a file was written.
    func writeToScreen(_ text: String) {
        if command == nil, waitingCommand == nil { add(text) } else { output.write(text) }
    }

    /// Adds a text to the page, or shows it.
    private func add(_ text: String) {
        guard page != nil else { return output.write(text) }
        page? += text
        if command == nil, let long = page, long.utf8.count > Self.longestPage {
            page = nil
            output.write(long)
        }
    }

    func finishLine() { if page == nil { output.finishLine() } }

    // MARK: - Files

    /// Redirects output to a file, which is overwritten, or back to the screen.
    ///
    /// With `isOnce`, the redirection ends after the next entry that shows something. A file whose name ends in `.svg`
    /// or `.html` becomes a picture of that entry.
    func redirect(to path: String?, isOnce: Bool = false) throws {
        file = nil
        command = nil
        (picture, drawing, pictureText, hasWritten) = (nil, nil, "", false)
        guard let path else { return }
        let format = PictureFormat(path: path)
        if format != nil, !isOnce {
            throw CommandError(
                "a picture shows one result: use .once \(path), or .transcript \(path) for the session"
            )
        }
        if path.hasPrefix("|") {
            guard isOnce, output.hasPrograms else {
                throw CommandError("piping a result to a program requires .once at a terminal")
            }
            command = String(path.dropFirst())
            return
        }
        let full = FileNames.expanded(path)
        if let message = ProcessServices.write("", to: full) {
            throw CommandError("cannot write \(path): \(message)")
        }
        file = full
        picture = format
        self.isOnce = isOnce
        assert(isConsistent, "a picture has a file for one entry")
    }

    /// Replaces the text of the picture with an SVG document.
    func draw(_ document: String) {
        hasWritten = true
        drawing = document
    }

    /// Ends a redirection with `isOnce` after an entry that has shown results.
    func endOnce() {
        waitingCommand = command
        command = nil
    }

    /// Ends the redirection of one entry if it has shown something, and writes its picture.
    func endEntry(columns: Int) {
        guard isOnce, hasWritten, let file else { return }
        self.file = nil
        guard let picture else { return }
        let document =
            switch (drawing, picture) {
            case (let drawing?, .svg): drawing
            case (let drawing?, .html): TerminalPicture.page(drawing)
            case (nil, _):
                TerminalPicture(text: Style.rendered(pictureText), columns: columns)
                    .document(picture)
            }
        (self.picture, drawing, pictureText) = (nil, nil, "")
        assert(isConsistent, "a picture ends with its file")
        if let message = ProcessServices.write(document, to: file) {
            output.write("cannot write '\(file)': \(message)\n")
        }
    }

    // MARK: - Pages

    /// Collects output until `endPage`, because it may be longer than the window.
    func beginPage() {
        if output.hasPrograms, file == nil, page == nil { page = "" }
    }

    /// Shows the collected output, or keeps it for the pager.
    func endPage(window: (columns: Int, rows: Int)) {
        guard let text = page else { return }
        page = nil
        defer { waitingCommand = nil }
        if waitingCommand != nil
            || Self.rows(of: text, columns: window.columns) >= window.rows - 1
        {
            let rendered = waitingCommand == nil ? Style.rendered(text) : text
            waitingPage = (rendered, waitingCommand)
            if waitingCommand == nil { didPage(rendered) }
        } else {
            output.write(text)
        }
    }

    /// Returns the text that waits for the pager, and clears it.
    func takePage() -> (text: String, command: String?)? {
        defer { waitingPage = nil }
        return waitingPage
    }

    private static func rows(of text: String, columns: Int) -> Int {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return lines.reduce(0) { sum, line in
            // A line with at most as many bytes as the window has columns takes one row, for all characters.
            if line.utf8.count <= columns { return sum + 1 }
            let width = TerminalText.width(TerminalText.plain(String(line)))
            return sum + max(1, (width + columns - 1) / max(columns, 1))
        }
    }
}

/// The destination of a session's text, and the capabilities of its terminal.
package struct SessionOutput: Sendable {
    /// Shows a text, in order: the only way of the session's text to the screen.
    package let write: @Sendable (String) -> Void
    /// Ends a line that a script has left unfinished, so that the next text starts a new line.
    package var finishLine: @Sendable () -> Void
    /// Sets the prefix of each line that the session's thread prints from now on; empty for none.
    package var label: @Sendable (String) -> Void
    /// Draws lines below everything else and replaces the previous ones; nil if the output cannot be redrawn in place.
    package var footer: (@Sendable ([String]) -> Void)?
    /// Keeps the lines drawn in place on the screen permanently.
    package var keepFooter: @Sendable () -> Void
    /// Copies all output, of every thread, to a function; nil stops it.
    package var tap: @Sendable ((@Sendable (String) -> Void)?) -> Void
    /// Returns the current size of the window; nil if the size never changes.
    package var window: @Sendable () -> (columns: Int, rows: Int)?
    /// Whether long texts can be shown in a pager and entries opened in an editor.
    package var hasPrograms: Bool
    /// Whether a panel can replace the prompt.
    package var hasPanels = false
    /// Whether results have labels with their numbers.
    package var labelsResults = false
    /// Asks the user and passes the answer to the handler, or nil after Ctrl-C; nil if the output cannot ask.
    ///
    /// Calls the handler on another thread.
    package var ask:
        (@Sendable (_ question: String, _ answered: @escaping @Sendable (String?) -> Void) -> Void)?

    /// Creates an output.
    package init(
        write: @escaping @Sendable (String) -> Void,
        finishLine: @escaping @Sendable () -> Void = {},
        label: @escaping @Sendable (String) -> Void = { _ in },
        footer: (@Sendable ([String]) -> Void)? = nil,
        keepFooter: @escaping @Sendable () -> Void = {},
        tap: @escaping @Sendable ((@Sendable (String) -> Void)?) -> Void = { _ in },
        window: @escaping @Sendable () -> (columns: Int, rows: Int)? = { nil },
        hasPrograms: Bool = false
    ) {
        self.write = { write(Style.rendered($0)) }
        self.finishLine = finishLine
        self.label = label
        self.footer = footer
        self.keepFooter = keepFooter
        self.tap = tap
        self.window = window
        self.hasPrograms = hasPrograms
    }
}

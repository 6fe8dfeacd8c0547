import EventLoops
import LineEditing

/// Sends the session's output to the screen, a file, or the pager.
///
/// On the script's thread.
final class ResultScreen {
    private let output: SessionOutput
    /// The file that results go to; nil for the screen.
    private(set) var file: String?
    /// Whether the file is for one entry only.
    private var isOnce = false
    /// Whether the entry has written to the file.
    private var hasWritten = false
    /// The format of the picture that the file becomes; nil for text.
    private var picture: PictureFormat?
    /// The text of the picture, with its colors.
    private var pictureText = ""
    /// The document that replaces the text of the picture.
    private var drawing: String?
    /// The program that the next results go to.
    private var command: String?
    /// Gets a text that goes to the pager instead of the screen.
    var didPage: (String) -> Void = { _ in }
    private var page: String?
    /// A text that is too long for the window, for the thread that edits lines.
    private var waitingPage: (text: String, command: String?)?
    private var waitingCommand: String?

    /// A longer output is printed directly: it is too long to read in a pager.
    private static let longestPage = 4 << 20

    init(_ output: SessionOutput) { self.output = output }

    /// Whether results go elsewhere than to the screen.
    var isRedirected: Bool { file != nil || command != nil }

    /// Whether results become a picture.
    var isPicture: Bool { picture != nil }

    /// Shows text of an entry: results and what commands answer.
    func write(_ text: String) {
        if let file {
            hasWritten = true
            if picture != nil {
                pictureText += text
            } else if let message = ProcessServices.write(text, to: file, appending: true) {
                self.file = nil
                output.write(
                    "cannot write \(file): \(message); the rest of the output is printed here\n")
                output.write(text)
            }
        } else {
            writeToScreen(text)
        }
    }

    /// Shows what is not for the file: errors, and what says that a file is written.
    func writeToScreen(_ text: String) {
        guard page != nil else { return output.write(text) }
        page? += text
        if command == nil, let long = page, long.utf8.count > Self.longestPage {
            page = nil
            output.write(long)
        }
    }

    func finishLine() { if page == nil { output.finishLine() } }

    // MARK: - Files

    /// Sends what is shown to a file from now on, or back to the screen; what is there already is replaced.
    ///
    /// With `isOnce`, until the end of the next entry that shows something. A file whose name ends in `.svg` or `.html`
    /// becomes a picture of that entry.
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
                throw CommandError("only .once at a terminal gives a result to a program")
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
    }

    /// Replaces the text of the picture by an SVG document.
    func draw(_ document: String) {
        hasWritten = true
        drawing = document
    }

    /// An entry that has shown results has ended.
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
            case (nil, _): TerminalPicture(text: pictureText, columns: columns).document(picture)
            }
        (self.picture, drawing, pictureText) = (nil, nil, "")
        if let message = ProcessServices.write(document, to: file) {
            output.write("cannot write '\(file)': \(message)\n")
        }
    }

    // MARK: - Pages

    /// Collects what is written until `endPage`: it may be too long for the window.
    func beginPage() {
        if output.hasPrograms, file == nil, page == nil { page = "" }
    }

    /// Shows what was collected, or keeps it for the pager.
    func endPage(window: (columns: Int, rows: Int)) {
        guard let text = page else { return }
        page = nil
        defer { waitingCommand = nil }
        if waitingCommand != nil
            || Self.rows(of: text, columns: window.columns) >= window.rows - 1
        {
            waitingPage = (text, waitingCommand)
            if waitingCommand == nil { didPage(text) }
        } else {
            output.write(text)
        }
    }

    /// The text that waits for the pager, once.
    func takePage() -> (text: String, command: String?)? {
        defer { waitingPage = nil }
        return waitingPage
    }

    private static func rows(of text: String, columns: Int) -> Int {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return lines.reduce(0) { sum, line in
            // A line that is no longer than the window in bytes takes one row, whatever is in it.
            if line.utf8.count <= columns { return sum + 1 }
            let width = TerminalText.width(TerminalText.plain(String(line)))
            return sum + max(1, (width + columns - 1) / max(columns, 1))
        }
    }
}

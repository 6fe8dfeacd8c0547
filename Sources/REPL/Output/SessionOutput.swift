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

/// The destination of a session's text, and the capabilities of the terminal there.
package struct SessionOutput: Sendable {
    /// Gets everything that is to be seen, in order.
    package var write: @Sendable (String) -> Void
    /// Ends a line that a script has left unfinished, so that what follows begins one.
    package var finishLine: @Sendable () -> Void
    /// Sets the text that begins each line that the session's thread prints from here on; none if empty.
    package var label: @Sendable (String) -> Void
    /// Draws lines in place of the last ones, below everything else; nil where nothing can be drawn in place.
    package var footer: (@Sendable ([String]) -> Void)?
    /// Leaves what was drawn in place on the screen.
    package var keepFooter: @Sendable () -> Void
    /// Hands all that is printed, by whomever, to a function as well; nil ends that.
    package var tap: @Sendable ((@Sendable (String) -> Void)?) -> Void
    /// The window as it is now; nil where it does not change.
    package var window: @Sendable () -> (columns: Int, rows: Int)?
    /// Whether long texts can be left to a pager and entries to an editor.
    package var hasPrograms: Bool
    /// Whether panels can take the place of the prompt.
    package var hasPanels = false
    /// Whether results are followed by their numbers.
    package var labelsResults = false
    /// Asks the user and passes on the answer, or nil if the user has pressed Ctrl-C; nil where nothing can be asked.
    ///
    /// Calls the handler on another thread.
    package var ask:
        (@Sendable (_ question: String, _ answered: @escaping @Sendable (String?) -> Void) -> Void)?

    /// Makes an output.
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
        self.write = write
        self.finishLine = finishLine
        self.label = label
        self.footer = footer
        self.keepFooter = keepFooter
        self.tap = tap
        self.window = window
        self.hasPrograms = hasPrograms
    }
}

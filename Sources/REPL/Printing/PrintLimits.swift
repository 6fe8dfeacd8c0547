/// How much of a value is shown.
package struct PrintLimits: Sendable, Equatable {
    /// How deep tables are opened.
    package var depth: Int
    /// How many items of one table are shown.
    package var items: Int
    /// How many characters of one string are shown.
    package var string: Int
    /// How many rows of a table of objects are shown.
    package var rows: Int
    /// The window's width.
    package var columns: Int
    /// How many bytes the whole text takes, about: what a table inside of tables may be shown again and again.
    package var bytes: Int

    /// Creates limits that fit into a window, for the first view of a value.
    package init(
        depth: Int = 6, items: Int = 60, string: Int = 400, rows: Int = 20, columns: Int = 80,
        bytes: Int = 256 << 10
    ) {
        self.depth = depth
        self.items = items
        self.string = string
        self.rows = rows
        self.columns = columns
        self.bytes = bytes
    }

    /// Everything, within reason: `.last`.
    package func generous() -> PrintLimits {
        PrintLimits(
            depth: 16, items: 10_000, string: 100_000, rows: 10_000, columns: columns,
            bytes: 8 << 20)
    }
}

/// Limits on the printed text of a value.
package struct PrintLimits: Sendable, Equatable {
    /// The maximum depth of nested tables.
    package var depth: Int
    /// The maximum number of items of one table.
    package var items: Int
    /// The maximum number of characters of one string.
    package var string: Int
    /// The maximum number of rows in a table of objects.
    package var rows: Int
    /// The width of the window, in columns.
    package var columns: Int
    /// The approximate maximum size of the text in bytes; limits tables that contain the same table repeatedly.
    package var bytes: Int

    /// Creates limits that fit into a window, for the first output of a value.
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

    /// Returns much higher limits, for `.last`.
    package func generous() -> PrintLimits {
        PrintLimits(
            depth: 16, items: 10_000, string: 100_000, rows: 10_000, columns: columns,
            bytes: 8 << 20)
    }
}

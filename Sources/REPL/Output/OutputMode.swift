/// How results are written.
enum OutputMode: String, CaseIterable, Sendable {
    /// For reading: objects as tables that fit the window.
    case table
    /// One JSON value, its rows on a line each.
    case json
    /// A line of JSON for each row.
    case jsonl
    /// A header and a record for each row.
    case csv
    /// A line for each property, an empty line between rows.
    case line
    /// A table that Lua reads.
    case lua
    /// A table of Markdown.
    case markdown
}

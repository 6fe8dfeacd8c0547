/// The format of results.
enum OutputMode: String, CaseIterable, Sendable {
    /// Tables of objects that fit the window.
    case table
    /// One JSON value, with each row on its own line.
    case json
    /// One line of JSON for each row.
    case jsonl
    /// A header and a record for each row.
    case csv
    /// A line for each property, with an empty line between rows.
    case line
    /// A Lua table constructor.
    case lua
    /// A Markdown table.
    case markdown
}

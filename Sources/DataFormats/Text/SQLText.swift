/// The notation of names and texts that SQL databases have in common.
package enum SQLText {
    /// Returns a name quoted for SQL, with any content.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// Returns names quoted for SQL, separated by commas.
    package static func list(_ names: [String]) -> String {
        names.map(quoted).joined(separator: ", ")
    }

    /// Returns a text as an SQL literal.
    package static func literal(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }
}

import DataFormats
import ObjectStore

/// How the rows of one table are read.
struct PostgresTablePlan {
    /// A column of the rows that are read, and the property that takes it.
    struct Column {
        /// The expression that selects it.
        let expression: String
        let name: String
        let property: String
        let type: PostgresType
        let isArray: Bool
    }

    let table: String
    let className: String
    /// The table in SQL.
    let path: String
    var columns: [Column] = []
    /// Whether the first column holds the number by which other rows link to this one.
    var isNumbered = false

    /// The statement that reads the rows.
    var statement: String {
        let list = columns.map(\.expression).joined(separator: ", ")
        return "COPY (SELECT \(list) FROM \(path)) TO STDOUT (FORMAT binary)"
    }

    /// Adds a column that is read as a type.
    mutating func add(
        _ name: String, _ property: String, _ type: PostgresType, isArray: Bool,
        through cast: String? = nil
    ) {
        let suffix = isArray ? "[]" : ""
        let source = PostgresConnection.quoted(name) + (cast.map { "::\($0)\(suffix)" } ?? "")
        columns.append(
            Column(
                expression: "\(source)::\(type.readName)\(suffix)", name: name, property: property,
                type: type, isArray: isArray))
    }

    /// Adds the text of several columns, joined with colons, as one column.
    mutating func add(joining names: [String], as property: String) {
        columns.append(
            Column(
                expression: Self.joined(names), name: names.joined(separator: ":"),
                property: property, type: .text, isArray: false))
    }

    /// The text of several columns, joined with colons; NULL if one of them is.
    ///
    /// Colons in one of several values are escaped, so that different keys stay different.
    static func joined(_ names: [String]) -> String {
        let texts = names.map { "\(PostgresConnection.quoted($0))::text" }
        guard texts.count > 1 else { return texts.joined() }
        return texts.map { "replace(replace(\($0), '\\', '\\\\'), ':', '\\:')" }
            .joined(separator: " || ':' || ")
    }
}

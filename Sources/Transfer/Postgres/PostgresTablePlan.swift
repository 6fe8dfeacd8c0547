import DataFormats
import ObjectStore

/// The plan for importing the rows of one table.
struct PostgresTablePlan {
    /// A selected column, and the property that receives its values.
    struct Column {
        /// The expression that selects the column.
        let expression: String
        let name: String
        let property: String
        let type: PostgresType
        let isArray: Bool
    }

    let table: String
    let className: String
    /// The quoted name of the table.
    let path: String
    var columns: [Column] = []
    /// Whether the first column contains the number that other rows use to link to a row.
    var isNumbered = false

    /// The statement that selects the rows.
    var statement: String {
        let list = columns.map(\.expression).joined(separator: ", ")
        return "COPY (SELECT \(list) FROM \(path)) TO STDOUT (FORMAT binary)"
    }

    /// Adds a column that is imported as a type.
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

    /// Adds the text of several columns, joined by colons, as one column.
    mutating func add(joining names: [String], as property: String) {
        columns.append(
            Column(
                expression: Self.joined(names), name: names.joined(separator: ":"),
                property: property, type: .text, isArray: false))
    }

    /// Returns the expression for the text of several columns, joined by colons; NULL if one of them is NULL.
    ///
    /// Colons in the values are escaped if there are several columns, so that different keys have different texts.
    static func joined(_ names: [String]) -> String {
        let texts = names.map { "\(PostgresConnection.quoted($0))::text" }
        guard texts.count > 1 else { return texts.joined() }
        return texts.map { "replace(replace(\($0), '\\', '\\\\'), ':', '\\:')" }
            .joined(separator: " || ':' || ")
    }
}

import DataFormats
import ObjectStore

/// The differences between SQL databases in the mapping of classes to tables.
///
/// ``RelationalLayout`` is the mapping. A dialect has no connection; ``RelationalTarget`` and ``RelationalOrigin`` have.
protocol RelationalDialect {
    /// The name of the database in messages.
    var name: String { get }
    /// The maximum length of a name in bytes; nil without a limit.
    var nameLimit: Int? { get }
    /// The names that no table of a class can have.
    var reservedTables: [String] { get }
    /// Whether lists and sets of single values are arrays; otherwise they are JSON.
    var hasArrays: Bool { get }
    /// Whether a column can hold values of several types; otherwise mixed values are JSON.
    var hasMixedColumns: Bool { get }
    /// Whether mixed values that are JSON have their types in a second column.
    var hasTypeColumns: Bool { get }
    /// Whether keys and references belong to the columns of a new table; otherwise they are added later.
    var hasInlineKeys: Bool { get }
    /// Whether the columns of a key can be selected as one text, which identifies objects.
    var joinsKeys: Bool { get }
    /// Whether the database stores JSON numbers as decimals.
    var normalizesJSON: Bool { get }
    /// The type of columns with JSON.
    var jsonType: String { get }
    /// Returns the type of columns with single values of a type.
    func columnType(_ type: PropertyType) -> String
    /// Returns the quoted name of a table.
    func path(_ table: String) -> String
    /// Returns the form of a name in which equal names are identical.
    func folded(_ name: String) -> String
    /// Returns a wanted name without a prefix that the database reserves.
    func permitted(_ name: String) -> String
    /// Returns the literal of a value in a rule, if the database compares it as the store does.
    func literal(_ value: Value, of property: Property) -> String?
    /// Returns the expression that selects a column as a type; nil for the type of the stored value.
    func selected(_ column: String, as type: PropertyType?, isArray: Bool) -> String
}

/// Assigns names of tables, columns and constraints by the rules of a dialect.
struct RelationalNames {
    private let dialect: any RelationalDialect
    private var taken: Set<String>

    /// Creates an allocator with names that are taken.
    init(_ dialect: any RelationalDialect, taken: [String] = []) {
        self.dialect = dialect
        self.taken = Set(taken.map(dialect.folded))
    }

    /// Returns the wanted name, or the first free variant of it, within the limit of the dialect.
    mutating func unique(_ wanted: String) -> String {
        let wanted = dialect.permitted(wanted)
        var name = cut(wanted, before: "")
        var number = 1
        while !taken.insert(dialect.folded(name)).inserted {
            number += 1
            name = cut(wanted, before: "_\(number)")
        }
        return name
    }

    private func cut(_ name: String, before suffix: String) -> String {
        var name = name
        while let limit = dialect.nameLimit, name.utf8.count + suffix.utf8.count > limit {
            name.removeLast()
        }
        return name + suffix
    }
}

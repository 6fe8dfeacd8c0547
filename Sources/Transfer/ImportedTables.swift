import DataFormats
import ObjectStore

/// A table in a database of another program.
protocol ImportedTable {
    var name: String { get }
    var columnNames: [String] { get }
    /// The names of the tables that foreign keys refer to.
    var referencedNames: [String] { get }
    /// The columns of each UNIQUE constraint and unique index, as text.
    var uniqueColumns: [String] { get }
    /// Returns the form of a table's name in which equal names are identical.
    static func folded(_ name: String) -> String
}

/// The tables of a database that an import reads, and the class of each one.
struct ImportedTables<Table: ImportedTable> {
    /// The tables; referenced tables come before the tables that refer to them, except for circular references.
    private(set) var all: [Table] = []
    private let options: ImportOptions
    private let known: Schema
    private var classNames: [String: String] = [:]
    private var tablesByName: [String: Table] = [:]

    /// Selects the tables that the options do not omit; `known` is the schema of the store.
    init(_ tables: [Table], _ options: ImportOptions, _ known: Schema) {
        self.options = options
        self.known = known
        var names: Set<String> = []
        var selected: [Table] = []
        for table in tables {
            guard let wanted = className(for: table) else { continue }
            var name = wanted
            var number = 1
            while !names.insert(name).inserted {
                number += 1
                name = "\(wanted)\(number)"
            }
            classNames[table.name] = name
            tablesByName[Table.folded(table.name)] = table
            selected.append(table)
        }
        var seen: Set<String> = []
        selected.forEach { append($0, &seen) }
    }

    private mutating func append(_ table: Table, _ seen: inout Set<String>) {
        guard seen.insert(table.name).inserted else { return }
        for name in table.referencedNames {
            if let other = self[name] { append(other, &seen) }
        }
        all.append(table)
    }

    /// Returns the class name for a table; nil for a table that is omitted.
    private func className(for table: Table) -> String? {
        let usual = SchemaNames.className(table.name)
        let known = known.classes.map(\.name)
        let name =
            known.first { $0 == table.name } ?? known.first { $0 == usual }
            ?? known.first { $0.lowercased() == table.name.lowercased() } ?? usual
        return options.className(ofTable: table.name, usually: name)
    }

    /// Returns the table that a foreign key refers to; nil if it is not imported.
    subscript(name: String) -> Table? { tablesByName[Table.folded(name)] }

    /// Returns the name of the class of a table.
    func className(of table: Table) -> String { classNames[table.name] ?? table.name }

    /// Returns the class of a table in the store; nil for a class that the import creates.
    func existingClass(of table: Table) -> ClassSchema? { known.find(className(of: table)) }

    /// Returns notes about the constraints of a table that its new class does not have.
    static func constraintNotes(_ table: Table) -> [String] {
        table.uniqueColumns.map { "UNIQUE (\($0)) of '\(table.name)' is not enforced" }
    }

    /// Returns the property of each column of a table; nil for columns that are omitted.
    ///
    /// `isLink` contains whether each column is a link. An existing class can have the column's name for a link.
    func propertyNames(
        of table: Table, isLink: [Bool], _ names: inout ColumnNames
    ) throws -> [String?] {
        let existing = existingClass(of: table)
        let columns = zip(table.columnNames, isLink).map { column, isLink in
            let name = SchemaNames.property(column)
            let hasOwn = existing?.property(named: name) != nil
            return (column, isLink && !hasOwn ? SchemaNames.linkName(name) : nil)
        }
        return try names.properties(of: columns) { options.property(of: $0, in: table.name) }
    }
}

extension Property {
    /// Creates the property for a column with single values of a type.
    init(
        column name: String, _ type: PropertyType, isKey: Bool, isRequired: Bool, isIndexed: Bool
    ) {
        let canBeIndexed = [.bool, .int, .string, .date, .uuid, .objectID].contains(type)
        self.init(
            name, type, isOptional: !isKey && !isRequired && type != .mixed, isPrimary: isKey,
            isIndexed: isIndexed && canBeIndexed && !isKey)
    }
}

extension ImportOptions {
    /// Returns the class name for a table of a database; nil for a table that is omitted.
    func className(ofTable table: String, usually name: String) -> String? {
        if let given = classNames[table] { return given.isEmpty ? nil : given }
        let isWanted = tables.isEmpty || tables.contains(table) || tables.contains(name)
        return isWanted ? name : nil
    }

    /// Returns the names by which the options can map the columns of a table.
    static func fields(_ table: String, _ columns: [String]) -> [String] {
        columns.flatMap { [$0, "\(table).\($0)"] }
    }

    /// Throws `invalid_argument` if a table that the options name does not exist, or if no table is imported.
    ///
    /// `existing` are the names of all tables, `classNames` are the classes of the imported ones.
    func checkTables(
        _ existing: [String], importing classNames: [String], from database: String
    ) throws {
        let wanted = tables.filter { !classNames.contains($0) } + self.classNames.keys
        for name in wanted where !existing.contains(name) {
            throw StoreError(
                .invalidArgument,
                "there is no table '\(name)'\(NearestName.hint(for: name, among: existing))")
        }
        guard classNames.isEmpty else { return }
        throw StoreError(.invalidArgument, "\(database) has no table to import")
    }

    /// Returns the positions of the collections that have tables of their own: an updated object must not keep elements
    /// that are not in these tables.
    func collectionsToEmpty(
        _ collections: [Property], of table: String, in classSchema: ClassSchema
    ) -> [Int] {
        guard isUpsert else { return [] }
        return collections.filter { !$0.isMap }.compactMap {
            classSchema.position(of: property(of: $0.name, in: table) ?? $0.name)
        }
    }
}

extension Importer {
    /// Returns the fields of the class of a table.
    ///
    /// Throws ``FormatError`` for an embedded class.
    func fields(ofTableClass className: String) throws -> FieldTable {
        let fields = try fields(of: className)
        guard !fields.classSchema.isEmbedded else {
            throw FormatError("'\(className)' is embedded: its objects are part of their owners")
        }
        return fields
    }
}

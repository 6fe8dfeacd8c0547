import DataFormats
import ObjectStore

/// Maps the tables of a database to classes and properties.
struct PostgresPlanner {
    private let options: ImportOptions
    private let imported: ImportedTables<PostgresTable>
    private(set) var tables: [PostgresTablePlan] = []
    private(set) var newClasses: [ClassSchema] = []
    private(set) var notes: [String] = []

    /// The identification of the objects of a table.
    private enum Key {
        case column(PostgresTable.Column)
        /// The joined text of these columns.
        case joined([PostgresTable.Column])
    }

    init(_ all: [PostgresTable], _ options: ImportOptions, _ known: Schema) throws {
        self.options = options
        imported = ImportedTables(all, options, known)
        try checkKeys()
        for table in imported.all { try plan(table) }
    }

    /// Throws `invalid_argument` for columns in `--key` that do not exist.
    private func checkKeys() throws {
        for (name, column) in options.postgres.keys {
            let candidates = imported.all.filter { name.isEmpty || $0.name == name }
            guard candidates.contains(where: { $0.columns.contains { $0.name == column } }) else {
                throw StoreError(
                    .invalidArgument,
                    "no table \(name.isEmpty ? "" : "'\(name)' ")has the key column '\(column)'"
                        + NearestName.hint(
                            for: column, among: candidates.flatMap(\.columns).map(\.name)))
            }
        }
    }

    // MARK: One table

    private mutating func plan(_ table: PostgresTable) throws {
        let className = imported.className(of: table)
        let existing = imported.existingClass(of: table)
        let path =
            (table.isOnly ? "ONLY " : "") + PostgresConnection.quoted(options.postgres.schemaName)
            + "."
            + PostgresConnection.quoted(table.name)
        var plan = PostgresTablePlan(table: table.name, className: className, path: path)
        // Only a property with the joined key can have this name.
        var names = ColumnNames()
        var properties: [Property] = []
        let key = key(of: table)
        if case .joined(let columns)? = key {
            let name = names.unique(joinedName(table, existing))
            plan.add(joining: columns.map(\.name), as: name)
            properties.append(Property(name, .string, isPrimary: true))
            note(table, columns, name)
        }
        let targets = table.columns.map { linkTarget(of: [$0.number], in: table) }
        let columnNames = try imported.propertyNames(
            of: table, isLink: targets.map { $0 != nil }, &names)
        for (index, column) in table.columns.enumerated() {
            guard let name = columnNames[index] else { continue }
            let target = targets[index]
            var isKey = false
            if case .column(let keyColumn)? = key { isKey = keyColumn.number == column.number }
            if target != nil, targetIsJoined(column, table) {
                plan.add(joining: [column.name], as: name)
            } else {
                let type = Self.type(column.base)
                plan.add(
                    column.name, name, type, isArray: column.isArray,
                    through: column.base == .day ? "timestamp" : nil)
            }
            guard existing == nil else { continue }
            properties.append(property(name, column, target: target, isKey: isKey))
            if column.base == .other {
                notes.append(
                    "'\(table.name).\(column.name)' is of type \(column.typeName), which became text"
                )
            }
        }
        addCompositeLinks(
            of: table, existing: existing, to: &plan, properties: &properties, names: &names)
        tables.append(plan)
        guard existing == nil else { return }
        newClasses.append(ClassSchema(className, properties))
        notes += ImportedTables.constraintNotes(table)
    }

    private mutating func note(
        _ table: PostgresTable, _ columns: [PostgresTable.Column], _ name: String
    ) {
        let list = columns.map { "'\($0.name)'" }.joined(separator: ", ")
        notes.append(
            columns.count > 1
                ? "the primary key of '\(table.name)' is the text of \(list), joined with ':', in the "
                    + "property '\(name)'; --key \(table.name)=COLUMN chooses one column"
                : "the primary key of '\(table.name)' is the text of \(list) in the property '\(name)'"
        )
    }

    /// Adds properties for foreign keys over several columns; the columns remain properties too.
    private mutating func addCompositeLinks(
        of table: PostgresTable, existing: ClassSchema?, to plan: inout PostgresTablePlan,
        properties: inout [Property], names: inout ColumnNames
    ) {
        for foreignKey in table.foreignKeys where foreignKey.columns.count > 1 {
            let columns = table.columns(foreignKey.columns)
            guard let target = linkTarget(of: foreignKey.columns, in: table),
                let other = imported[foreignKey.target]
            else {
                notes.append(
                    "'\(table.name)' has the foreign key '\(foreignKey.name)': its values are imported, "
                        + "but no link is created")
                continue
            }
            // The columns of a foreign key can be in any order.
            let byTarget = Dictionary(
                zip(foreignKey.targetColumns, columns), uniquingKeysWith: { first, _ in first })
            let ordered = other.key.compactMap { byTarget[$0] }
            var wanted = foreignKey.name
            if wanted.hasPrefix(table.name + "_") { wanted.removeFirst(table.name.count + 1) }
            if wanted.hasSuffix("_fkey") { wanted.removeLast(5) }
            let name = names.unique(SchemaNames.property(wanted))
            if existing == nil {
                properties.append(Property(name, .object, target: target))
            } else if existing?.property(named: name) == nil {
                continue
            }
            plan.add(joining: ordered.map(\.name), as: name)
        }
    }

    private func joinedName(_ table: PostgresTable, _ existing: ClassSchema?) -> String {
        if let existing { return existing.primaryKey?.name ?? "key" }
        return table.columns.contains { SchemaNames.property($0.name).lowercased() == "key" }
            ? "primary_key" : "key"
    }

    private func property(
        _ name: String, _ column: PostgresTable.Column, target: String?, isKey: Bool
    ) -> Property {
        if let target { return Property(name, .object, target: target) }
        let type = Self.propertyType(column.base)
        if column.isArray {
            return Property(name, type, isOptional: type != .mixed, collection: .list)
        }
        return Property(
            column: name, type, isKey: isKey, isRequired: column.isRequired,
            isIndexed: column.isIndexed)
    }

    private static func type(_ base: PostgresTable.BaseType) -> PostgresType {
        switch base {
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .text, .other: .text
        case .bytes: .bytes
        case .moment, .day: .timestamp
        case .uuid: .uuid
        case .numeric: .numeric
        case .json: .json
        }
    }

    private static func propertyType(_ base: PostgresTable.BaseType) -> PropertyType {
        switch base {
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .text, .other: .string
        case .bytes: .data
        case .moment, .day: .date
        case .uuid: .uuid
        case .numeric: .decimal
        case .json: .mixed
        }
    }

    // MARK: Keys

    /// Returns the key of a table's rows; nil if there is none.
    private func key(of table: PostgresTable) -> Key? {
        var columns = table.columns(table.key)
        if let wanted = options.postgres.keys[table.name] ?? options.postgres.keys[""],
            let column = table.columns.first(where: { $0.name == wanted })
        {
            columns = [column]
        }
        columns.removeAll { column in
            options.property(of: column.name, in: table.name)?.isEmpty == true
        }
        guard let first = columns.first else { return nil }
        if let existing = imported.existingClass(of: table) {
            guard let primary = existing.primaryKey else { return nil }
            if columns.count == 1, primary.type != .string || primary.name != "key" {
                return .column(first)
            }
        }
        let canBeKey = [.int, .text, .uuid].contains(first.base) && !first.isArray
        return columns.count == 1 && canBeKey ? .column(first) : .joined(columns)
    }

    /// Returns the class that a foreign key of these columns refers to, if it refers to the key of the objects.
    private func linkTarget(of columns: [Int], in table: PostgresTable) -> String? {
        guard let reference = table.foreignKeys.first(where: { $0.columns == columns }),
            let other = imported[reference.target]
        else { return nil }
        let className = imported.className(of: other)
        if columns.count == 1, case .column(let key)? = key(of: table), key.number == columns[0] {
            // A primary key is not a link.
            return nil
        }
        if let existing = imported.existingClass(of: other), existing.primaryKey == nil {
            return nil
        }
        switch key(of: other) {
        case .column(let key)?: return reference.targetColumns == [key.number] ? className : nil
        case .joined(let keys)?:
            return Set(reference.targetColumns) == Set(keys.map(\.number)) ? className : nil
        case nil: return nil
        }
    }

    private func targetIsJoined(_ column: PostgresTable.Column, _ table: PostgresTable) -> Bool {
        guard let reference = table.foreignKeys.first(where: { $0.columns == [column.number] }),
            let other = imported[reference.target], case .joined? = key(of: other)
        else { return false }
        return true
    }
}

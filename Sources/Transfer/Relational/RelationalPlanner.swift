import DataFormats
import ObjectStore

/// Maps the tables of another program's database to classes and properties.
///
/// A table with a primary key of one column becomes a class with a primary key, and foreign keys to such tables become
/// links. Other keys are the joined text of their columns where the dialect can select it.
struct RelationalPlanner {
    private let dialect: any RelationalDialect
    private let options: ImportOptions
    private let known: Schema
    /// The tables; referenced tables come before the tables that refer to them, except for circular references.
    private var tables: [RelationalTable] = []
    private var classNames: [String: String] = [:]
    private var tablesByName: [String: RelationalTable] = [:]
    private(set) var plans: [RelationalPlan] = []
    private(set) var newClasses: [ClassSchema] = []
    private(set) var notes: [String] = []

    /// The identification of the objects of a table.
    private enum Key {
        case column(RelationalTable.Column)
        /// The joined text of these columns.
        case joined([RelationalTable.Column])
    }

    /// Plans the tables that the options do not omit.
    ///
    /// `known` is the schema of the store. `examine` determines the types of a table's columns from its values, if the
    /// database does not declare them.
    init(
        _ found: [RelationalTable], _ options: ImportOptions, _ known: Schema,
        in dialect: any RelationalDialect, examine: (inout RelationalTable) throws -> Void
    ) throws {
        self.dialect = dialect
        self.options = options
        self.known = known
        var names: Set<String> = []
        var selected: [RelationalTable] = []
        for var table in found {
            guard let wanted = className(for: table) else { continue }
            var name = wanted
            var number = 1
            while !names.insert(name).inserted {
                number += 1
                name = "\(wanted)\(number)"
            }
            classNames[table.name] = name
            if existingClass(of: table) == nil { try examine(&table) }
            tablesByName[dialect.folded(table.name)] = table
            selected.append(table)
        }
        let byName = tablesByName
        tables = selected.map { dialect.folded($0.name) }.targetsFirst { name in
            (byName[name]?.foreignKeys ?? []).map { dialect.folded($0.target) }
                .filter { byName[$0] != nil }
        }.compactMap { byName[$0] }
        try checkKeys()
        for table in tables { try plan(table) }
    }

    /// Throws `invalid_argument` for columns in `--key` that do not exist.
    private func checkKeys() throws {
        for (name, column) in options.postgres.keys {
            let candidates = tables.filter { name.isEmpty || $0.name == name }
            guard candidates.contains(where: { $0.column(column) != nil }) else {
                throw StoreError(
                    .invalidArgument,
                    "no table \(name.isEmpty ? "" : "'\(name)' ")has the key column '\(column)'"
                        + NearestName.hint(
                            for: column, among: candidates.flatMap(\.columns).map(\.name)))
            }
        }
    }

    // MARK: Classes

    /// Returns the class name for a table; nil for a table that is omitted.
    private func className(for table: RelationalTable) -> String? {
        let usual = SchemaNames.className(table.name)
        let known = known.classes.map(\.name)
        let name =
            known.first { $0 == table.name } ?? known.first { $0 == usual }
            ?? known.first { $0.lowercased() == table.name.lowercased() } ?? usual
        return options.className(ofTable: table.name, usually: name)
    }

    /// Returns the table that a foreign key refers to; nil if it is not imported.
    private subscript(name: String) -> RelationalTable? { tablesByName[dialect.folded(name)] }

    private func className(of table: RelationalTable) -> String {
        classNames[table.name] ?? table.name
    }

    /// Returns the class of a table in the store; nil for a class that the import creates.
    private func existingClass(of table: RelationalTable) -> ClassSchema? {
        known.find(className(of: table))
    }

    // MARK: One table

    private mutating func plan(_ table: RelationalTable) throws {
        let existing = existingClass(of: table)
        var plan = RelationalPlan(table, className(of: table), in: dialect)
        // Only a property with the joined key can have this name.
        var names = ColumnNames()
        var properties: [Property] = []
        var keyName: String?
        switch key(of: table) {
        case .column(let column)?: keyName = column.name
        case .joined(let columns)?:
            let name = names.unique(joinedName(table, existing))
            plan.add(joining: columns.map(\.name), as: name)
            properties.append(Property(name, .string, isPrimary: true))
            record(table, columns, name)
        case nil: break
        }
        let targets = table.columns.map { linkTarget(of: [$0.name], in: table) }
        let columnNames = try propertyNames(
            of: table, isLink: targets.map { $0 != nil }, existing, &names)
        for (column, (name, target)) in zip(table.columns, zip(columnNames, targets)) {
            guard let name else { continue }
            if target != nil, targetIsJoined(column, table) {
                plan.add(joining: [column.name], as: name)
            } else {
                plan.add(column, as: name)
            }
            guard existing == nil else { continue }
            properties.append(
                property(name, column, target: target, isKey: column.name == keyName))
            record(table, column)
        }
        addCompositeLinks(
            of: table, existing: existing, to: &plan, properties: &properties, names: &names)
        plans.append(plan)
        guard existing == nil else { return }
        notes += table.uniqueColumns.map { "UNIQUE (\($0)) of '\(table.name)' is not enforced" }
        let index = keyName == nil && !dialect.joinsKeys ? compositeIndex(table, plan) : nil
        newClasses.append(
            ClassSchema(plan.className, properties, indexes: [index].compactMap(\.self)))
    }

    /// Returns the property of each column of a table; nil for columns that are omitted.
    ///
    /// `isLink` contains whether each column is a link. An existing class can have the column's name for a link.
    private func propertyNames(
        of table: RelationalTable, isLink: [Bool], _ existing: ClassSchema?,
        _ names: inout ColumnNames
    ) throws -> [String?] {
        let columns = zip(table.columns.map(\.name), isLink).map { column, isLink in
            let name = SchemaNames.property(column)
            let hasOwn = existing?.property(named: name) != nil
            return (column, isLink && !hasOwn ? SchemaNames.linkName(name) : nil)
        }
        return try names.properties(of: columns) { options.property(of: $0, in: table.name) }
    }

    private func property(
        _ name: String, _ column: RelationalTable.Column, target: String?, isKey: Bool
    ) -> Property {
        if let target { return Property(name, .object, target: target) }
        let type = column.type ?? .mixed
        if column.isArray {
            return Property(name, type, isOptional: type != .mixed, collection: .list)
        }
        return Property(
            name, type, isOptional: !isKey && !column.isRequired && type != .mixed,
            isPrimary: isKey, isIndexed: column.isIndexed && type.canBeIndexed && !isKey)
    }

    private mutating func record(_ table: RelationalTable, _ column: RelationalTable.Column) {
        let name = "'\(table.name).\(column.name)'"
        if column.isForeign {
            notes.append("\(name) is of type \(column.typeName), which became text")
        }
        if column.isMilliseconds {
            notes.append(
                "the numbers in \(name) were read as milliseconds since 1970; add --dates seconds if they "
                    + "are seconds")
        }
    }

    // MARK: Keys

    /// Returns the key of a table's rows; nil if there is none.
    private func key(of table: RelationalTable) -> Key? {
        var columns = table.key.compactMap(table.column)
        if let wanted = options.postgres.keys[table.name] ?? options.postgres.keys[""],
            let column = table.column(wanted)
        {
            columns = [column]
        }
        if dialect.joinsKeys {
            columns.removeAll { column in
                options.property(of: column.name, in: table.name)?.isEmpty == true
            }
        }
        guard let first = columns.first else { return nil }
        if let existing = existingClass(of: table) {
            guard let primary = existing.primaryKey else { return nil }
            if columns.count == 1,
                primary.type != .string || primary.name != "key" || !dialect.joinsKeys
            {
                return .column(first)
            }
        }
        let canBeKey =
            [.int, .string, .uuid].contains(first.type ?? .mixed) && !first.isArray
            && !first.isForeign && !first.hasNulls
        if columns.count == 1, canBeKey { return .column(first) }
        return dialect.joinsKeys ? .joined(columns) : nil
    }

    private func joinedName(_ table: RelationalTable, _ existing: ClassSchema?) -> String {
        if let existing { return existing.primaryKey?.name ?? "key" }
        return table.columns.contains { SchemaNames.property($0.name).lowercased() == "key" }
            ? "primary_key" : "key"
    }

    private mutating func record(
        _ table: RelationalTable, _ columns: [RelationalTable.Column], _ name: String
    ) {
        let list = columns.map { "'\($0.name)'" }.joined(separator: ", ")
        notes.append(
            columns.count > 1
                ? "the primary key of '\(table.name)' is the text of \(list), joined with ':', in the "
                    + "property '\(name)'; --key \(table.name)=COLUMN chooses one column"
                : "the primary key of '\(table.name)' is the text of \(list) in the property '\(name)'"
        )
    }

    /// Returns the index of a new class for a key that is not its primary key.
    private mutating func compositeIndex(
        _ table: RelationalTable, _ plan: RelationalPlan
    ) -> CompositeIndex? {
        guard !table.key.isEmpty else { return nil }
        guard table.key.count > 1 else {
            notes.append(
                "the primary key '\(table.key[0])' of '\(table.name)' became a regular property: "
                    + "its values are NULL or of types that no primary key has")
            return nil
        }
        let names = table.key.compactMap { key in
            plan.columns.first { $0.name == key }?.property
        }
        let canBeIndexed = table.key.allSatisfy { name in
            let isLink = linkTarget(of: [name], in: table) != nil
            let type = table.column(name)?.type ?? .mixed
            return isLink || ![.data, .decimal, .mixed].contains(type)
        }
        let isPossible =
            canBeIndexed && names.count == table.key.count && (2...8).contains(names.count)
            && !plan.columns.contains { $0.name == "indexes" }
        notes.append(
            "the primary key of '\(table.name)' over \(table.key.count) columns became "
                + (isPossible ? "an index" : "ordinary properties") + "; uniqueness is not enforced"
        )
        return isPossible ? CompositeIndex(names) : nil
    }

    // MARK: Links

    /// Returns the class that a foreign key of these columns refers to, if it refers to the key of the objects.
    private func linkTarget(of columns: [String], in table: RelationalTable) -> String? {
        guard let reference = table.foreignKeys.first(where: { $0.columns == columns }),
            let other = self[reference.target]
        else { return nil }
        // A primary key is not a link.
        if columns == table.key, !dialect.joinsKeys { return nil }
        if case .column(let key)? = key(of: table), columns == [key.name] { return nil }
        // An existing class has decided what its objects' key is.
        if !dialect.joinsKeys, let existing = existingClass(of: other) {
            return existing.primaryKey == nil ? nil : className(of: other)
        }
        let targets = (reference.targetColumns.isEmpty ? other.key : reference.targetColumns)
            .map(dialect.folded)
        switch key(of: other) {
        case .column(let key)?:
            return targets == [dialect.folded(key.name)] ? className(of: other) : nil
        case .joined(let keys)?:
            return Set(targets) == Set(keys.map { dialect.folded($0.name) })
                ? className(of: other) : nil
        case nil: return nil
        }
    }

    private func targetIsJoined(
        _ column: RelationalTable.Column, _ table: RelationalTable
    ) -> Bool {
        guard let reference = table.foreignKeys.first(where: { $0.columns == [column.name] }),
            let other = self[reference.target], case .joined? = key(of: other)
        else { return false }
        return true
    }

    /// Adds properties for foreign keys over several columns; the columns remain properties too.
    private mutating func addCompositeLinks(
        of table: RelationalTable, existing: ClassSchema?, to plan: inout RelationalPlan,
        properties: inout [Property], names: inout ColumnNames
    ) {
        for foreignKey in table.foreignKeys where foreignKey.columns.count > 1 {
            guard let target = linkTarget(of: foreignKey.columns, in: table),
                let other = self[foreignKey.target], let constraint = foreignKey.name
            else {
                let name = foreignKey.name.map { "the foreign key '\($0)'" }
                let note =
                    "'\(table.name)' has \(name ?? "a foreign key over several columns"): its values are "
                    + "imported, but no link is created"
                if existing == nil, !notes.contains(note) { notes.append(note) }
                continue
            }
            // The columns of a foreign key can be in any order.
            let byTarget = Dictionary(
                zip(foreignKey.targetColumns, foreignKey.columns),
                uniquingKeysWith: { first, _ in first })
            var wanted = constraint
            if wanted.hasPrefix(table.name + "_") { wanted.removeFirst(table.name.count + 1) }
            if wanted.hasSuffix("_fkey") { wanted.removeLast(5) }
            let name = names.unique(SchemaNames.property(wanted))
            if existing == nil {
                properties.append(Property(name, .object, target: target))
            } else if existing?.property(named: name) == nil {
                continue
            }
            plan.add(joining: other.key.compactMap { byTarget[$0] }, as: name)
        }
    }
}

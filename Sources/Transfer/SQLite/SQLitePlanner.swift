import DataFormats
import ObjectStore

/// Maps the tables of a database to classes and properties.
///
/// For databases of other programs; an export by `SQLiteExporter` contains its own description.
struct SQLitePlanner {
    private let database: SQLiteDatabase
    private let options: ImportOptions
    private let known: Schema
    private var evidence: [String: [ColumnEvidence]] = [:]
    /// The class of each imported table.
    private var classNames: [String: String] = [:]
    /// The tables by lowercase name, because foreign keys can use another spelling.
    private var tablesByName: [String: SQLiteTable] = [:]
    private(set) var tables: [SQLiteTablePlan] = []
    private(set) var newClasses: [ClassSchema] = []
    private(set) var notes: [String] = []

    /// Creates a planner; `taken` are classes that the database itself describes.
    init(
        _ database: SQLiteDatabase, tables all: [SQLiteTable], options: ImportOptions, known: Schema
    ) throws {
        self.database = database
        self.options = options
        self.known = known
        var names: Set<String> = []
        var taken: [SQLiteTable] = []
        for table in all {
            guard var name = try className(of: table) else { continue }
            let wanted = name
            var number = 1
            while !names.insert(name).inserted {
                number += 1
                name = "\(wanted)\(number)"
            }
            classNames[table.name] = name
            tablesByName[table.name.lowercased()] = table
            taken.append(table)
        }
        for table in taken where classSchema(of: table) == nil { try look(at: table) }
        for table in Self.inOrder(taken, tablesByName) { plan(table) }
    }

    private func classSchema(of table: SQLiteTable) -> ClassSchema? {
        classNames[table.name].flatMap(known.find)
    }

    /// Returns the class name of a table; nil for a table that is omitted.
    private func className(of table: SQLiteTable) throws -> String? {
        if let name = options.classNames[table.name] { return name.isEmpty ? nil : name }
        let usual = SchemaNames.className(table.name)
        let known = known.classes.map(\.name)
        let name =
            known.first { $0 == table.name } ?? known.first { $0 == usual }
            ?? known.first { $0.lowercased() == table.name.lowercased() } ?? usual
        if !options.tables.isEmpty, !options.tables.contains(table.name),
            !options.tables.contains(name)
        {
            return nil
        }
        return name
    }

    /// Sorts tables so that referenced tables come before the tables that refer to them, except for circular
    /// references.
    private static func inOrder(
        _ tables: [SQLiteTable], _ byName: [String: SQLiteTable]
    ) -> [SQLiteTable] {
        var ordered: [SQLiteTable] = []
        var seen: Set<String> = []
        func visit(_ table: SQLiteTable) {
            guard seen.insert(table.name).inserted else { return }
            for key in table.foreignKeys {
                if let other = byName[key.table.lowercased()] { visit(other) }
            }
            ordered.append(table)
        }
        tables.forEach(visit)
        return ordered
    }

    /// Examines every value of a table.
    private mutating func look(at table: SQLiteTable) throws {
        var found = table.columns.map { ColumnEvidence(declared: $0.type, dates: options.dates) }
        let rows = try database.prepare(table.selection(table.columns.map(\.name)))
        while try rows.step() {
            for column in found.indices { found[column].add(rows, column) }
        }
        evidence[table.name] = found
    }

    // MARK: One table

    private mutating func plan(_ table: SQLiteTable) {
        let className = classNames[table.name] ?? table.name
        let existing = classSchema(of: table)
        var plan = SQLiteTablePlan(table, className)
        var names = SQLiteNames()
        var properties: [Property] = []
        for (index, column) in table.columns.enumerated() {
            let renamed = options.property(of: column.name, in: table.name)
            if renamed?.isEmpty == true { continue }
            let target = linkTarget(of: column, in: table)
            let plain = renamed ?? SchemaNames.property(column.name)
            var name = plain
            if renamed == nil, target != nil, let short = SchemaNames.linkName(plain),
                !table.columns.contains(where: { $0.name == short }),
                existing == nil || existing?.property(named: plain) == nil
            {
                name = short
            }
            if existing == nil { name = names.unique(name) }
            plan.add(column.name, name)
            guard existing == nil, let evidence = evidence[table.name]?[index] else { continue }
            if evidence.holdsMilliseconds {
                plan.noteMilliseconds()
                notes.append(
                    "the numbers in '\(table.name).\(column.name)' were read as milliseconds since "
                        + "1970; add --dates seconds if they are seconds")
            }
            properties.append(
                property(name, column, evidence, target: target, isKey: key(of: table) == index))
        }
        tables.append(plan)
        guard existing == nil else { return }
        let composite = compositeIndex(table, className, plan)
        newClasses.append(
            ClassSchema(className, properties, indexes: composite.map { [$0] } ?? []))
        if table.compositeForeignKeys > 0 {
            notes.append(
                "'\(table.name)' has a foreign key over several columns: its values are imported, but no "
                    + "link is created")
        }
    }

    private func property(
        _ name: String, _ column: SQLiteTable.Column, _ evidence: ColumnEvidence, target: String?,
        isKey: Bool
    ) -> Property {
        if let target { return Property(name, .object, target: target) }
        let type = evidence.type
        let isRequired =
            isKey || column.isRequired || (column.keyPosition > 0 && evidence.nulls == 0)
        let isIndexed =
            column.isIndexed
            && [.bool, .int, .string, .date, .uuid, .objectID].contains(type)
        return Property(
            name, type, isOptional: !isRequired && type != .mixed, isPrimary: isKey,
            isIndexed: isIndexed && !isKey)
    }

    /// Returns the column that becomes the primary key: the only column of the table's key, if its type permits this.
    private func key(of table: SQLiteTable) -> Int? {
        let keys = table.columns.indices.filter { table.columns[$0].keyPosition > 0 }
        guard keys.count == 1, let evidence = evidence[table.name]?[keys[0]], evidence.nulls == 0,
            [.int, .string, .uuid].contains(evidence.type)
        else { return nil }
        return keys[0]
    }

    /// Returns the class that the values of a column link to, if they are primary keys of that class.
    private func linkTarget(of column: SQLiteTable.Column, in table: SQLiteTable) -> String? {
        if column.keyPosition > 0, table.keyColumns.count == 1 { return nil }
        guard let reference = table.foreignKeys.first(where: { $0.column == column.name }),
            let other = tablesByName[reference.table.lowercased()],
            let className = classNames[other.name]
        else { return nil }
        if let existing = classSchema(of: other) {
            return existing.primaryKey == nil ? nil : className
        }
        guard let key = key(of: other) else { return nil }
        let isToKey =
            reference.target.map { $0.lowercased() == other.columns[key].name.lowercased() } ?? true
        return isToKey ? className : nil
    }

    private mutating func compositeIndex(
        _ table: SQLiteTable, _ className: String, _ plan: SQLiteTablePlan
    ) -> CompositeIndex? {
        let keys = table.keyColumns.sorted { $0.keyPosition < $1.keyPosition }
        guard !keys.isEmpty, key(of: table) == nil else { return nil }
        guard keys.count > 1 else {
            notes.append(
                "the primary key '\(keys[0].name)' of '\(table.name)' became a regular property: "
                    + "its values are NULL or of types that no primary key has")
            return nil
        }
        let names = keys.compactMap { key in plan.property(of: key.name) }
        let types = keys.compactMap { key -> PropertyType? in
            guard let index = table.columns.firstIndex(where: { $0.name == key.name }) else {
                return nil
            }
            if linkTarget(of: key, in: table) != nil { return .object }
            return evidence[table.name]?[index].type
        }
        let canBeIndexed = types.allSatisfy { ![.data, .decimal, .mixed].contains($0) }
        let isPossible =
            canBeIndexed && names.count == keys.count && (2...8).contains(keys.count)
            && plan.property(of: "indexes") == nil
        notes.append(
            "the primary key of '\(table.name)' over \(keys.count) columns became "
                + (isPossible ? "an index" : "ordinary properties") + "; uniqueness is not enforced"
        )
        return isPossible ? CompositeIndex(names) : nil
    }
}

extension SQLiteTable {
    /// Returns a statement that selects columns.
    fileprivate func selection(_ columns: [String]) -> String {
        let names = columns.map(SQLiteDatabase.quoted).joined(separator: ", ")
        return "SELECT \(names) FROM \(SQLiteDatabase.quoted(name))"
    }
}

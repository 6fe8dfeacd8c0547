import DataFormats
import ObjectStore

/// Maps the tables of a database to classes and properties.
///
/// For databases of other programs; an export by `SQLiteExporter` contains its own description.
struct SQLitePlanner {
    private let database: SQLiteDatabase
    private let options: ImportOptions
    private let imported: ImportedTables<SQLiteTable>
    private var evidence: [String: [ColumnEvidence]] = [:]
    private(set) var tables: [SQLiteTablePlan] = []
    private(set) var newClasses: [ClassSchema] = []
    private(set) var notes: [String] = []

    /// Creates a planner; `taken` are classes that the database itself describes.
    init(
        _ database: SQLiteDatabase, tables all: [SQLiteTable], options: ImportOptions, known: Schema
    ) throws {
        self.database = database
        self.options = options
        imported = ImportedTables(all, options, known)
        for table in imported.all where imported.existingClass(of: table) == nil {
            try look(at: table)
        }
        for table in imported.all { try plan(table) }
    }

    /// Examines every value of a table.
    private mutating func look(at table: SQLiteTable) throws {
        var found = table.columns.map { ColumnEvidence(declared: $0.type, dates: options.dates) }
        let rows = try database.prepare(table.selection(table.columnNames))
        while try rows.step() {
            for column in found.indices { found[column].add(rows, column) }
        }
        evidence[table.name] = found
    }

    // MARK: One table

    private mutating func plan(_ table: SQLiteTable) throws {
        let className = imported.className(of: table)
        let existing = imported.existingClass(of: table)
        var plan = SQLiteTablePlan(table, className)
        var columnNames = ColumnNames()
        let targets = table.columns.map { linkTarget(of: $0, in: table) }
        let names = try imported.propertyNames(
            of: table, isLink: targets.map { $0 != nil }, &columnNames)
        var properties: [Property] = []
        let typeColumns = table.typeColumns
        for (index, column) in table.columns.enumerated() {
            guard !typeColumns.values.contains(column.name), let name = names[index] else {
                continue
            }
            plan.add(column.name, name)
            if let type = typeColumns[column.name] { plan.noteTypes(in: type) }
            guard existing == nil, let evidence = evidence[table.name]?[index] else { continue }
            if evidence.holdsMilliseconds {
                plan.noteMilliseconds()
                notes.append(
                    "the numbers in '\(table.name).\(column.name)' were read as milliseconds since "
                        + "1970; add --dates seconds if they are seconds")
            }
            properties.append(
                property(
                    name, column, evidence, target: targets[index],
                    isKey: key(of: table) == index, isMixed: typeColumns[column.name] != nil))
        }
        tables.append(plan)
        guard existing == nil else { return }
        notes += ImportedTables.constraintNotes(table)
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
        isKey: Bool, isMixed: Bool
    ) -> Property {
        if let target { return Property(name, .object, target: target) }
        return Property(
            column: name, isMixed ? .mixed : evidence.type, isKey: isKey,
            isRequired: column.isRequired || (column.keyPosition > 0 && evidence.nulls == 0),
            isIndexed: column.isIndexed)
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
            let other = imported[reference.table]
        else { return nil }
        let className = imported.className(of: other)
        if let existing = imported.existingClass(of: other) {
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

import DataFormats
import ObjectStore

/// A database that is imported: its tables, and the calls that read them.
package protocol RelationalOrigin: AnyObject {
    var dialect: any RelationalDialect { get }
    /// The name of the part of the database that contains the tables, for messages.
    var location: String { get }
    /// Returns the tables, and a note for each part of the database that is omitted.
    func tables() throws -> (tables: [RelationalTable], notes: [String])
    /// Returns the classes of an export that the tables contain; nil for a database of another program.
    func exportedClasses(_ tables: [RelationalTable]) throws -> [ClassSchema]?
    /// Determines the types of a table's columns from its values, if the database does not declare them.
    func examine(_ table: inout RelationalTable) throws
    /// Returns the number of rows of these tables, for the progress.
    func rowCount(_ tables: [String]) throws -> Double
    /// Begins to read rows.
    func rows(_ plan: RelationalPlan, _ importer: Importer) throws -> any RelationalRowReader
}

/// The rows of a statement, of which one is current.
package protocol RelationalRowReader: AnyObject {
    /// Advances to the next row; returns false after the last one.
    func next() throws -> Bool
    func isNull(_ index: Int) -> Bool
    /// Returns an integer.
    func int(_ index: Int) -> Int64
    /// Returns the bytes of a value in the form of the database.
    func bytes(_ index: Int) -> [UInt8]
    /// Returns a value, or the elements of an array; `type` is the type of the property that receives it.
    ///
    /// Throws a `FormatError` for a value that no property can store.
    func value(
        _ index: Int, _ column: RelationalPlan.Column, for type: PropertyType
    ) throws -> Value
    /// Returns whether a text is JSON that describes the value of a property.
    func isJSON(_ text: String, _ index: Int?, _ column: RelationalPlan.Column) -> Bool
    /// Passes a value to an inserter; returns false if it needs a conversion.
    func pass(
        _ index: Int, _ column: RelationalPlan.Column, as type: PropertyType, _ position: Int,
        to inserter: ObjectInserter
    ) throws -> Bool
}

extension RelationalRowReader {
    package func pass(
        _ index: Int, _ column: RelationalPlan.Column, as type: PropertyType, _ position: Int,
        to inserter: ObjectInserter
    ) throws -> Bool {
        let found = try value(index, column, for: type)
        guard let value = RelationalDecoder.converted(found, to: type) else { return false }
        inserter.set(position, value)
        return true
    }
}

/// The rows of the tables of an SQL database, from one snapshot.
package final class RelationalSource: RowSource {
    package private(set) var notes: [String] = []
    private let origin: any RelationalOrigin
    private let options: ImportOptions
    private var plans: [RelationalPlan] = []
    private var joins: [RelationalLayout.Join] = []
    /// The tables of an export, by class.
    private var exportedTables: [String: String] = [:]
    package private(set) var fields: [String]?
    private var allRows = 0.0
    private var rowsDone = 0

    package init(_ origin: any RelationalOrigin, _ options: ImportOptions) {
        self.origin = origin
        self.options = options
    }

    package var part: Double? { allRows > 0 ? min(1, Double(rowsDone) / allRows) : nil }

    package func classes(besides known: Schema) throws -> ClassInference.Result {
        let (all, ignored) = try origin.tables()
        var others = all
        var classes: [ClassSchema] = []
        if let export = try origin.exportedClasses(all) {
            others.removeAll { origin.dialect.reservedTables.contains($0.name) }
            let layout = try RelationalLayout(export, export, isWhole: true, in: origin.dialect)
            if layout.matches(all) {
                classes = export
                others.removeAll { layout.tableNames.contains($0.name) }
                take(layout, all)
            } else {
                notes.append(
                    "the tables were changed after they were exported; their types are those of the database"
                )
            }
        }
        let planner = try RelationalPlanner(
            others, options, known, in: origin.dialect, examine: origin.examine)
        plans += planner.plans
        notes += planner.notes + ignored
        try options.checkTables(
            all.map(\.name), importing: plans.map(\.className), from: origin.location)
        fields =
            all.flatMap { ImportOptions.fields($0.name, $0.columns.map(\.name)) }
            + joins.flatMap {
                ImportOptions.fields(table(of: $0), [$0.property.name])
            }
        allRows = try origin.rowCount(plans.map(\.table))
        return ClassInference.Result(classes: needed(classes) + planner.newClasses)
    }

    private func take(_ layout: RelationalLayout, _ all: [RelationalTable]) {
        let names = Set(all.map(\.name))
        for table in layout.ordered {
            guard let found = all.first(where: { $0.name == table.name }),
                let className = options.className(
                    ofTable: table.name, usually: table.classSchema.name)
            else { continue }
            exportedTables[table.classSchema.name] = table.name
            plans.append(RelationalPlan(table, found, className, options, in: origin.dialect))
            joins += table.joins.filter { names.contains($0.name) }
        }
    }

    private func table(of join: RelationalLayout.Join) -> String {
        exportedTables[join.owner.name] ?? join.owner.name
    }

    /// Returns the classes of an export that the imported tables have, and all classes that they link to.
    private func needed(_ classes: [ClassSchema]) -> [ClassSchema] {
        guard !options.tables.isEmpty || !options.classNames.isEmpty else { return classes }
        let byName = Dictionary(
            classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var needed: Set<String> = []
        var rest = plans.map(\.className)
        while let name = rest.popLast() {
            guard let classSchema = byName[name], needed.insert(name).inserted else { continue }
            rest += classSchema.properties.compactMap(\.target)
        }
        return classes.filter { needed.contains($0.name) }
    }

    // MARK: Rows

    package func read(into importer: Importer) throws {
        for plan in plans { try read(plan, into: importer) }
        for join in joins {
            guard let plan = plans.first(where: { $0.table == table(of: join) }),
                let reader = try LinkCollectionReader(
                    importer, join.property, of: plan.table, className: plan.className,
                    table: join.name)
            else { continue }
            let selection = RelationalPlan(join, in: origin.dialect)
            let rows = try origin.rows(selection, importer)
            try reader.read { try Self.element(rows, join, selection.columns) }
        }
    }

    /// Returns the next element of a collection of links; nil at the end.
    private static func element(
        _ rows: any RelationalRowReader, _ join: RelationalLayout.Join,
        _ columns: [RelationalPlan.Column]
    ) throws -> LinkCollectionReader.Element? {
        guard try rows.next() else { return nil }
        func value(_ index: Int, _ type: PropertyType, _ name: String) throws -> Value {
            let found = try rows.value(index, columns[index], for: type)
            guard let value = RelationalDecoder.converted(found, to: type) else {
                throw FormatError(
                    "'\(join.name)' refers to \(name) \(found.summary), which is not a valid "
                        + type.rawValue)
            }
            return value
        }
        let owner = try value(0, join.owner.keyType, join.owner.name)
        var key: String?
        if join.property.isMap, case .string(let text) = try value(1, .string, "key") { key = text }
        return (owner, key, try value(2, join.target.keyType, join.target.name))
    }

    private func read(_ plan: RelationalPlan, into importer: Importer) throws {
        let fields = try importer.fields(ofTableClass: plan.className)
        let classSchema = fields.classSchema
        let columns = try plan.columns.map { try fields.property($0.property, for: $0.name) }
        let emptied = options.collectionsToEmpty(
            joins.filter { table(of: $0) == plan.table }.map(\.property), of: plan.table,
            in: classSchema)
        let rows = try origin.rows(plan, importer)
        let decoder = RelationalDecoder(
            importer, plan, columns, classSchema, rows, databaseName: origin.dialect.name)
        var nullArrays: [Int: Int] = [:]
        var number = 0
        while try rows.next() {
            number += 1
            rowsDone += 1
            let line = plan.hasNumber && !plan.isNumbered ? Int(rows.int(0)) : number
            let location = RowLocation(table: plan.table, line: line)
            try importer.take(location) {
                decoder.record()
            } decode: {
                if try decoder.insertDirectly() { return .stored }
                var row = DecodedRow(classSchema)
                if plan.isNumbered { row.number = rows.int(0) }
                try decoder.decode(into: &row, location) { nullArrays[$0, default: 0] += 1 }
                for position in emptied { row.values[position] = .list([]) }
                return .values(row)
            }
        }
        for (index, count) in nullArrays.sorted(by: { $0.key < $1.key }) {
            let name = "'\(plan.table).\(plan.columns[index].name)'"
            notes.append(
                count == 1
                    ? "1 NULL in \(name) became an empty list"
                    : "\(count) NULLs in \(name) became empty lists")
        }
    }
}

/// Decodes the rows of a table into values of a class.
struct RelationalDecoder {
    private let importer: Importer
    private let plan: RelationalPlan
    private let classSchema: ClassSchema
    private let rows: any RelationalRowReader
    private let databaseName: String
    /// The columns that are imported, and the positions of their properties.
    private let fields: [(column: Int, position: Int)]
    /// Whether every column has the type of its property, so that rows need no conversion.
    private let isDirect: Bool

    init(
        _ importer: Importer, _ plan: RelationalPlan, _ columns: [FieldTable.Field],
        _ classSchema: ClassSchema, _ rows: any RelationalRowReader, databaseName: String
    ) {
        self.importer = importer
        self.plan = plan
        self.classSchema = classSchema
        self.rows = rows
        self.databaseName = databaseName
        fields = columns.enumerated().compactMap { index, field in
            if case .property(let position) = field { (index, position) } else { nil }
        }
        isDirect =
            !plan.isNumbered
            && fields.allSatisfy { index, position in
                let (column, property) = (plan.columns[index], classSchema.properties[position])
                let type = property.type
                return property.isSingle && !column.isArray && column.source.typeColumn == nil
                    && column.type ?? type == type
                    && ![.object, .mixed, .decimal, .objectID].contains(type)
            }
    }

    /// Stores the row without creating values; returns false if it needs more than an insertion.
    func insertDirectly() throws -> Bool {
        guard isDirect, let inserter = try importer.directInserter(of: classSchema) else {
            return false
        }
        inserter.clear()
        // The general path converts the values again.
        let changeCount = importer.changeCount
        for (index, position) in fields {
            let (field, type) = (plan.offset + index, classSchema.properties[position].type)
            if rows.isNull(field) {
                inserter.set(position, .null)
            } else if try !rows.pass(field, plan.columns[index], as: type, position, to: inserter) {
                inserter.clear()
                importer.changeCount = changeCount
                return false
            }
        }
        do {
            try inserter.insert()
        } catch let error as StoreError where error.code == .duplicateKey {
            // The general path reports the key.
            importer.changeCount = changeCount
            return false
        }
        return true
    }

    /// Decodes the row; `recordNullArray` receives the index of each array that is NULL.
    func decode(
        into row: inout DecodedRow, _ location: RowLocation, recordNullArray: (Int) -> Void
    ) throws {
        for (index, position) in fields {
            if plan.columns[index].isArray, rows.isNull(plan.offset + index) {
                recordNullArray(index)
            }
            row.values[position] = try value(index, of: classSchema.properties[position], location)
        }
    }

    /// Returns the value of a column for a property; nil for a collection that is NULL.
    private func value(
        _ index: Int, of property: Property, _ location: RowLocation
    ) throws -> Value? {
        let (column, field) = (plan.columns[index], plan.offset + index)
        if rows.isNull(field) { return property.isSingle ? .null : nil }
        let found = try rows.value(field, column, for: property.type)
        if case .list(let elements) = found {
            return .list(try list(elements, column, of: property))
        }
        let target = importer.store.view.schema.target(of: property)
        if property.isSingle, property.type == .object, let target, !target.isEmbedded {
            guard let key = Self.converted(found, to: target.keyType) else {
                throw mismatch(found, property)
            }
            if target.primaryKey == nil, case .int(let number) = key {
                return try importer.link(toNumber: number, of: target, location)
            }
            return try importer.link(to: key, of: target, location)
        }
        if case .string(let text) = found, isJSON(text, index, property) {
            return try JSONField.value(
                text, of: property, in: classSchema, importer: importer, at: location,
                container: "\(databaseName) columns")
        }
        guard property.isSingle else { throw mismatch(found, property) }
        return try converted(found, property)
    }

    /// Returns whether the text of a column is the value of a property as JSON.
    private func isJSON(_ text: String, _ index: Int, _ property: Property) -> Bool {
        let target = importer.store.view.schema.target(of: property)
        return !property.isSingle || target?.isEmbedded == true
            || rows.isJSON(text, plan.typeIndex(plan.columns[index]), plan.columns[index])
    }

    private func list(
        _ elements: [Value], _ column: RelationalPlan.Column, of property: Property
    ) throws -> [Value] {
        guard property.collection != nil else {
            throw importer.mismatch(property, classSchema, got: "an array", nil)
        }
        return try elements.map { element in
            guard column.type == .mixed, case .string(let text) = element else {
                return try converted(element, property)
            }
            let tape = JSONTape()
            try JSONText.read(Array(text.utf8), onto: tape)
            return try MixedJSON(link: { name, _ in
                throw FormatError("an array of JSON cannot link to '\(name)'")
            }).value(JSONNode(tape))
        }
    }

    // MARK: Conversions

    /// Converts a value to the type of a property, rounded if the options permit it.
    private func converted(_ value: Value, _ property: Property) throws -> Value {
        if let value = Self.converted(value, to: property.type) { return value }
        if let text = Self.digits(value), let value = importer.rounded(text, as: property.type) {
            return value
        }
        throw mismatch(value, property)
    }

    /// Converts a value of a database to a type; nil if the type cannot represent it exactly.
    ///
    /// Every database has the same conversions: numbers that have the same value, text in the notation of the type, text
    /// for dates and UUIDs, and bytes for identifiers.
    static func converted(_ value: Value, to type: PropertyType) -> Value? {
        switch (value, type) {
        case (.null, _), (_, .mixed), (.bool, .bool), (.int, .int), (.float, .float),
            (.double, .double), (.string, .string), (.data, .data), (.date, .date):
            return value
        case (.fixed(let fixed), .fixed(let type)) where fixed.type == type: return value
        case (.string(let text), _): return ValueText.value(text, as: type)
        case (.int(let number), .bool): return number == 0 || number == 1 ? .bool(number == 1) : nil
        case (.float(let number), .double): return .double(Double(number))
        case (.double(let number), .float) where Double(Float(number)) == number:
            return .float(Float(number))
        // The shortest digits of a large double are those of another whole number.
        case (.int(let number), .float): return Float(exactly: number).map(Value.float)
        case (.int(let number), .double): return Double(exactly: number).map(Value.double)
        case (.float(let number), .int): return Int64(exactly: number).map(Value.int)
        case (.double(let number), .int): return Int64(exactly: number).map(Value.int)
        case (.int, .decimal), (.float, .decimal), (.double, .float), (.double, .decimal):
            return digits(value).flatMap { ValueText.value($0, as: type) }
        case (.date, .string), (.fixed, .string): return ValueText.text(value).map(Value.string)
        case (.data(let bytes), .fixed(let type)):
            return FixedValue(type, bytes: bytes).map(Value.fixed)
        default: return nil
        }
    }

    /// Returns the digits of a number, or a text; nil for other values.
    private static func digits(_ value: Value) -> String? {
        switch value {
        case .int, .float, .double, .string: ValueText.text(value)
        default: nil
        }
    }

    private func mismatch(_ value: Value, _ property: Property) -> StoreError {
        importer.mismatch(property, classSchema, got: value.summary, Self.digits(value))
    }

    // MARK: Reports

    /// Returns the row as a line of JSON, which an import of JSON Lines accepts.
    func record() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("$class", plan.className)
        if plan.isNumbered { json.member("$key", rows.int(0)) }
        let encoder = RowEncoder(view: importer.store.view)
        for (index, column) in plan.columns.enumerated() {
            json.key(column.property)
            let property = fields.first { $0.column == index }.map {
                classSchema.properties[$0.position]
            }
            switch (try? rows.value(plan.offset + index, column, for: .mixed), property) {
            case (.string(let text)?, let property?)
            where isJSON(text, index, property)
                && (try? JSONText.read(Array(text.utf8), onto: JSONTape())) != nil:
                // Line breaks of JSON are only between values.
                json.number(String(text.map { $0.isNewline ? " " : $0 }))
            case (let value?, let property?) where property.type == .mixed && property.isSingle:
                if (try? encoder.write(value, property, to: &json)) == nil { json.value(value) }
            case (let value?, _): json.value(value)
            // A value that JSON cannot represent, such as text that is not UTF-8, keeps its bytes.
            case (nil, _):
                json.value(.dictionary(["$binary": .data(rows.bytes(plan.offset + index))]))
            }
        }
        json.endObject()
        return json.bytes
    }
}

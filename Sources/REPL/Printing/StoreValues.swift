import Charts
import EventLoops
import LuaHost
import ObjectStore
import StoreBindings
import SystemCalls

/// Describes values of a store for the printer: objects as records, Results and lists of objects as grids.
///
/// Thread: the script's thread. Reads only what it shows: the first rows, and the counts of lists.
struct StoreValues {
    let module: StoreModule

    /// Returns the description of a value for the printer; nil for values that do not belong to a store.
    func describe(_ value: LuaValue, limits: PrintLimits) -> Described? {
        if case .table(let table) = value {
            // Errors do not occur here: only reading sections can fail, and sections are not tables.
            if let chart = try? module.chart(of: value) { return .chart(chart) }
            return grid(of: table, limits)
        }
        do {
            switch module.inspect(value) {
            case .object(let object): return try record(object, limits)
            case .results(let results): return try grid(results, limits)
            case .sections(let sections): return try grid(sections, limits)
            case .collection(let list as LiveList):
                return try describe(list, limits) { try list.element(at: $0) }
            case .collection(let set as LiveSet):
                return try describe(set, limits) { try set.element(at: $0) }
            case .collection(let map as LiveMap): return try describe(map, limits)
            case .values(let values): return try describe(values, limits)
            case .nested(let nested): return try describe(nested, limits)
            case .projection(let projection): return try record(projection, limits)
            case .projectedResults(let results): return try grid(results, limits)
            case .text(let text): return .text(text)
            case .collection, .store, .token: return nil
            case nil: return try module.chart(of: value).map(Described.chart)
            }
        } catch {
            return .text(Self.invalid(value, error))
        }
    }

    private static func invalid(_ value: LuaValue, _ error: any Error) -> String {
        (error as? StoreError).map { "<\($0.scriptMessage)>" } ?? "<\(error)>"
    }

    // MARK: - Objects

    private func record(_ object: LiveObject, _ limits: PrintLimits) throws -> Described {
        guard object.isValid else {
            let state = object.source.isOpen ? "deleted" : "of a closed store"
            return .text("\(object.classSchema.name) (\(state))")
        }
        let fields = try object.classSchema.properties.map { property in
            let cell = try cell(of: property, object, limits)
            return Field(property.name, Self.text(of: cell, limits.string), cell.role)
        }
        let name = object.classSchema.name
        return .record(
            name: object.source.view.isFrozen ? "frozen \(name)" : name, fields: fields, remark: nil
        )
    }

    private func record(_ projection: ProjectionHandle, _ limits: PrintLimits) throws -> Described {
        let name = "projection of \(projection.className)"
        guard projection.isValid else { return .text("\(name) (deleted)") }
        let fields = zip(projection.names, try projection.values()).map { name, value in
            let cell = cell(of: value, projection.objects)
            return Field(name, Self.text(of: cell, limits.string), cell.role)
        }
        return .record(name: name, fields: fields, remark: nil)
    }

    private func grid(_ results: ProjectedResultsHandle, _ limits: PrintLimits) throws -> Described
    {
        let name = "projections of \(results.className)"
        guard results.isValid else { return .text("\(name) (invalid)") }
        let rows = try results.rows(limits.rows)
        let columns = results.names.enumerated().map { index, name in
            Grid.Column(
                name: name, type: "",
                isNumeric: rows.contains { Self.isNumber($0[index]) }
                    && rows.allSatisfy { Self.isNumber($0[index]) || $0[index] == .null })
        }
        let count = try results.count()
        return .grid(
            Grid(
                title: "\(name) (\(ValueText.count(count)))", columns: columns,
                rows: rows.map { row in
                    row.map { Self.oneLine(cell(of: $0, results.objects).text) }
                },
                count: count, thing: ("projection", "projections")))
    }

    private struct Cell {
        var text: String
        var role: Style.Role
        var isText = false
    }

    private func cell(of property: Property, _ object: LiveObject, _ limits: PrintLimits) throws
        -> Cell
    {
        if property.isBacklinks {
            let count = try Results(backlinks: property, of: object).count()
            let name = property.origin?.className ?? "object"
            return Cell(text: ValueText.count(count, name, name), role: .dim)
        }
        if let collection = property.collection {
            let count =
                switch collection {
                case .list: try object.list(property.name).count()
                case .set: try object.set(property.name).count()
                case .map: try object.map(property.name).count()
                }
            if property.type == .object || count > 6 {
                let name = property.target ?? property.type.rawValue
                return Cell(text: ValueText.count(count, name, name), role: .dim)
            }
            let parts: [String]
            if collection == .map {
                parts = try object.map(property.name).entries().map { entry in
                    let value = Self.text(of: cell(of: entry.value, object.source), 40)
                    return "\(ValueText.key(LuaString(entry.key))) = \(value)"
                }
            } else {
                guard case .list(let values) = try object.value(property.name) else {
                    return Cell(text: "{}", role: .plain)
                }
                parts = values.map { Self.text(of: cell(of: $0, object.source), 40) }
            }
            return Cell(
                text: parts.isEmpty ? "{}" : "{ \(parts.joined(separator: ", ")) }", role: .plain)
        }
        return cell(of: try object.value(property.name), object.source)
    }

    private func cell(of value: Value, _ source: ObjectSource) -> Cell {
        switch value {
        case .null: Cell(text: "nil", role: .dim)
        case .bool(let flag): Cell(text: "\(flag)", role: .word)
        case .int, .float, .double, .decimal: Cell(text: value.summary, role: .number)
        case .string(let text): Cell(text: text, role: .string, isText: true)
        case .object(let reference): Cell(text: label(reference, source), role: .type)
        case .date, .fixed, .data: Cell(text: value.summary, role: .type)
        case .list(let elements):
            Cell(text: braced(elements.map { ("", $0) }, source), role: .plain)
        case .dictionary(let entries):
            Cell(
                text: braced(
                    entries.sorted { $0.key < $1.key }.map {
                        ("\(ValueText.key(LuaString($0.key))) = ", $0.value)
                    }, source),
                role: .plain)
        }
    }

    /// Returns the first elements of a collection in a mixed value, on one line; nested collections as their counts.
    private func braced(_ elements: [(name: String, value: Value)], _ source: ObjectSource)
        -> String
    {
        var parts = elements.prefix(6).map { name, value in
            switch value {
            case .list, .dictionary: return name + value.summary
            default:
                return name + Self.text(of: cell(of: value, source), 40)
            }
        }
        if elements.count > 6 { parts.append("… (\(elements.count))") }
        return parts.isEmpty ? "{}" : "{ \(parts.joined(separator: ", ")) }"
    }

    private func describe(_ nested: NestedCollection, _ limits: PrintLimits) throws -> Described {
        let name = nested.kind == .list ? "list" : "map"
        guard nested.isValid else { return .text("\(name) in a mixed value (invalid)") }
        let value = try nested.value()
        let elements: [(name: String?, value: Value)]
        switch value {
        case .list(let values): elements = values.map { (nil, $0) }
        case .dictionary(let entries):
            elements = entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        default: elements = []
        }
        let fields = elements.prefix(limits.items).map { name, value in
            let cell = cell(of: value, nested.source)
            return Field(name, Self.text(of: cell, limits.string), cell.role)
        }
        if nested.kind == .list {
            return .sequence(name: "list", items: fields, count: elements.count)
        }
        let rest = elements.count - fields.count
        return .record(
            name: "map", fields: fields, remark: rest > 0 ? "\(ValueText.count(rest)) more" : nil)
    }

    /// Returns a short label of an object: its class, its key, and the first text other than the key.
    private func label(_ reference: ObjectReference, _ source: ObjectSource) -> String {
        guard let object = source.object(reference) else { return "an object" }
        let schema = object.classSchema
        var parts = [schema.name]
        if let key = schema.primaryKey, let value = try? object.value(key.name) {
            parts.append(Self.oneLine(cell(of: value, source).text))
        }
        let name = schema.properties.first { $0.type == .string && $0.isSingle && !$0.isPrimary }
        if let name, case .string(let text)? = try? object.value(name.name) {
            parts.append(ValueText.quoted(text.utf8, limit: 24).text)
        }
        return parts.joined(separator: " ")
    }

    // MARK: - Collections

    private func grid(_ results: Results, _ limits: PrintLimits) throws -> Described {
        guard results.isValid else { return .text("Results (invalid)") }
        let schema = try results.classSchema()
        let count = try results.count()
        // Finding the first rows in order costs less than sorting all of them.
        let first = count > 1_000 ? try results.limited(to: limits.rows) : results
        let keys = count == 0 ? [] : Array(try first.keys().array.prefix(limits.rows))
        let objects = keys.map { results.source.object(schema, $0) }
        return .grid(
            try grid(
                schema, objects, count: count, limits,
                title: "Results of \(schema.name) (\(ValueText.count(count)))"))
    }

    /// Describes sections as a table of keys and counts, with bars.
    private func grid(_ sections: SectionedResults, _ limits: PrintLimits) throws -> Described {
        guard sections.isValid else { return .text("Sections (invalid)") }
        let count = try sections.count()
        let shown = try (0..<min(count, limits.rows)).map { index in
            let (key, objects) = try sections.section(at: index)
            return (
                key: Self.oneLine(cell(of: key, sections.results.source).text),
                count: try objects.count()
            )
        }
        let greatest = shown.map(\.count).max() ?? 0
        let className = try sections.results.classSchema().name
        let isNumeric = try sections.keys().prefix(limits.rows).allSatisfy(Self.isNumber)
        return .grid(
            Grid(
                title:
                    "Sections of \(className) by \(sections.keyPath) (\(ValueText.count(count)))",
                columns: [
                    Grid.Column(name: sections.keyPath, type: "", isNumeric: isNumeric),
                    Grid.Column(name: "count", type: "", isNumeric: true),
                    Grid.Column(name: "", type: "", isNumeric: false),
                ],
                rows: shown.map { section in
                    [
                        section.key, ValueText.count(section.count),
                        BarChart.text(section.count, of: greatest, width: Self.barWidth),
                    ]
                },
                count: count, thing: ("section", "sections")))
    }

    private static let barWidth = 20

    private static func isNumber(_ value: Value) -> Bool { value.type?.isNumeric == true }

    /// Describes a map by its keys and values.
    private func describe(_ map: LiveMap, _ limits: PrintLimits) throws -> Described {
        let name = Self.name(of: map)
        guard map.isValid else { return .text("\(name) (invalid)") }
        let entries = try map.entries()
        let fields = entries.prefix(limits.items).map { entry in
            let cell = cell(of: entry.value, map.source)
            return Field(entry.key, Self.text(of: cell, limits.string), cell.role)
        }
        return .sequence(name: name, items: fields, count: entries.count)
    }

    private func describe(_ values: CollectionValues, _ limits: PrintLimits) throws -> Described {
        guard values.isValid else { return .text("Values (invalid)") }
        let all = try values.values()
        let fields = all.prefix(limits.items).map { value in
            let cell = cell(of: value, values.source)
            return Field(nil, Self.text(of: cell, limits.string), cell.role)
        }
        let name = "Values of \(values.property.elementTypeName)"
        return .sequence(name: name, items: fields, count: all.count)
    }

    private static func name(of collection: some LiveCollection) -> String {
        let kind = collection.property.collection?.name ?? "collection"
        return "\(kind) \(collection.classSchema.name).\(collection.property.name)"
    }

    private static func text(of cell: Cell, _ limit: Int) -> String {
        guard cell.isText else { return cell.text }
        let (text, hidden) = ValueText.quoted(cell.text.utf8, limit: limit)
        return hidden > 0 ? "\(text) … \(ValueText.count(hidden)) more bytes" : text
    }

    /// Describes a list or a set: as a grid of its objects, or as a sequence of its values.
    private func describe(
        _ list: some LiveCollection, _ limits: PrintLimits, element: (Int) throws -> Value?
    ) throws -> Described {
        let name = Self.name(of: list)
        guard list.isValid else { return .text("\(name) (invalid)") }
        let count = try list.count()
        if list.property.type == .object,
            let schema = list.source.view.schema.target(of: list.property)
        {
            let objects = try (0..<min(count, limits.rows)).compactMap { index -> LiveObject? in
                guard case .object(let reference)? = try element(index) else { return nil }
                return list.source.object(reference)
            }
            return .grid(
                try grid(
                    schema, objects, count: count, limits,
                    title: "\(name) (\(ValueText.count(count)))"))
        }
        let fields = try (0..<min(count, limits.items)).compactMap { index -> Field? in
            guard let value = try element(index) else { return nil }
            let cell = cell(of: value, list.source)
            let text = Self.text(of: cell, limits.string)
            if index % 64 == 63 { try module.state.checkMemory() }
            return Field(nil, text, cell.role)
        }
        return .sequence(name: name, items: fields, count: count)
    }

    private func grid(of table: LuaTable, _ limits: PrintLimits) -> Described? {
        let count = table.count
        guard count > 0 else { return nil }
        var objects: [LiveObject] = []
        for index in 1...min(count, limits.rows) {
            guard case .object(let object)? = module.inspect(table[index]),
                objects.first.map({ $0.classSchema.table == object.classSchema.table }) ?? true
            else { return nil }
            objects.append(object)
        }
        guard let schema = objects.first?.classSchema else { return nil }
        let title = "array of \(schema.name) (\(ValueText.count(count)))"
        return (try? grid(schema, objects, count: count, limits, title: title)).map(Described.grid)
    }

    private func grid(
        _ schema: ClassSchema, _ objects: [LiveObject], count: Int, _ limits: PrintLimits,
        title: String
    ) throws -> Grid {
        let columns = schema.properties.map { property in
            Grid.Column(
                name: property.name, type: property.typeName,
                isNumeric: property.type.isNumeric && property.isSingle)
        }
        let rows = try objects.map { object -> [String] in
            guard object.isValid else {
                return schema.properties.indices.map { $0 == 0 ? "(deleted)" : "" }
            }
            return try schema.properties.map { property in
                Self.oneLine(try cell(of: property, object, limits).text)
            }
        }
        return Grid(
            title: title, columns: columns, rows: rows, count: count,
            thing: (schema.name, schema.name))
    }

    /// Returns the text of a cell on one line; of a long text only what can fit into a window.
    private static func oneLine(_ text: String) -> String {
        ControlCharacters.escaped(String(text.prefix(longestCell)), onOneLine: true)
    }

    private static let longestCell = 1_000
}

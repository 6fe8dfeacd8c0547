import ColumnStorage

/// One key of a sort order.
package struct SortKey: Hashable, Sendable {
    /// The path to the value; for `items.@count` the path to the counted objects, for `@rank` to the first searched
    /// text.
    package let path: PropertyPath
    /// The searches whose scores are added for `@rank`; empty for all other keys.
    let searches: [TextSearch]
    /// Whether the order is ascending, with nil first and then small values.
    package let ascending: Bool
    /// Every key path that the value depends on.
    package let dependencies: [PropertyPath]
    /// The text of the key.
    package let description: String

    /// The computed value of each object; nil if the path itself leads to the value.
    let computed: ComputedValue?
    /// The compiled form that reads the value.
    let reading: SortReading

    /// The type of the values; values of a mixed property, or inside one, may be of any type.
    let type: PropertyType

    /// Creates a sort key from a path.
    ///
    /// Throws `invalid_query` for a path through a list, to a link or to data.
    package init(_ path: PropertyPath, ascending: Bool) throws {
        try path.checkSingle(for: "sorting")
        if let last = path.components.last {
            guard last.target == nil else {
                throw StoreError(
                    .invalidQuery,
                    "the key path '\(path.description)' ends in the link '\(last.property.name)'; "
                        + "sort by one of its properties")
            }
            guard last.property.type != .data else {
                throw StoreError(
                    .invalidQuery, "cannot sort by '\(path.description)', which is data")
            }
        }
        self.path = path
        self.ascending = ascending
        searches = []
        dependencies = [path]
        description = path.description
        type = path.components.last?.property.type ?? .bool
        computed = nil
        reading = SortReading(path)
    }

    /// Parses a sort key of a class.
    ///
    /// The key is a key path, a path with an operation or an index such as `items.@count`, `items.@max.price` or
    /// `items[1].price`, or a path into a mixed value. Throws `invalid_query` for a path that defines no order.
    package init(
        _ text: String, ascending: Bool, class classSchema: ClassSchema, schema: Schema
    ) throws {
        guard ComputedValue.isMeant(by: text, class: classSchema, schema: schema) else {
            try self.init(
                PropertyPath.parse(text, class: classSchema, schema: schema), ascending: ascending)
            return
        }
        do throws(QueryFault) {
            let syntax = try PredicateParser.parsePath(text)
            try self.init(
                syntax, 0..<text.utf8.count, text, ascending: ascending, class: classSchema,
                schema: schema)
        } catch {
            throw error.rendered(in: text)
        }
    }

    /// Compiles a path that is more than names and dots.
    init(
        _ syntax: PathSyntax, _ range: Range<Int>, _ text: String, ascending: Bool,
        class classSchema: ClassSchema, schema: Schema
    ) throws(QueryFault) {
        let value = try ComputedValue(
            syntax, range, for: "sorting", class: classSchema, schema: schema)
        guard value.type != .data, let path = value.dependencies.first else {
            throw QueryFault("cannot sort by data", at: range)
        }
        self.path = path
        self.ascending = ascending
        searches = []
        dependencies = value.dependencies
        description = text
        type = value.type
        computed = value
        reading = SortReading(value)
    }

    /// Returns the key with the same meaning in another schema.
    func remade(class classSchema: ClassSchema, schema: Schema) throws -> SortKey {
        guard computed != nil else { return self }
        return try SortKey(
            description, ascending: ascending, class: classSchema, schema: schema)
    }

    /// Returns whether both keys define the same order.
    package static func == (left: SortKey, right: SortKey) -> Bool {
        left.ascending == right.ascending && left.description == right.description
            && left.dependencies == right.dependencies && left.searches == right.searches
    }

    /// Hashes the path and the direction.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(description)
        hasher.combine(ascending)
        hasher.combine(path)
    }

    /// Whether objects whose values have the same code have the same value.
    ///
    /// The code of nil equals that of the smallest integer.
    var isExactlyCoded: Bool {
        switch type {
        case .double: true
        case .bool, .int, .date:
            computed == nil && path.components.count == 1
                && path.components[0].property.isOptional == false
        default: false
        }
    }

    /// Returns the key bound to a view, ready to read values.
    func bound(to view: StoreView) throws -> BoundSortKey {
        try BoundSortKey(reading, ascending: ascending, in: view)
    }
}

extension PropertyPath {
    /// Throws `invalid_query` unless each object has exactly one value for the key, possibly null.
    func checkSingle(for purpose: String) throws {
        guard let list = components.first(where: \.isToMany) else { return }
        throw StoreError(
            .invalidQuery,
            "the key path '\(description)' goes through the list '\(list.property.name)'; "
                + "\(purpose) needs one value of each object")
    }

    /// Returns the compiled path; adds its tables to `tables`, whose indexes are its slots.
    func compiled(_ tables: inout [TableID]) -> CompiledPath {
        func slot(_ table: TableID) -> Int {
            if let slot = tables.firstIndex(of: table) { return slot }
            tables.append(table)
            return tables.count - 1
        }
        var hops: [CompiledPath.Hop] = []
        var terminal = CompiledPath.Terminal.object
        for (index, component) in components.enumerated() {
            let property = component.property
            let isLast = index == components.count - 1
            if let origin = component.origin {
                hops.append(.backlinks(slot: slot(origin.table), origin.column))
            } else if property.type == .object, property.collection != nil {
                let slot = slot(component.table)
                hops.append(
                    property.collection == .map
                        ? .entries(slot: slot, property.column)
                        : .list(slot: slot, property.column))
            } else if property.collection != nil {
                terminal = .elements(slot: slot(component.table), ColumnSource(property))
            } else if property.type == .object, !isLast {
                hops.append(.link(slot: slot(component.table), property.column))
            } else {
                terminal = .value(slot: slot(component.table), ColumnSource(property))
            }
        }
        return CompiledPath(hops: hops, terminal: terminal)
    }
}

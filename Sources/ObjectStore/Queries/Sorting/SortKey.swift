import ColumnStorage

/// One key of an order.
package struct SortKey: Hashable, Sendable {
    /// The way to the value; for `items.@count` the way to what is counted, for `@rank` to the first
    /// text that is searched.
    package let path: PropertyPath
    /// For `@rank` the searches whose scores are added up; empty for all other keys.
    let searches: [TextSearch]
    /// Whether small values, and before them nil, come first.
    package let ascending: Bool
    /// Every key path that the value depends on.
    package let dependencies: [PropertyPath]
    /// The key as it was written.
    package let description: String

    /// The computed value of each object; nil if the path itself leads to the value.
    let computed: ComputedValue?
    /// How the value is read.
    let reading: SortReading

    /// The type of the values; those of a mixed property, or inside one, may be of any type.
    let type: PropertyType

    /// Makes a key.
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

    /// Reads a key of a class: a key path, or a path with an operation or an index such as
    /// `items.@count`, `items.@max.price`, `items[1].price`, or into a mixed value.
    ///
    /// Throws `invalid_query` for a path that gives no order.
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

    /// Gives a path that is more than names and dots its meaning.
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

    /// The key with the same meaning in another schema.
    func remade(class classSchema: ClassSchema, schema: Schema) throws -> SortKey {
        guard computed != nil else { return self }
        return try SortKey(
            description, ascending: ascending, class: classSchema, schema: schema)
    }

    /// Whether both order alike.
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
    /// The code of nil is also that of the smallest integer.
    var isExactlyCoded: Bool {
        switch type {
        case .double: true
        case .bool, .int, .date:
            computed == nil && path.components.count == 1
                && path.components[0].property.isOptional == false
        default: false
        }
    }

    /// The key ready to be read in a view.
    func bound(to view: StoreView) -> BoundSortKey {
        BoundSortKey(reading, ascending: ascending, in: view)
    }
}

extension PropertyPath {
    /// Throws `invalid_query` unless an object has exactly one value, perhaps nil, here.
    func checkSingle(for purpose: String) throws {
        guard let list = components.first(where: \.isToMany) else { return }
        throw StoreError(
            .invalidQuery,
            "the key path '\(description)' goes through the list '\(list.property.name)'; "
                + "\(purpose) needs one value of each object")
    }

    /// The path with its tables at places in `tables`, which grows as needed.
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

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
    /// The path to the sorted value; nil for `@rank`.
    let value: ValuePath?
    /// The compiled form that reads the value.
    let reading: PathReading

    /// The type of the values; values of a mixed property, or inside one, may be of any type.
    let type: PropertyType

    /// Creates a sort key from a path of names and dots.
    ///
    /// Throws `invalid_query` for a path through a list, to a link or to data.
    package init(_ path: PropertyPath, ascending: Bool) throws {
        try self.init(ValuePath(path), ascending: ascending)
    }

    /// Parses a sort key of a class.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a path that defines no order.
    package init(
        _ text: String, ascending: Bool, class classSchema: ClassSchema, schema: Schema
    ) throws {
        try self.init(
            ValuePath(text, class: classSchema, schema: schema), ascending: ascending)
    }

    /// Creates a sort key from a path.
    ///
    /// Throws `invalid_query` for a path with several values, to an object, to data or to the name of a type.
    init(_ value: ValuePath, ascending: Bool) throws(StoreError) {
        try value.requireOne(for: "sorting")
        guard value.type != .object, let path = value.dependencies.first else {
            throw StoreError(
                .invalidQuery,
                "the key path '\(value.text)' ends in the link "
                    + "'\(value.dependencies.last?.components.last?.property.name ?? "")'; sort by one of its properties"
            )
        }
        guard value.type != .data else {
            throw StoreError(.invalidQuery, "cannot sort by '\(value.text)', which is data")
        }
        guard !value.isTypeName else {
            throw StoreError(
                .invalidQuery,
                "'\(value.text)' is the name of a type, which has no order; filter by type with "
                    + "where(\"\(value.text) == 'int'\")")
        }
        self.path = path
        self.ascending = ascending
        searches = []
        dependencies = value.dependencies
        description = value.text
        type = value.type
        self.value = value
        reading = value.reading
    }

    /// Returns the key with the same meaning in another schema.
    func remade(class classSchema: ClassSchema, schema: Schema) throws -> SortKey {
        guard let value else { return self }
        return try SortKey(value.remade(class: classSchema, schema: schema), ascending: ascending)
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
            value?.plain != nil && path.components.count == 1
                && path.components[0].property.isOptional == false
        default: false
        }
    }

    /// Returns the key bound to a view, ready to read values.
    func bound(to view: StoreView) throws -> BoundPath { try BoundPath(reading, in: view) }
}

extension PropertyPath {
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

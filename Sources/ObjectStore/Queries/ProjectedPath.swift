import ColumnStorage

/// A path from an object to one value, as used in projections: `name`, `owner.address.city`, `toys[1].name`,
/// `toys.@count`, `notes['food']`.
///
/// Indexes start at 1. After a nil link and for a missing element the value is null; a count or sum is then 0. A path
/// without an aggregate may end in a link, a collection or backlinks.
package struct ProjectedPath: Sendable {
    private enum Step: Sendable {
        case property(Property, of: ClassSchema)
        /// An element by its index, counted from 0.
        case index(Int)
        case first
        case last
        case key(String)
        case keys
    }

    /// The text of the path.
    package let text: String
    private let steps: [Step]
    /// The key that reads a path with an aggregate; nil for a path that the steps follow.
    private let aggregate: SortKey?
    private let isTotal: Bool
    /// Whether the value may be null even if its property is required.
    ///
    /// This applies to values after a link, and to an element, a minimum, a maximum or an average.
    package let isOptional: Bool
    /// The key paths of the properties that determine the value, in the form that observers take.
    package let observed: [String]

    /// Parses a path of a class.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a path with several values.
    package init(_ text: String, class classSchema: ClassSchema, schema: Schema) throws {
        self.text = text
        let syntax: PathSyntax
        do throws(QueryFault) { syntax = try PredicateParser.parsePath(text) } catch {
            throw error.rendered(in: text)
        }
        let operations = syntax.components.filter(\.isAggregate).map { $0.name.lowercased() }
        isTotal = operations.contains { ["count", "size", "sum"].contains($0) }
        guard operations.isEmpty || operations == ["keys"] else {
            let key = try SortKey(text, ascending: true, class: classSchema, schema: schema)
            aggregate = key
            isOptional = !isTotal
            steps = []
            observed = key.dependencies.map(\.description)
            return
        }
        aggregate = nil
        observed = [
            syntax.components.filter { !$0.isAggregate }.map(\.name).joined(separator: ".")
        ]
        let steps: [Step]
        do throws(QueryFault) {
            steps = try Self.steps(syntax, classSchema, schema)
        } catch {
            throw error.rendered(in: text)
        }
        self.steps = steps
        isOptional = steps.enumerated().contains { number, step in
            guard case .property(let property, _) = step else { return true }
            return number < steps.count - 1 && property.isSingle
                && schema.target(of: property)?.isEmbedded == false
        }
    }

    private static func steps(
        _ syntax: PathSyntax, _ classSchema: ClassSchema, _ schema: Schema
    ) throws(QueryFault) -> [Step] {
        var steps: [Step] = []
        var current: ClassSchema? = classSchema
        var isToMany = false
        for component in syntax.components {
            guard !component.isAggregate else {
                steps.append(.keys)
                continue
            }
            guard !isToMany else {
                throw QueryFault(
                    "'\(component.name)' has a value for each element; choose one with [1], [first] or [last]",
                    at: component.range)
            }
            guard let owner = current else {
                throw QueryFault(
                    "the path cannot continue with '\(component.name)'; a value has no properties",
                    at: component.range)
            }
            guard let property = owner.property(named: component.name) else {
                let hint = NearestName.hint(
                    for: component.name, among: owner.properties.map(\.name))
                throw QueryFault(
                    "unknown property '\(component.name)' in '\(owner.name)'\(hint)",
                    at: component.range, isUnknownName: true)
            }
            steps.append(.property(property, of: owner))
            for bracket in component.brackets { steps.append(try step(bracket)) }
            isToMany = !property.isSingle && component.brackets.isEmpty
            current = schema.target(of: property)
        }
        return steps
    }

    private static func step(_ bracket: PathSyntax.Bracket) throws(QueryFault) -> Step {
        switch bracket.form {
        case .index(let index): return .index(Int(clamping: index) - 1)
        case .first: return .first
        case .last: return .last
        case .key(let key): return .key(key)
        case .size, .every, .argument:
            throw QueryFault(
                "a projection needs one element here: an index, first, last or a key",
                at: bracket.range)
        }
    }

    /// The name of the property that the path consists of; nil for a longer path.
    package var ownProperty: String? {
        guard steps.count == 1, case .property(let property, _) = steps[0] else { return nil }
        return property.name
    }

    /// Reads the value for one object, and records the reads if they are tracked.
    ///
    /// Throws `invalid_object` if the object was deleted, `closed`.
    package func value(of key: ObjectKey, in source: ObjectSource) throws -> Value {
        let view = try source.openView()
        guard let (store, reader) = source.tracked else { return try value(of: key, in: view) }
        guard let aggregate else {
            return try value(of: key, in: view) { property, owner, key in
                try store.noteRead(of: property, owner, key, reader)
            }
        }
        for path in aggregate.dependencies {
            try store.noteReads(along: path.components[...], from: key, reader)
        }
        return try value(of: key, in: view)
    }

    /// Reads the value for one object; `note` receives each property that is read.
    ///
    /// Throws `invalid_object` if the object was deleted.
    private func value(
        of key: ObjectKey, in view: StoreView,
        note: (Property, ClassSchema, ObjectKey) throws -> Void = { _, _, _ in }
    ) throws -> Value {
        if let aggregate {
            let value = try aggregate.value(aggregate.bound(to: view).value(key))
            return value == .null && isTotal ? .int(0) : value
        }
        guard case .property(let property, let owner)? = steps.first else { return .null }
        try note(property, owner, key)
        var value = try view.value(property, of: key, in: owner)
        for step in steps.dropFirst() {
            switch (step, value) {
            case (.property(let property, let owner), .object(let reference)):
                try note(property, owner, reference.key)
                value = try view.value(property, of: reference.key, in: owner)
            case (.index(let index), .list(let values)):
                value = values.indices.contains(index) ? values[index] : .null
            case (.first, .list(let values)): value = values.first ?? .null
            case (.last, .list(let values)): value = values.last ?? .null
            case (.key(let key), .dictionary(let values)): value = values[key] ?? .null
            case (.keys, .dictionary(let values)):
                value = .list(values.keys.sorted().map(Value.string))
            default: return .null
            }
        }
        return value
    }
}

extension Store {
    /// Records that a property of an object is read; for backlinks, records a read of the linking objects.
    fileprivate func noteRead(
        of property: Property, _ owner: ClassSchema, _ key: ObjectKey, _ reader: ReadRecorder
    ) throws {
        let component = PropertyPath.Component(property, of: owner, in: view.schema)
        guard let origin = component.origin else {
            return reader.noteRead(of: self, owner.table, key, property.column)
        }
        try noteRead(of: Query(.backlinks(origin.table, origin.column, key), of: origin.table))
    }

    /// Records a read of all values to which a path leads from an object.
    fileprivate func noteReads(
        along path: ArraySlice<PropertyPath.Component>, from key: ObjectKey, _ reader: ReadRecorder
    ) throws {
        guard let component = path.first, let owner = view.schema.find(table: component.table),
            try view.isPresent(ObjectReference(table: component.table, key: key))
        else { return }
        try noteRead(of: component.property, owner, key, reader)
        guard path.count > 1 else { return }
        for reference in try view.value(component.property, of: key, in: owner).links
        where reference.table == component.target {
            try noteReads(along: path.dropFirst(), from: reference.key, reader)
        }
    }
}

extension Value {
    /// The objects that a link, or a collection of links, leads to.
    fileprivate var links: [ObjectReference] {
        switch self {
        case .object(let reference): [reference]
        case .list(let values): values.flatMap(\.links)
        case .dictionary(let values): values.values.flatMap(\.links)
        default: []
        }
    }
}

import ColumnStorage

/// The plain values of a list, a set or a map, optionally filtered, sorted or limited; lazy and live.
///
/// The collection belongs to a property, or is inside a mixed value. Values are computed when they are first read, and
/// kept until the store's version or its open write transaction changes. The values of a map are in the order of their
/// keys. The object is confined to the store's thread.
///
/// Every member that reads throws `closed`, `wrong_thread`, and `invalid_object` if the collection was removed.
package final class CollectionValues {
    /// One step applied to the values.
    package enum Step: Hashable, Sendable {
        /// Sorts by value; ascending, nil comes first and then NaN; equal values keep their order.
        case sort(ascending: Bool)
        /// Keeps the first of equal values.
        case distinct
        /// Keeps the first values, up to a number.
        case limit(Int)
        /// Keeps the values that satisfy a condition.
        case filter(ElementPredicate)
    }

    /// The source of the values.
    enum Origin {
        /// The collection of a property.
        case property(any LiveCollection)
        /// A list or map inside a mixed value.
        case nested(NestedCollection)
    }

    /// The source of the values.
    let origin: Origin
    /// The steps applied to the values, from left to right.
    package let steps: [Step]

    private var kept: Kept?
    private var keptKeys: (stamp: ViewStamp, keys: [String])?

    private struct Kept {
        let stamp: ViewStamp
        let values: [Value]
        /// The positions of the values in the collection; nil if the values are the whole collection in its own order.
        let positions: [Int]?
    }

    /// Creates the values of a collection without reading them.
    ///
    /// Throws `type_mismatch` for a collection of objects, for which ``Results`` is used.
    package convenience init(_ collection: some LiveCollection) throws {
        guard collection.property.type != .object else {
            throw StoreError(
                .typeMismatch,
                "'\(collection.classSchema.name).\(collection.property.name)' holds objects; "
                    + "create results from it")
        }
        self.init(.property(collection), [])
    }

    /// Creates the values of a list or map inside a mixed value without reading them.
    package convenience init(_ nested: NestedCollection) { self.init(.nested(nested), []) }

    init(_ origin: Origin, _ steps: [Step]) {
        self.origin = origin
        self.steps = steps
    }

    /// The store, or the frozen view, from which the values are read.
    package var source: ObjectSource {
        switch origin {
        case .property(let collection): collection.source
        case .nested(let nested): nested.source
        }
    }

    /// The object that owns the collection.
    package var owner: LiveObject {
        switch origin {
        case .property(let collection):
            collection.header.object
        case .nested(let nested): nested.root.owner
        }
    }

    /// The property that contains the collection, or the mixed value with the collection.
    package var property: Property {
        switch origin {
        case .property(let collection): collection.property
        case .nested(let nested): nested.root.property
        }
    }

    /// Whether the collection exists.
    package var isValid: Bool {
        switch origin {
        case .property(let collection): collection.isValid
        case .nested(let nested): nested.isValid
        }
    }

    /// Returns the current values, in order.
    package func values() throws -> [Value] { try current().values }

    /// Returns the number of values.
    package func count() throws -> Int {
        switch origin {
        case .property(let collection) where steps.isEmpty: try collection.count()
        case .nested(let nested) where steps.isEmpty: try nested.count()
        default: try current().values.count
        }
    }

    /// Returns the value at an index; nil past the end; a list or map inside a mixed value is a live handle.
    package func item(at index: Int) throws -> NestedCollection.Item? {
        switch origin {
        // The other values are not read.
        case .property(let set as LiveSet) where steps.isEmpty:
            return try set.element(at: index).map(NestedCollection.Item.value)
        case .property(let list as LiveList) where steps.isEmpty:
            guard property.type == .mixed else {
                return try list.element(at: index).map(NestedCollection.Item.value)
            }
            guard index >= 0, try index < list.count() else { return nil }
            return try NestedCollection.item(at: .element(list, index))
        case .nested(let nested) where steps.isEmpty && nested.kind == .list:
            return try nested.item(at: index)
        default: break
        }
        let current = try current()
        guard current.values.indices.contains(index) else { return nil }
        return try item(at: index, of: current)
    }

    /// Returns the current values, in order; lists and maps inside mixed values are live handles.
    package func items() throws -> [NestedCollection.Item] {
        let current = try current()
        return try current.values.indices.map { try item(at: $0, of: current) }
    }

    private func item(at index: Int, of current: Kept) throws -> NestedCollection.Item {
        let value = current.values[index]
        guard let kind = NestedCollection.Kind(of: value) else { return .value(value) }
        let position = current.positions?[index] ?? index
        switch origin {
        case .nested(let nested):
            let step =
                try keys().map { NestedCollection.Step.key(TextKey($0[position])) }
                ?? .index(position)
            return .nested(NestedCollection(nested.location, nested.path + [step], kind))
        case .property(let map as LiveMap):
            let key = try keys()?[position] ?? ""
            return .nested(NestedCollection(.entry(map, key), [], kind))
        case .property(let list as LiveList):
            return .nested(NestedCollection(.element(list, position), [], kind))
        case .property: return .value(value)
        }
    }

    /// Returns the keys of a map; nil for other collections.
    private func keys() throws -> [String]? {
        let stamp = ViewStamp(source.view)
        if let keptKeys, keptKeys.stamp == stamp { return keptKeys.keys }
        let keys: [String]
        switch origin {
        case .nested(let nested) where nested.kind == .map: keys = try nested.keys()
        case .property(let map as LiveMap): keys = try map.keys()
        default: return nil
        }
        keptKeys = (stamp, keys)
        return keys
    }

    private func current() throws -> Kept {
        let view = try source.openView()
        let stamp = ViewStamp(view)
        let all: [Value]
        switch origin {
        case .property(let collection):
            let rows = try collection.rows()
            if let kept, kept.stamp == stamp { return kept }
            all =
                try collection.count() > 0
                ? view.listValues(collection.property, of: collection.owner, in: rows) : []
        case .nested(let nested):
            nested.recordRead()
            if let kept, kept.stamp == stamp { return kept }
            all = try nested.value().nestedElements.values
        }
        let positions =
            try steps.isEmpty ? nil : Self.positions(of: all, by: steps, of: property)
        let created = Kept(
            stamp: stamp, values: positions?.map { all[$0] } ?? all, positions: positions)
        kept = created
        return created
    }

    /// Returns the positions of the values that remain after some steps, in their order.
    static func positions(
        of values: [Value], by steps: [Step], of property: Property
    ) throws -> [Int] {
        let order = ElementOrder(property)
        return try steps.reduce(Array(values.indices)) { positions, step in
            switch step {
            case .sort(let ascending):
                let elements = positions.map { values[$0].listElement(of: property) }
                return order.sortedPositions(elements, ascending: ascending).map { positions[$0] }
            case .distinct:
                return order.distinctPositions(positions.map { values[$0] }).sorted()
                    .map { positions[$0] }
            case .limit(let count): return Array(positions.prefix(count))
            case .filter(let predicate):
                return try positions.filter { try predicate.matches(values[$0]) }
            }
        }
    }

    /// Returns the values of a property after some steps, in their order.
    static func arranged(_ values: [Value], by steps: [Step], of property: Property) throws
        -> [Value]
    {
        try positions(of: values, by: steps, of: property).map { values[$0] }
    }

    /// Returns the values in ascending or descending order.
    package func sorted(ascending: Bool = true) -> CollectionValues {
        adding(.sort(ascending: ascending))
    }

    /// Returns the values without duplicates; of equal values, the first one remains.
    package func distinct() -> CollectionValues { adding(.distinct) }

    /// Returns at most the first `count` values.
    ///
    /// Throws `invalid_query` for a negative count.
    package func limited(to count: Int) throws -> CollectionValues {
        guard count >= 0 else {
            throw StoreError(.invalidQuery, "a limit cannot be negative; got \(count)")
        }
        return adding(.limit(count))
    }

    func adding(_ step: Step) -> CollectionValues {
        CollectionValues(origin, steps + [step])
    }

    /// Returns the same values in another version, such as a frozen one.
    func moved(to source: ObjectSource) -> CollectionValues {
        switch origin {
        case .property(let collection):
            CollectionValues(.property(collection.header.moved(to: source).collection), steps)
        case .nested(let nested): CollectionValues(.nested(nested.moved(to: source)), steps)
        }
    }

    /// Returns the values after a change that their observer received, as ``NestedCollection/after(_:)`` does.
    package func after(_ change: CollectionChange) -> CollectionValues {
        guard case .nested(let nested) = origin else { return self }
        return CollectionValues(.nested(nested.after(change)), steps)
    }
}

extension CollectionValues {
    /// Returns an aggregate of the values that are not nil, as ``Results/aggregate(_:_:)`` computes it.
    ///
    /// Throws `invalid_query` for values that are not numbers, and for a minimum or a maximum not dates either.
    package func aggregate(_ kind: AggregateKind) throws -> Value {
        let property = property
        try kind.check(property.type, "'\(property.name)'")
        var aggregate = Aggregate(kind, numbersOnly: property.type == .mixed)
        for value in try values() {
            aggregate.add(Scalar(value.listElement(of: property), of: property.type))
        }
        return kind.value(aggregate.result, of: property.type)
    }
}

import ColumnStorage

/// The plain values of a list, a set or a map, perhaps filtered, ordered or cut: lazy and live.
///
/// Nothing is computed until it is asked for; what was computed is kept until the store's version or its
/// open write transaction changes. The values of a map are in the order of their keys. Confined to the
/// store's thread.
///
/// Every member that reads throws `closed`, `wrong_thread`, and `invalid_object` if the owner of the
/// collection was deleted.
package final class CollectionValues {
    /// One thing done to the values.
    package enum Step: Hashable, Sendable {
        /// Orders by value, nil first and NaN last, or the other way round; ties keep their order.
        case sort(ascending: Bool)
        /// Keeps the first of each value.
        case distinct
        /// Keeps the first values.
        case limit(Int)
        /// Keeps what satisfies a condition.
        case filter(ElementPredicate)
    }

    /// The collection that the values come from.
    package let collection: any LiveCollection
    /// What is done to the values, from left to right.
    package let steps: [Step]

    private var kept: (version: UInt64, generation: UInt64, values: [Value])?

    /// Makes the values of a collection; reads nothing.
    ///
    /// Throws `type_mismatch` for a collection of objects, which ``Results`` are for.
    package convenience init(_ collection: some LiveCollection) throws {
        guard collection.property.type != .object else {
            throw StoreError(
                .typeMismatch,
                "'\(collection.classSchema.name).\(collection.property.name)' holds objects; "
                    + "make results of it")
        }
        self.init(collection, [])
    }

    private init(_ collection: any LiveCollection, _ steps: [Step]) {
        self.collection = collection
        self.steps = steps
    }

    /// The values of a collection property of an object.
    convenience init(
        _ source: ObjectSource, _ classSchema: ClassSchema, _ property: Property,
        _ owner: ObjectKey, _ steps: [Step]
    ) {
        let collection: any LiveCollection =
            switch property.collection {
            case .set: LiveSet(source, classSchema, property, owner)
            case .map: LiveMap(source, classSchema, property, owner)
            default: LiveList(source, classSchema, property, owner)
            }
        self.init(collection, steps)
    }

    /// Whether the collection's owner exists, and still has the property.
    package var isValid: Bool { collection.isValid }

    /// The values, in order, as of now.
    package func values() throws -> [Value] {
        let rows = try collection.rows()
        let view = collection.source.view
        if let kept, kept.version == view.version, kept.generation == view.generation {
            return kept.values
        }
        guard try collection.count() > 0 else { return [] }
        let values = Self.arranged(
            view.listValues(collection.property, of: collection.owner, in: rows), by: steps,
            of: collection.property)
        kept = (view.version, view.generation, values)
        return values
    }

    /// What steps make of the values of a property.
    static func arranged(_ values: [Value], by steps: [Step], of property: Property) -> [Value] {
        let order = ElementOrder(property)
        return steps.reduce(values) { values, step in
            switch step {
            case .sort(let ascending):
                let elements = values.map { $0.listElement(of: property) }
                return order.sortedPositions(elements, ascending: ascending).map { values[$0] }
            case .distinct: return order.distinctPositions(values).sorted().map { values[$0] }
            case .limit(let count): return Array(values.prefix(count))
            case .filter(let predicate): return values.filter(predicate.matches)
            }
        }
    }

    /// The values in ascending or descending order.
    package func sorted(ascending: Bool = true) -> CollectionValues {
        adding(.sort(ascending: ascending))
    }

    /// The first of each value.
    package func distinct() -> CollectionValues { adding(.distinct) }

    /// At most the first `count` values.
    ///
    /// Throws `invalid_query` for a negative count.
    package func limited(to count: Int) throws -> CollectionValues {
        guard count >= 0 else {
            throw StoreError(.invalidQuery, "a limit cannot be negative; got \(count)")
        }
        return adding(.limit(count))
    }

    func adding(_ step: Step) -> CollectionValues {
        CollectionValues(collection, steps + [step])
    }

    /// The object that has the collection.
    var owner: LiveObject {
        LiveObject(collection.source, collection.classSchema, collection.owner)
    }

    /// The same values in another version, such as a frozen one.
    func moved(to source: ObjectSource) -> CollectionValues {
        CollectionValues(
            source, collection.classSchema, collection.property, collection.owner, steps)
    }
}

extension CollectionValues {
    /// The sum of the values; nils do not count, and the sum of nothing is 0.
    ///
    /// Ints give an int unless their sum needs more than 64 bits, then a double. Throws `invalid_query`
    /// for values that are no numbers.
    package func sum() throws -> Value {
        switch (try aggregate(.sum), collection.property.type) {
        case (.int(let value), .int): .int(value)
        case (.decimal(let value), _): .decimal(value)
        case (.int(0), .decimal): .decimal(.zero)
        case (let value, _): .double(value.double ?? 0)
        }
    }

    /// The smallest value, nil if there is none.
    ///
    /// Throws `invalid_query` for values that are neither numbers nor dates.
    package func minimum() throws -> Value {
        Results.value(try aggregate(.minimum), collection.property.type)
    }

    /// The largest value, nil if there is none.
    ///
    /// Throws as ``minimum()``.
    package func maximum() throws -> Value {
        Results.value(try aggregate(.maximum), collection.property.type)
    }

    /// The average of the values that are not nil; nil if there is none.
    ///
    /// Throws as ``sum()``.
    package func average() throws -> Value {
        let value = try aggregate(.average)
        if case .decimal(let average) = value { return .decimal(average) }
        return value.double.map(Value.double) ?? .null
    }

    private func aggregate(_ operation: AggregateOperation) throws -> Scalar {
        let property = collection.property
        try Results.checkAggregate(operation, of: property.type, "'\(property.name)'")
        let source = ColumnSource(property)
        var aggregate = Aggregate(operation)
        for value in try values() { aggregate.add(source.scalar(value.listElement)) }
        return aggregate.result
    }
}

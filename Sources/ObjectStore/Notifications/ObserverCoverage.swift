import ColumnStorage

/// The conditions under which an observer is called for an object.
package struct ObserverCoverage {
    /// One condition of the observed query.
    package struct Condition {
        /// The text of the condition.
        package let text: String
        /// Whether the object satisfies the condition.
        package let holds: Bool
        /// The object's values that the condition reads.
        package let values: [(path: String, value: Value)]
    }

    /// The only observed object; nil for a collection.
    package internal(set) var observedObject: ObjectReference?
    /// The class of the observed objects, if the object belongs to another class.
    package internal(set) var otherClass: String?
    /// The conditions of the observed query.
    package internal(set) var conditions: [Condition] = []
    /// Whether the object satisfies all conditions but a limit or `distinct` excludes it, or it is not an element of
    /// the observed list.
    package internal(set) var isCutOff = false
    /// The key paths that limit what the observer receives; empty for all properties.
    package internal(set) var keyPaths: [String] = []
    /// The latest version that was written without notifying the observer.
    package internal(set) var silencedVersion: UInt64?
    /// The pace of the calls; nil if they are not delayed.
    package internal(set) var pace: ObserverPace?
    /// Whether a call is pending because of the pace.
    package internal(set) var isHolding = false
}

extension NotificationToken {
    /// Returns the conditions under which the observer is called for an object.
    ///
    /// The result is nil for observers that do not observe objects or results.
    package func coverage(of object: LiveObject) throws -> ObserverCoverage? {
        guard observer.isActive, let dispatcher = observer.dispatcher else { return nil }
        return try observer.coverage(of: object.reference, in: dispatcher.store.view)
    }
}

extension ObserverCoverage {
    /// Adds the conditions of a query for an object.
    init(
        _ common: ObserverCoverage, _ query: Query, of className: String, _ object: ObjectReference,
        in view: StoreView
    ) throws {
        self = common
        guard object.table == query.table else {
            otherClass = className
            return
        }
        conditions = try query.conditions(for: object.key, in: view)
        if conditions.allSatisfy(\.holds) {
            isCutOff = try !QueryEvaluator.keys(of: query, in: view).contains(object.key)
        }
    }
}

extension Query {
    /// Returns the conditions of a query, evaluated for an object.
    func conditions(for key: ObjectKey, in view: StoreView) throws -> [ObserverCoverage.Condition] {
        try steps.flatMap { step -> [ObserverCoverage.Condition] in
            guard case .filter(let predicate) = step else { return [] }
            let elements = view.schema.find(table: table)
            return try predicate.parts.map { part in
                let tables = try BoundTables(part.tables, in: view)
                let values = try predicate.dependencies.compactMap {
                    path -> (path: String, value: Value)? in
                    guard path.components.count == 1,
                        let property = path.components.first?.property,
                        !property.isBacklinks, part.text.contains(property.name), let elements
                    else { return nil }
                    return (property.name, try view.value(property, of: key, in: elements))
                }
                return try ObserverCoverage.Condition(
                    text: part.text, holds: part.node.matches(tables, key), values: values)
            }
        }
    }
}

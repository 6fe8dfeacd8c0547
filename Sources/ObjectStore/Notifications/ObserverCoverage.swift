import ColumnStorage

/// The conditions under which an observer is called for an object.
package struct ObserverCoverage {
    /// One condition of the observed query.
    package struct Condition {
        /// The condition as it was written.
        package let text: String
        /// Whether the object satisfies it.
        package let holds: Bool
        /// The object's values that the condition looks at.
        package let values: [(path: String, value: Value)]
    }

    /// The only object that is observed; nil for a collection.
    package internal(set) var observedObject: ObjectReference?
    /// The class of the observed objects, if the object is of another one.
    package internal(set) var otherClass: String?
    /// The conditions of the observed query.
    package internal(set) var conditions: [Condition] = []
    /// Whether the object satisfies all conditions and is left out by a limit or `distinct`, or is no element of the
    /// observed list.
    package internal(set) var isCutOff = false
    /// The key paths that count; empty for all.
    package internal(set) var keyPaths: [String] = []
    /// The latest version that was written without notifying the observer.
    package internal(set) var silencedVersion: UInt64?
    /// When calls are delayed.
    package internal(set) var pace: ObserverPace?
    /// Whether a call is pending because of the pace.
    package internal(set) var isHolding = false

    /// Whether a change of a property of the object counts.
    package func covers(_ property: String) -> Bool {
        keyPaths.isEmpty
            || keyPaths.contains { path in
                let first = path.prefix { $0 != "." && $0 != "[" }
                return first == property || first == "*"
            }
    }
}

extension NotificationToken {
    /// The conditions under which the observer is called for an object; nil for observers of other things than objects
    /// and results.
    package func coverage(of object: LiveObject) -> ObserverCoverage? {
        guard observer.isActive, let dispatcher = observer.dispatcher else { return nil }
        return observer.coverage(of: object.reference, in: dispatcher.store.view)
    }
}

extension ObserverCoverage {
    /// Adds what a query asks of an object.
    init(
        _ common: ObserverCoverage, _ query: Query, of className: String, _ object: ObjectReference,
        in view: StoreView
    ) {
        self = common
        guard object.table == query.table else {
            otherClass = className
            return
        }
        conditions = query.conditions(for: object.key, in: view)
        if conditions.allSatisfy(\.holds) {
            isCutOff = !QueryEvaluator.keys(of: query, in: view).contains(object.key)
        }
    }
}

extension Query {
    /// The conditions of a query as they apply to an object.
    func conditions(for key: ObjectKey, in view: StoreView) -> [ObserverCoverage.Condition] {
        steps.flatMap { step -> [ObserverCoverage.Condition] in
            guard case .filter(let predicate) = step else { return [] }
            let elements = view.schema.find(table: table)
            return predicate.parts.map { part in
                let tables = BoundTables(part.tables, in: view)
                let values = predicate.dependencies.compactMap {
                    path -> (path: String, value: Value)? in
                    guard path.components.count == 1,
                        let property = path.components.first?.property,
                        !property.isBacklinks, part.text.contains(property.name), let elements,
                        let value = try? view.value(property, of: key, in: elements)
                    else { return nil }
                    return (property.name, value)
                }
                return ObserverCoverage.Condition(
                    text: part.text, holds: part.node.matches(tables, key), values: values)
            }
        }
    }
}

import ColumnStorage

/// A compiled condition on the objects of one class.
///
/// The condition is immutable and independent of any version, so it can be evaluated in an old and a new view of the
/// same file. It refers to the columns of the schema for which it was compiled.
package struct CompiledPredicate: Sendable {
    /// One of the combined conditions.
    struct Part: Sendable {
        /// The text of the condition.
        let text: String
        let node: any PredicateNode
        /// The tables whose slots the node contains.
        let tables: [TableID]
    }

    /// The text of the condition, for explanations.
    package let text: String
    /// The table of the class.
    package let table: TableID
    /// Every key path that the result depends on.
    ///
    /// A path to a list or to backlinks represents their membership; the values of elements have longer paths.
    package let dependencies: [PropertyPath]

    /// The combined conditions, in ascending order of their cost for one row.
    let parts: [Part]
    /// The full-text searches that determine the order of `@rank`.
    let searches: [TextSearch]

    init(
        text: String, table: TableID, dependencies: [PropertyPath], parts: [Part],
        searches: [TextSearch]
    ) {
        self.text = text
        self.table = table
        self.dependencies = dependencies
        self.searches = searches
        self.parts = parts.enumerated()
            .sorted { ($0.element.node.cost, $0.offset) < ($1.element.node.cost, $1.offset) }
            .map(\.element)
    }

    /// Returns the condition with its tables looked up in a view, for the evaluation of many objects.
    package func bound(to view: StoreView) throws -> BoundPredicate {
        var conditions: [BoundCondition] = []
        conditions.reserveCapacity(parts.count)
        for (index, part) in parts.enumerated() {
            let isAsBefore = index > 0 && parts[index - 1].tables == part.tables
            try conditions.append(
                BoundCondition(
                    text: part.text, node: part.node,
                    tables: isAsBefore
                        ? conditions[index - 1].tables : BoundTables(part.tables, in: view)))
        }
        return BoundPredicate(conditions: conditions)
    }

    /// Returns whether an object matches in a view.
    ///
    /// All values of a missing object are nil, so test its presence first.
    package func matches(_ view: StoreView, _ key: ObjectKey) throws -> Bool {
        try bound(to: view).matches(key)
    }

    /// Returns the conjunction of this condition and another one on the same class.
    func and(_ other: CompiledPredicate) -> CompiledPredicate {
        var known = Set(dependencies)
        return CompiledPredicate(
            text: "(\(text)) and (\(other.text))", table: table,
            dependencies: dependencies + other.dependencies.filter { known.insert($0).inserted },
            parts: parts + other.parts, searches: searches + other.searches)
    }
}

/// A predicate whose tables are looked up in one view.
///
/// The predicate is confined to the view's thread and follows a live view.
package struct BoundPredicate {
    /// The combined conditions; an object matches if all of them hold.
    let conditions: [BoundCondition]

    /// Returns whether an object matches.
    package func matches(_ key: ObjectKey) throws -> Bool {
        for index in conditions.indices
        where try !conditions[index].node.matches(conditions[index].tables, key) {
            return false
        }
        return true
    }

    /// Returns those rows of `among` in a cluster that match.
    package func evaluate(cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = among
        for index in conditions.indices {
            if bits.isEmpty { break }
            bits = try conditions[index].node.evaluate(
                conditions[index].tables, cluster, among: bits)
        }
        return bits
    }
}

/// One condition with its tables looked up in one view.
struct BoundCondition {
    /// The text of the condition.
    let text: String
    let node: any PredicateNode
    let tables: BoundTables

    /// Returns a condition over the same tables that belongs to the same text.
    func with(_ node: any PredicateNode) -> BoundCondition {
        BoundCondition(text: text, node: node, tables: tables)
    }
}

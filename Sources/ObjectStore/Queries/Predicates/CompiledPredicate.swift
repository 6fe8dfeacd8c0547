import ColumnStorage

/// A condition on the objects of one class, checked and ready to run.
///
/// Immutable and independent of any version, so that it can be asked about an old and a new view
/// of the same file. It holds the columns of the schema it was compiled against.
package struct CompiledPredicate: Sendable {
    /// One of the conditions that all must hold.
    struct Part: Sendable {
        /// As it was written.
        let text: String
        let node: any PredicateNode
        /// The values of the arguments in the node.
        let tables: [TableID]
    }

    /// The condition as it was written, for explanations.
    package let text: String
    /// The table of the class.
    package let table: TableID
    /// Every key path that the result depends on.
    ///
    /// A path to a list or to backlinks means their membership; the values of elements have a longer path of their own.
    package let dependencies: [PropertyPath]

    /// The conditions that all must hold, the cheapest for one row first.
    let parts: [Part]
    /// The full-text searches by which `@rank` can order.
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

    /// The condition with its tables looked up in a view: use it to ask about many objects.
    package func bound(to view: StoreView) -> BoundPredicate {
        var tables: [BoundTables] = []
        tables.reserveCapacity(parts.count)
        for (index, part) in parts.enumerated() {
            let isAsBefore = index > 0 && parts[index - 1].tables == part.tables
            tables.append(isAsBefore ? tables[index - 1] : BoundTables(part.tables, in: view))
        }
        return BoundPredicate(parts: parts, tables: tables)
    }

    /// Whether an object matches in a view.
    ///
    /// An object that does not exist reads as all nil: test its presence first.
    package func matches(_ view: StoreView, _ key: ObjectKey) -> Bool {
        bound(to: view).matches(key)
    }

    /// The rows of `among` in a cluster that match.
    package func evaluate(_ view: StoreView, cluster: Int, among: ClusterBits) -> ClusterBits {
        bound(to: view).evaluate(cluster: cluster, among: among)
    }

    /// This condition and another on the same class, as one.
    func and(_ other: CompiledPredicate) -> CompiledPredicate {
        var known = Set(dependencies)
        return CompiledPredicate(
            text: "(\(text)) and (\(other.text))", table: table,
            dependencies: dependencies + other.dependencies.filter { known.insert($0).inserted },
            parts: parts + other.parts, searches: searches + other.searches)
    }
}

/// A condition whose tables are looked up in one view.
///
/// Confined to the view's thread; it follows a live view.
package struct BoundPredicate {
    /// The conditions that all must hold.
    let parts: [CompiledPredicate.Part]
    /// The tables of each of them.
    let tables: [BoundTables]

    /// Whether an object matches.
    package func matches(_ key: ObjectKey) -> Bool {
        for index in parts.indices where !parts[index].node.matches(tables[index], key) {
            return false
        }
        return true
    }

    /// The rows of `among` in a cluster that match.
    package func evaluate(cluster: Int, among: ClusterBits) -> ClusterBits {
        var bits = among
        for index in parts.indices {
            if bits.isEmpty { break }
            bits = parts[index].node.evaluate(tables[index], cluster, among: bits)
        }
        return bits
    }
}

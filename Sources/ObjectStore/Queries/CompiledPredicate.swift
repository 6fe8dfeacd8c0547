import ColumnStorage

/// A condition on the objects of one class, checked and ready to run.
///
/// Immutable and independent of any version, so that it can be asked about an old and a new view
/// of the same file. It holds the columns of the schema it was compiled against.
public struct CompiledPredicate: Sendable {
    /// The condition as it was written, for explanations.
    public let text: String
    /// The table of the class.
    public let table: TableID
    /// Every key path that the result depends on.
    ///
    /// A path to a list or to backlinks stands for their membership; what elements hold has a
    /// longer path of its own.
    public let dependencies: [PropertyPath]

    let node: any PredicateNode
    /// The full-text searches by which `@rank` can order.
    let searches: [TextSearch]
    private let tables: [TableID]

    /// Whether the result for one object depends on nothing but the values on ``dependencies``, so
    /// that after a change only touched objects need to be asked again.
    ///
    /// True for all of today's language.
    public var isIncremental: Bool { true }

    init(
        text: String, table: TableID, dependencies: [PropertyPath], node: any PredicateNode,
        searches: [TextSearch], tables: [TableID]
    ) {
        self.text = text
        self.table = table
        self.dependencies = dependencies
        self.node = node
        self.searches = searches
        self.tables = tables
    }

    /// The condition with its tables looked up in a view: use it to ask about many objects.
    public func bound(to view: StoreView) -> BoundPredicate {
        BoundPredicate(node: node, tables: BoundTables(tables, in: view))
    }

    /// Whether an object matches in a view.
    ///
    /// An object that does not exist reads as all nil: test its presence first.
    public func matches(_ view: StoreView, _ key: ObjectKey) -> Bool {
        bound(to: view).matches(key)
    }

    /// The rows of `among` in a cluster that match.
    public func evaluate(_ view: StoreView, cluster: Int, among: ClusterBits) -> ClusterBits {
        bound(to: view).evaluate(cluster: cluster, among: among)
    }

    /// This condition and another on the same class, as one.
    func and(_ other: CompiledPredicate) -> CompiledPredicate {
        // Places in the list of tables belong to each condition, so the two stay side by side.
        var known = Set(dependencies)
        return CompiledPredicate(
            text: "(\(text)) and (\(other.text))", table: table,
            dependencies: dependencies + other.dependencies.filter { known.insert($0).inserted },
            node: ConjunctionNode([
                node,
                ShiftedNode(node: other.node, offset: tables.count, count: other.tables.count),
            ]),
            searches: searches + other.searches, tables: tables + other.tables)
    }
}

/// A condition whose tables are looked up in one view.
///
/// Confined to the view's thread; it follows a live view.
public struct BoundPredicate {
    fileprivate let node: any PredicateNode
    fileprivate let tables: BoundTables

    /// Whether an object matches.
    public func matches(_ key: ObjectKey) -> Bool {
        node.matches(tables, key)
    }

    /// The rows of `among` in a cluster that match.
    public func evaluate(cluster: Int, among: ClusterBits) -> ClusterBits {
        among.isEmpty ? among : node.evaluate(tables, cluster, among: among)
    }
}

/// A condition compiled for itself inside a larger one: its tables begin further on.
struct ShiftedNode: PredicateNode {
    let node: any PredicateNode
    let offset: Int
    let count: Int
    var cost: Int { node.cost }

    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) -> ClusterBits {
        node.evaluate(tables.shifted(by: offset, count: count), cluster, among: among)
    }

    func matches(_ tables: BoundTables, _ key: ObjectKey) -> Bool {
        node.matches(tables.shifted(by: offset, count: count), key)
    }
}

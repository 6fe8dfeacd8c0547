import ColumnStorage

/// Prepares conditions for a scan of one table.
///
/// The planner evaluates conditions on other tables in advance, measures the selectivity of each condition, and sorts
/// the conditions so that the scan costs least.
struct ScanPlanner {
    /// One or several conditions that a scan evaluates together.
    struct Step {
        /// The texts of the conditions.
        var texts: [String]
        let scan: any ScanNode
        /// A description of the work in advance; nil for a plain test of each row.
        var note: String?
        /// The fraction of rows that match, measured on some clusters; nil if it was not measured.
        var share: Double?

        /// The cost of the step divided by the fraction of rows that it excludes; steps with a lower rank come first.
        fileprivate var rank: Double {
            Double(max(scan.cost, 1)) / max(1 - (share ?? 0.5), 0.001)
        }
    }

    /// The fewest clusters for which measuring is worthwhile; fewer ones are scanned in less time.
    private static let minSampled = 16
    private static let sampledClusters = 8
    /// The cost of reading one linked row, relative to testing one row of a leaf.
    private static let costOfVisit = 24.0

    let rows: TableReader

    /// Returns the steps for combined conditions, in order.
    func steps(_ conditions: [BoundCondition]) throws -> [Step] {
        var plain: [Step] = []
        var linked: [(hop: LinkHop, conditions: [BoundCondition])] = []
        var others: [BoundCondition] = []
        for condition in conditions {
            if let (hop, _) = LinkHop.first(of: condition) {
                if let index = linked.firstIndex(where: { $0.hop == hop }) {
                    linked[index].conditions.append(condition)
                } else {
                    linked.append((hop, [condition]))
                }
            } else if condition.node is ColumnNode || condition.node is ElementCountNode {
                let scan = condition.node.scan(condition.tables)
                let note = (condition.node as? ColumnNode)?.test.note
                plain.append(Step(texts: [condition.text], scan: scan, note: note))
            } else {
                others.append(condition)
            }
        }
        var asked = Double(rows.count)
        for index in plain.indices {
            try measure(&plain[index])
            asked *= plain[index].share ?? 0.5
        }
        for group in linked {
            var steps = try link(group.conditions, asked: asked)
            for index in steps.indices { try measure(&steps[index]) }
            plain += steps
        }
        for condition in others {
            let (scan, note) = try prepare(condition, asked: asked)
            var step = Step(texts: [condition.text], scan: scan, note: note)
            try measure(&step)
            plain.append(step)
        }
        assert(
            plain.reduce(0) { $0 + $1.texts.count } == conditions.count,
            "each condition is in one step")
        return plain.enumerated()
            .sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map(\.element)
    }

    /// Returns all rows of the table that satisfy some conditions.
    func matching(_ conditions: [BoundCondition]) throws -> RowSet {
        var found = RowSet(clusterCount: rows.clusterCount)
        if let access = try IndexAccess.best(of: conditions, rows) {
            // Skipping the test matters most for full-text searches: testing a text again means tokenizing it.
            let isSure = access.isExact && conditions.count == 1
            for key in try access.keys()
            where try isSure || conditions.allSatisfy({ try $0.node.matches($0.tables, key) }) {
                found.insert(key)
            }
            return found
        }
        let scan = try AllScan(parts: steps(conditions).map(\.scan))
        for cluster in 0..<rows.clusterCount {
            found[cluster] = try scan.evaluate(cluster, among: rows.presence(cluster))
        }
        return found
    }

    /// Prepares one condition of any form; `asked` is the expected number of rows that it will test.
    private func prepare(
        _ condition: BoundCondition, asked: Double
    ) throws -> (scan: any ScanNode, note: String?) {
        func part(_ node: any PredicateNode) throws -> any ScanNode {
            try prepare(condition.with(node), asked: asked).scan
        }
        switch condition.node {
        case let node as ConjunctionNode:
            let steps = try steps(node.parts.map(condition.with))
            return (AllScan(parts: steps.map(\.scan)), nil)
        case let node as DisjunctionNode:
            return try (AnyScan(parts: node.parts.map(part)), nil)
        case let node as NegationNode:
            return try (NotScan(part: part(node.part)), nil)
        case let node as PathNode:
            if LinkHop.first(of: condition) != nil {
                let step = try link([condition], asked: asked)[0]
                return (step.scan, step.note)
            }
            if let found = try collection(node, condition, asked) { return found }
        default: break
        }
        return (condition.node.scan(condition.tables), nil)
    }

    /// Prepares conditions on the targets of one link.
    ///
    /// The conditions are evaluated for all objects of the target table if this costs less than reading the target of
    /// each row.
    private func link(_ conditions: [BoundCondition], asked: Double) throws -> [Step] {
        var inner: [BoundCondition] = []
        var includesNull = true
        var target: TableReader?
        var column: ColumnID?
        for condition in conditions {
            guard let (hop, rest) = LinkHop.first(of: condition) else { continue }
            assert(
                target == nil || (target === hop.target && column == hop.column),
                "the conditions begin with the same link")
            inner.append(rest)
            includesNull = includesNull && hop.passesNull(condition.node)
            (target, column) = (hop.target, hop.column)
        }
        assert(inner.count == conditions.count, "each condition begins with a link")
        if let target, let column,
            asked * Self.costOfVisit * Double(inner.count)
                > Double(target.count) * 2 + Double(rows.count) / 2
        {
            let targets = try ScanPlanner(rows: target).matching(inner)
            let scan = LinkScan(
                rows: rows, column: column, targets: TargetBits(targets),
                includesNull: includesNull)
            let note =
                "evaluated once for \(target.count.grouped) linked objects, of which "
                + "\(targets.count.grouped) match"
            return [Step(texts: conditions.map(\.text), scan: scan, note: note)]
        }
        return conditions.map {
            Step(
                texts: [$0.text], scan: $0.node.scan($0.tables),
                note: "visits the linked object")
        }
    }

    /// Prepares a condition on the elements of a list of objects or of backlinks, by one pass through the link index.
    private func collection(
        _ node: PathNode, _ condition: BoundCondition, _ asked: Double
    ) throws -> (scan: any ScanNode, note: String?)? {
        guard let hop = node.path.hops.first else { return nil }
        // The nil values of a map are not in an index.
        if case .entries = hop { return nil }
        let rest = PathNode(
            path: node.path.rest,
            quantifier: node.quantifier == .all ? .all : .any, test: node.test)
        guard let element = rest.path.table(condition.tables) else { return nil }
        guard asked * 4 * Self.costOfVisit > Double(element.count + rows.count) * 4 else {
            return nil
        }
        // `all` is also true without elements, so this searches for the elements that fail.
        let isAll = node.quantifier == .all
        let inner: any PredicateNode = rest.simplified
        let wanted: any PredicateNode = isAll ? NegationNode(part: inner) : inner
        let elements = try ScanPlanner(rows: element).matching([condition.with(wanted)])
        let found: RowSet
        switch hop {
        case .list(_, let column): found = try rows.sources(of: elements, through: column)
        case .backlinks(let slot, let column):
            found = try condition.tables[slot].targets(
                of: elements, through: column, clusterCount: rows.clusterCount)
        default: return nil
        }
        return (
            RowSetScan(matching: found, isComplement: node.quantifier != .any),
            "evaluated once for \(element.count.grouped) elements, then through the index of the "
                + "links"
        )
    }

    /// Measures the fraction of rows that a step leaves, on a few clusters.
    private func measure(_ step: inout Step) throws {
        let count = rows.clusterCount
        guard count >= Self.minSampled else { return }
        // Expensive conditions are evaluated for fewer rows.
        let isExpensive = step.scan.cost > 30
        let samples = isExpensive ? 2 : Self.sampledClusters
        var asked = 0
        var left = 0
        for sample in 0..<samples {
            let cluster = (2 * sample + 1) * count / (2 * samples)
            var among = try rows.presence(cluster)
            if isExpensive { among &= Self.fewRows }
            asked += among.rowCount
            left += try step.scan.evaluate(cluster, among: among).rowCount
        }
        if asked > 0 { step.share = Double(left) / Double(asked) }
    }

    private static let fewRows: ClusterBits = {
        var bits = ClusterBits.zero
        for row in stride(from: 0, to: Cluster.rows, by: 31) { bits.insert(row) }
        return bits
    }()
}

/// The to-one link at the beginning of a condition's path.
struct LinkHop: Equatable {
    let column: ColumnID
    let target: TableReader

    static func == (left: LinkHop, right: LinkHop) -> Bool {
        left.column == right.column && left.target === right.target
    }

    /// Returns the link, and the condition on the linked object; nil for other conditions.
    static func first(
        of condition: BoundCondition
    ) -> (hop: LinkHop, rest: BoundCondition)? {
        guard let node = condition.node as? PathNode,
            case .link(_, let column)? = node.path.hops.first
        else { return nil }
        let rest = PathNode(
            path: node.path.rest,
            quantifier: node.quantifier, test: node.test)
        guard let target = rest.path.table(condition.tables) else { return nil }
        return (LinkHop(column: column, target: target), condition.with(rest.simplified))
    }

    /// Returns whether a row with a nil link satisfies the condition.
    func passesNull(_ node: any PredicateNode) -> Bool {
        guard let node = node as? PathNode else { return false }
        guard node.path.nilLinkIsValue else { return node.quantifier != .any }
        return node.quantifier == .none ? !node.test.matchesNull : node.test.matchesNull
    }
}

extension CompiledPath {
    /// Returns the table of the objects at which the path begins; nil if the path does not name it.
    func table(_ tables: BoundTables) -> TableReader? {
        switch hops.first {
        case .link(let slot, _), .list(let slot, _), .entries(let slot, _),
            .element(let slot, _, _):
            return tables[slot]
        // Backlinks name only the table that contains the links.
        case .backlinks, .backlink, .holders: return nil
        case nil: break
        }
        switch terminal {
        case .object, .rank: return nil
        case .mixed(let inside): return tables[inside.slot]
        case .value(let slot, _), .elements(let slot, _), .size(let slot, _),
            .element(let slot, _, _), .keys(let slot, _):
            return tables[slot]
        }
    }
}

extension PathNode {
    /// The same condition as a test of whole leaves, if the path is a property of the class itself.
    var simplified: any PredicateNode {
        if path.hops.isEmpty, case .value(let slot, let source) = path.terminal,
            quantifier != .none
        {
            return ColumnNode(slot: slot, source: source, test: test)
        }
        return self
    }
}

extension Int {
    /// The number with thousands separators.
    var grouped: String {
        var digits = Array(String(magnitude))
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return (self < 0 ? "-" : "") + String(digits)
    }
}

/// A condition prepared for scanning one version of a table, cluster by cluster.
///
/// The parts that are the same for all rows are computed in advance, so a scan is valid only for its version and exists
/// only for one evaluation.
protocol ScanNode {
    /// The cost of one row, as a number of integer comparisons.
    var cost: Int { get }
    /// Returns those rows of `among` in a cluster that match.
    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits
    /// Returns the same condition for the thread of another view of the version.
    func moved(to view: StoreView) throws -> any ScanNode
}

/// A condition that needs no preparation, with its tables.
struct PlainScan: ScanNode {
    let node: any PredicateNode
    let tables: BoundTables
    var cost: Int { node.cost }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        try node.evaluate(tables, cluster, among: among)
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        PlainScan(node: node, tables: try tables.moved(to: view))
    }
}

/// A condition on one column for which the storage has a kernel.
struct ColumnScan: ScanNode {
    let rows: TableReader
    let column: ColumnID
    let test: ColumnTest
    /// Whether nil matches, regardless of the test.
    let includesNull: Bool
    let cost: Int

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        let found = try rows.matches(column, cluster, test, among: among)
        return try includesNull
            ? found | rows.matches(column, cluster, .isNull, among: among) : found
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        ColumnScan(
            rows: try view.table(rows.id), column: column, test: test, includesNull: includesNull,
            cost: cost)
    }
}

extension PredicateNode {
    /// Returns the condition in the form in which it is evaluated, with its tables.
    func scan(_ tables: BoundTables) -> any ScanNode {
        if let node = self as? ColumnNode, let test = node.source.kernel(for: node.test) {
            return ColumnScan(
                rows: tables[node.slot], column: node.source.column, test: test,
                includesNull: node.test.matchesNull, cost: cost)
        }
        return PlainScan(node: self, tables: tables)
    }
}

/// A condition on a linked object, evaluated in advance for all objects of the target table.
struct LinkScan: ScanNode {
    let rows: TableReader
    let column: ColumnID
    let targets: TargetBits
    /// Whether a nil link matches.
    let includesNull: Bool
    var cost: Int { 3 }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        let found = try rows.matches(column, cluster, linkedTo: targets, among: among)
        return try includesNull
            ? found | rows.matches(column, cluster, .isNull, among: among) : found
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        LinkScan(
            rows: try view.table(rows.id), column: column, targets: targets,
            includesNull: includesNull)
    }
}

/// A condition that was evaluated in advance for all rows.
struct RowSetScan: ScanNode {
    let matching: RowSet
    /// Whether the rows outside of the set match.
    let isComplement: Bool
    var cost: Int { 0 }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        isComplement ? among & ~matching[cluster] : among & matching[cluster]
    }

    func moved(to view: StoreView) throws -> any ScanNode { self }
}

/// A conjunction of conditions, in the order in which they are evaluated.
struct AllScan: ScanNode {
    let parts: [any ScanNode]
    var cost: Int { parts.reduce(0) { $0 + $1.cost } }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = among
        for part in parts {
            if bits.isEmpty { return bits }
            bits = try part.evaluate(cluster, among: bits)
        }
        return bits
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        AllScan(parts: try parts.map { try $0.moved(to: view) })
    }
}

/// A disjunction of conditions, in the order in which they are evaluated.
struct AnyScan: ScanNode {
    let parts: [any ScanNode]
    var cost: Int { parts.reduce(0) { $0 + $1.cost } }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = ClusterBits.zero
        for part in parts {
            let rest = among & ~bits
            if rest.isEmpty { return bits }
            bits |= try part.evaluate(cluster, among: rest)
        }
        return bits
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        AnyScan(parts: try parts.map { try $0.moved(to: view) })
    }
}

/// The rows that a condition does not match.
struct NotScan: ScanNode {
    let part: any ScanNode
    var cost: Int { part.cost }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        try among & ~part.evaluate(cluster, among: among)
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        NotScan(part: try part.moved(to: view))
    }
}

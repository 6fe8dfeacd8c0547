import ColumnStorage

/// How a condition on a whole class is run: through an index if one narrows it down, by a scan of
/// the columns otherwise.
struct QueryPlan {
    /// What an index is asked.
    enum Access {
        case scan
        case ints(ColumnID, [Int64], isUnique: Bool)
        case range(ColumnID, Int64, Int64)
        case bytes(ColumnID, [[UInt8]], isUnique: Bool)
        case links(ColumnID, [ObjectKey])
        case text(ColumnID, TextQuery)
        case bytesRange(ColumnID, from: [UInt8], below: [UInt8]?)
        case composite(CompositeAccess)
    }

    let access: Access
    /// Whether every candidate matches, so that nothing is left to test.
    let isExact: Bool
    private let rows: TableReader

    /// Chooses among the parts that all must hold.
    init(_ predicate: CompiledPredicate, _ rows: TableReader) {
        self.rows = rows
        var best: (rank: Int, access: Access)?
        let conjuncts = QueryPlan.conjuncts(predicate.node)
        for node in conjuncts {
            guard let (rank, access) = QueryPlan.access(node, rows) else { continue }
            if let found = best, found.rank <= rank { continue }
            best = (rank, access)
        }
        if best.map({ $0.rank > 0 }) ?? true, let access = CompositeAccess.find(conjuncts, rows) {
            best = (1, .composite(access))
        }
        if best.map({ $0.rank > 2 }) ?? true,
            let (count, access) = IndexRange.find(conjuncts, rows),
            best.map({ $0.rank > 3 + count }) ?? true
        {
            best = (3 + count, access)
        }
        access = best?.access ?? .scan
        if case .text = access { isExact = conjuncts.count == 1 } else { isExact = false }
    }

    /// The rows that an index leaves, ascending and each once; nil for a scan.
    func candidates(in view: StoreView) -> [ObjectKey]? {
        switch access {
        case .scan: return nil
        case .ints(let column, let values, true):
            return values.compactMap { rows.find(column, int: $0) }.sorted()
        case .ints(let column, let values, false):
            return values.flatMap { rows.keys(column, equalTo: $0) }.sorted()
        case .range(let column, let low, let high):
            return rows.keys(column, from: low, through: high).sorted()
        case .bytes(let column, let values, true):
            return values.compactMap { rows.find(column, bytes: $0) }.sorted()
        case .bytes(let column, let values, false):
            return values.flatMap { rows.keys(column, equalTo: $0) }.sorted()
        case .links(let column, let targets):
            return targets.flatMap { rows.sources(of: $0, through: column) }.sorted()
        case .text(let column, let search):
            return rows.rows(column, matching: search)
        case .bytesRange(let column, let from, let below):
            return rows.keys(column, from: from, below: below)?.sorted()
        case .composite(let access):
            return access.candidates(rows)
        }
    }

    private static func conjuncts(_ node: any PredicateNode) -> [any PredicateNode] {
        switch node {
        case let conjunction as ConjunctionNode: conjunction.parts.flatMap(conjuncts)
        // The first condition of two that were joined begins the tables of both; columns need none.
        case let shifted as ShiftedNode: conjuncts(shifted.node)
        default: [node]
        }
    }

    /// Lower ranks leave fewer rows.
    private static func access(
        _ node: any PredicateNode, _ rows: TableReader
    ) -> (rank: Int, access: Access)? {
        guard let column = node as? ColumnNode, !column.test.matchesNull else { return nil }
        let id = column.source.column
        let columns = rows.definition.columns
        guard id.rawValue >= 0, id.rawValue < columns.count else { return nil }
        let definition = columns[id.rawValue]
        if case .links(let targets) = column.test.form, definition.kind == .link {
            return targets.count <= 64 ? (2 + targets.count, .links(id, targets)) : nil
        }
        if case .bytes(.search(let search)) = column.test.form, !search.required.isEmpty {
            return rows.hasTerms(id) ? (2, .text(id, search)) : nil
        }
        guard definition.index != .none else { return nil }
        let isUnique = definition.index == .unique
        // Asking an index for very many values costs more than looking at every row once.
        let most = max(16, rows.count / 64)
        switch (column.test.form, definition.kind) {
        case (.int(.equal, let value), .int):
            return (isUnique ? 0 : 1, .ints(id, [value], isUnique: isUnique))
        case (.intIn(let values), .int) where values.count <= most:
            return (2 + values.count, .ints(id, values, isUnique: isUnique))
        case (.bytes(.compare(.equal, let text)), .string),
            (.bytes(.compare(.equal, let text)), .bytes12),
            (.bytes(.compare(.equal, let text)), .bytes16):
            return (isUnique ? 0 : 1, .bytes(id, [text], isUnique: isUnique))
        case (.bytes(.oneOf(let texts)), .string), (.bytes(.oneOf(let texts)), .bytes12),
            (.bytes(.oneOf(let texts)), .bytes16):
            return texts.count <= most
                ? (2 + texts.count, .bytes(id, Array(texts), isUnique: isUnique)) : nil
        default:
            return nil
        }
    }
}

import ColumnStorage

/// The plan of a condition on a whole class in one version: an index lookup if one is selective, otherwise a scan.
struct QueryPlan {
    let predicate: BoundPredicate
    private let rows: TableReader
    private let view: StoreView
    /// The chosen index lookup; nil for a scan.
    let access: IndexAccess?

    /// Chooses the best index lookup for one of the combined conditions.
    init(_ predicate: CompiledPredicate, _ rows: TableReader, in view: StoreView) throws {
        self.predicate = try predicate.bound(to: view)
        self.rows = rows
        self.view = view
        access = try IndexAccess.best(of: self.predicate.conditions, rows)
    }

    /// Returns the keys of the matching rows, or at least the first `maximum` of them.
    func keys(atMost maximum: Int) throws -> ResultKeys {
        if let access {
            let candidates = try access.keys()
            if access.isExact, predicate.conditions.count == 1 { return ResultKeys(candidates) }
            return try ResultKeys(candidates.filter { try predicate.matches($0) })
        }
        if maximum >= rows.count {
            return ResultKeys(clusters: try all { Array($0) }.flatMap { $0 })
        }
        var clusters: [ClusterBits] = []
        try first(maximum) { clusters.append($0) }
        return ResultKeys(clusters: clusters)
    }

    /// Returns the number of matching rows, or `maximum` if there are more.
    func count(atMost maximum: Int) throws -> Int {
        if let access {
            if access.isExact, predicate.conditions.count == 1 { return min(maximum, access.count) }
            return try min(maximum, access.keys().count { try predicate.matches($0) })
        }
        if maximum >= rows.count {
            return try all { $0.reduce(0) { $0 + $1.rowCount } }.reduce(0, +)
        }
        var count = 0
        try first(maximum) { count += $0.rowCount }
        return min(maximum, count)
    }

    /// Returns what `part` computes from the matching rows of consecutive clusters, in order.
    private func all<Part>(_ part: @escaping ([ClusterBits]) -> Part) throws -> [Part] {
        guard rows.count > 0 else { return [] }
        let scan = try scan()
        return try view.scan(rows) { view in
            let rows = try view.table(rows.id)
            let scan = try scan.moved(to: view)
            return { clusters in
                part(try clusters.map { try scan.evaluate($0, among: rows.presence($0)) })
            }
        }
    }

    /// Calls `body` with the matching rows of each cluster, in order, until there are `maximum` rows.
    private func first(_ maximum: Int, _ body: (ClusterBits) -> Void) throws {
        var cluster = 0
        var found = 0
        // The first clusters often have enough rows, so these are scanned without preparation.
        while cluster < min(Self.unpreparedClusters, rows.clusterCount), found < maximum {
            let bits = try predicate.evaluate(cluster: cluster, among: rows.presence(cluster))
            body(bits)
            found += bits.rowCount
            cluster += 1
        }
        guard cluster < rows.clusterCount, found < maximum else { return }
        let scan = try scan()
        let interruption = Interruption.current
        while cluster < rows.clusterCount, found < maximum {
            try interruption?.step()
            let bits = try scan.evaluate(cluster, among: rows.presence(cluster))
            body(bits)
            found += bits.rowCount
            cluster += 1
        }
    }

    private func scan() throws -> AllScan {
        AllScan(parts: try ScanPlanner(rows: rows).steps(predicate.conditions).map(\.scan))
    }

    private static let unpreparedClusters = 4
}

extension Results {
    /// Returns a description of the query's plan and of an observer's cost, with one sentence per line.
    package func explain() throws -> String {
        let view = try source.openView()
        let name = try classSchema().name
        var lines: [String] = []
        let planned = query.plannedSteps
        switch query.base {
        case .table(let table):
            lines += try start(view.table(table), of: name, step: planned.first, in: view)
        case .list: lines.append("reads a list of '\(name)', element by element")
        case .backlinks:
            lines.append("reads the '\(name)' objects that link to the object, from an index")
        }
        for (index, step) in planned.enumerated() {
            switch step {
            case .filter(let predicate):
                if index > 0 || !isTable { lines.append("keeps matches of: \(predicate.text)") }
            case .sort(let keys):
                let names = keys.map { $0.description + ($0.ascending ? "" : " desc") }
                var line = "sorts by \(names.joined(separator: ", "))"
                if index + 1 < planned.count, case .limit(let count) = planned[index + 1] {
                    line += ", keeping only the first \(count)"
                }
                lines.append(line)
            case .distinct(let keys):
                lines.append(
                    "keeps the first of each \(keys.map(\.description).joined(separator: ", "))")
            case .limit(let count):
                lines.append("stops after \(count)")
            }
        }
        lines.append(observing(view))
        return lines.joined(separator: "\n")
    }

    private var isTable: Bool {
        if case .table = query.base { true } else { false }
    }

    /// Returns a description of how the matching objects of a class are found.
    private func start(
        _ rows: TableReader, of name: String, step: Query.Step?, in view: StoreView
    ) throws -> [String] {
        let objects = "\(rows.count.grouped) objects of '\(name)'"
        guard case .filter(let predicate)? = step else {
            return ["all \(objects), in the order of their creation"]
        }
        let plan = try QueryPlan(predicate, rows, in: view)
        if let access = plan.access {
            let candidates =
                access.count == 1 ? "1 candidate" : "\(access.count.grouped) candidates"
            let many = access.isExact ? candidates : "at most about \(candidates)"
            let names = access.columns.map { column in
                "'\(view.schema.find(table: rows.id)?.property(in: column)?.name ?? "?")'"
            }
            let words =
                names.isEmpty
                ? access.words : "looks up \(names.joined(separator: ", ")) together in an index"
            var lines = ["\(words) for: \(access.condition)", "finds \(many) of \(objects)"]
            if !access.isExact || predicate.parts.count > 1 {
                lines.append("tests each of them for: \(predicate.text)")
            }
            return lines
        }
        let clusters = rows.clusterCount
        var lines = [
            "scans \(objects) in \(clusters.grouped) cluster\(clusters == 1 ? "" : "s"), each "
                + "condition only for rows that match the previous ones:"
        ]
        let steps = try ScanPlanner(rows: rows).steps(plan.predicate.conditions)
        for (index, step) in steps.enumerated() {
            var notes = step.note.map { [$0] } ?? []
            if let share = step.share { notes.append("leaves about \(share.percentage)") }
            let note = notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"
            lines.append("  \(index + 1). \(step.texts.joined(separator: " and "))\(note)")
        }
        return lines
    }

    /// Returns a description of the cost of an observer without key paths.
    private func observing(_ view: StoreView) -> String {
        var known: Set<String> = []
        let paths = query.dependencies.map(\.description).filter { known.insert($0).inserted }
        let what = paths.isEmpty ? "" : " (\(paths.joined(separator: ", ")))"
        return "an observer \(RowsFactory.cost(of: query, schema: view.schema))\(what)"
    }
}

extension CollectionValues {
    /// Returns a description of the plan for the values and of an observer's cost, with one sentence per
    /// line.
    package func explain() throws -> String {
        let count =
            switch origin {
            case .property(let collection): try collection.count()
            case .nested(let nested): try nested.count()
            }
        let cost = try observed().cost(in: owner.source.view.schema)
        let property = "'\(owner.classSchema.name).\(self.property.name)'"
        let values = count == 1 ? "1 value" : "\(count.grouped) values"
        let lines = steps.map { step in
            switch step {
            case .filter(let predicate): "keeps matches of: \(predicate.text)"
            case .sort(let ascending): "sorts by value" + (ascending ? "" : ", descending")
            case .distinct: "keeps the first of each value"
            case .limit(let count): "stops after \(count)"
            }
        }
        return (["reads \(values) of \(property)"] + lines + ["an observer \(cost)"])
            .joined(separator: "\n")
    }
}

extension Double {
    /// The number as a percentage, with a decimal digit if it is small.
    fileprivate var percentage: String {
        let tenths = Int((self * 1000).rounded())
        return tenths < 100 && tenths % 10 != 0
            ? "\(tenths / 10).\(tenths % 10) %" : "\((tenths + 5) / 10) %"
    }
}

import ColumnStorage

extension Results {
    /// How the query is run and what an observer of it costs, in words; one sentence per line.
    public func explain() throws -> String {
        let view = try source.openView()
        let name = try classSchema().name
        var lines: [String] = []
        let planned = query.plannedSteps
        switch query.base {
        case .table(let table):
            lines.append(start(view.table(table), name, planned.first, view))
        case .list: lines.append("reads a list of '\(name)', element by element")
        case .backlinks: lines.append("reads the '\(name)' objects that link here from an index")
        }
        for (index, step) in planned.enumerated() {
            switch step {
            case .filter(let predicate):
                if index > 0 || !isTable { lines.append("keeps what matches: \(predicate.text)") }
            case .sort(let keys):
                let names = keys.map { $0.name + ($0.ascending ? "" : " desc") }
                var line = "sorts by \(names.joined(separator: ", "))"
                if index + 1 < planned.count, case .limit(let count) = planned[index + 1] {
                    line += ", keeping the best \(count) on the way"
                }
                lines.append(line)
            case .distinct(let paths):
                lines.append(
                    "keeps the first of each \(paths.map(\.description).joined(separator: ", "))")
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

    private func start(
        _ rows: TableReader, _ name: String, _ step: Query.Step?, _ view: StoreView
    ) -> String {
        guard case .filter(let predicate)? = step else {
            return "all \(rows.count) objects of '\(name)', in the order of their creation"
        }
        func property(_ column: ColumnID) -> String {
            view.schema.find(table: rows.id)?.property(in: column)?.name ?? "?"
        }
        let rest = ", then tests those for: \(predicate.text)"
        switch QueryPlan(predicate, rows).access {
        case .scan:
            return "scans the columns of \(rows.count) objects of '\(name)' for: \(predicate.text)"
        case .ints(let column, let values, _):
            return "looks up \(values.count) of '\(property(column))' in its index\(rest)"
        case .bytes(let column, let values, _):
            return "looks up \(values.count) of '\(property(column))' in its index\(rest)"
        case .text(let column, let search):
            let words = search.required.count
            return
                "looks up \(words) \(words == 1 ? "word" : "words") of '\(property(column))' in its "
                + "full-text index" + rest
        case .composite(let access):
            let names = access.columns.prefix(access.equalCount + (access.hasRange ? 1 : 0))
                .map { "'\(property($0))'" }
            return "looks up \(names.joined(separator: ", ")) together in an index" + rest
        case .bytesRange(let column, _, _):
            return "reads a range of '\(property(column))' from its index" + rest
        case .range(let column, let low, let high):
            return "reads \(low) to \(high) of '\(property(column))' from its index\(rest)"
        case .links(let column, let targets):
            return "follows the links of '\(property(column))' back from \(targets.count) objects"
                + rest
        }
    }

    /// What an observer without key paths of its own costs.
    private func observing(_ view: StoreView) -> String {
        let paths = query.dependencies.map(\.description)
        let what = paths.isEmpty ? "" : " (\(paths.joined(separator: ", ")))"
        return "an observer \(RowsFactory.cost(of: query, schema: view.schema))\(what)"
    }
}

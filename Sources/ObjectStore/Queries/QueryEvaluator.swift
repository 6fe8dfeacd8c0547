import ColumnStorage

/// Runs queries against a view.
package enum QueryEvaluator {
    /// Returns the keys of a query's objects, in order.
    ///
    /// The result is empty if the owner of the list was deleted.
    package static func keys(of query: Query, in view: StoreView) -> ResultKeys {
        guard view.schema.find(table: query.table) != nil else { return ResultKeys([]) }
        var steps = query.plannedSteps[...]
        var keys = start(query, &steps, view)
        while let step = steps.popFirst() {
            switch step {
            case .filter(let predicate):
                let bound = predicate.bound(to: view)
                keys = ResultKeys(keys.filter { bound.matches($0) })
            case .sort(let order):
                if case .limit(let limit)? = steps.first {
                    keys = QuerySorter(order, table: query.table, in: view)
                        .first(limit, of: keys)
                } else {
                    keys = QuerySorter(order, table: query.table, in: view).sorted(keys)
                }
            case .distinct(let distinct):
                keys = self.distinct(keys, distinct, view)
            case .limit(let limit):
                keys = keys.prefix(limit)
            }
        }
        return keys
    }

    /// Returns the number of a query's objects, without sorting or listing them if possible.
    package static func count(of query: Query, in view: StoreView) -> Int {
        guard case .table(let table) = query.base, let classSchema = view.schema.find(table: table)
        else { return keys(of: query, in: view).count }
        var predicate: CompiledPredicate?
        var most = Int.max
        for step in query.plannedSteps {
            switch step {
            case .filter(let filter) where predicate == nil && most == .max: predicate = filter
            case .filter, .distinct: return keys(of: query, in: view).count
            case .sort: break  // because sorting does not change the count
            case .limit(let limit): most = min(most, limit)
            }
        }
        let rows = view.table(classSchema)
        guard let predicate else { return min(most, rows.count) }
        return QueryPlan(predicate, rows, in: view).count(atMost: most)
    }

    /// Evaluates the base with the first filter and a limit right after it, for which bitmaps are used.
    private static func start(
        _ query: Query, _ steps: inout ArraySlice<Query.Step>, _ view: StoreView
    ) -> ResultKeys {
        switch query.base {
        case .list(let table, let column, let owner):
            guard view.schema.find(table: table) != nil, view.table(table).isPresent(owner) else {
                return ResultKeys([])
            }
            return ResultKeys(view.table(table).linkedKeys(column, owner))
        case .backlinks(let table, let column, let target):
            guard view.schema.find(table: table) != nil else { return ResultKeys([]) }
            return ResultKeys(view.table(table).sources(of: target, through: column))
        case .table(let table):
            let rows = view.table(table)
            var predicate: CompiledPredicate?
            if case .filter(let filter)? = steps.first {
                predicate = filter
                steps.removeFirst()
            }
            var most = Int.max
            if case .limit(let limit)? = steps.first { most = limit }
            guard let predicate else { return all(rows, most) }
            return QueryPlan(predicate, rows, in: view).keys(atMost: most)
        }
    }

    private static func all(_ rows: TableReader, _ most: Int) -> ResultKeys {
        var clusters: [ClusterBits] = []
        clusters.reserveCapacity(rows.clusterCount)
        var count = 0
        for cluster in 0..<rows.clusterCount where count < most {
            let bits = rows.presence(cluster)
            clusters.append(bits)
            count += bits.rowCount
        }
        return ResultKeys(clusters: clusters)
    }

    private static func distinct(
        _ keys: ResultKeys, _ distinct: [DistinctKey], _ view: StoreView
    ) -> ResultKeys {
        let readers = distinct.map { $0.reader(in: view) }
        var kept: [ObjectKey] = []
        var memory = ScalarMemory()
        if let first = readers.first, readers.count == 1 {
            var seen: Set<Scalar> = []
            for key in keys {
                let value = first(key)
                guard seen.insert(value).inserted else { continue }
                kept.append(key)
                guard memory.grants(value) else { break }
            }
        } else {
            var seen: Set<[Scalar]> = []
            for key in keys {
                let values = readers.map { $0(key) }
                guard seen.insert(values).inserted else { continue }
                kept.append(key)
                var isGranted = true
                for value in values { isGranted = memory.grants(value) && isGranted }
                guard isGranted else { break }
            }
        }
        return ResultKeys(kept)
    }
}

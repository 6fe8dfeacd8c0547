import ColumnStorage

/// Runs queries against a view.
package enum QueryEvaluator {
    /// Returns the keys of a query's objects, in order.
    ///
    /// The result is empty if the owner of the list was deleted.
    package static func keys(of query: Query, in view: StoreView) throws -> ResultKeys {
        try StoreError.evaluating {
            guard view.schema.find(table: query.table) != nil else { return ResultKeys([]) }
            var steps = query.plannedSteps[...]
            var keys = try start(query, &steps, view)
            while let step = steps.popFirst() {
                switch step {
                case .filter(let predicate):
                    let bound = try predicate.bound(to: view)
                    keys = try ResultKeys(keys.filter { try bound.matches($0) })
                case .sort(let order):
                    if case .limit(let limit)? = steps.first {
                        keys = try QuerySorter(order, table: query.table, in: view)
                            .first(limit, of: keys)
                    } else {
                        keys = try QuerySorter(order, table: query.table, in: view).sorted(keys)
                    }
                case .distinct(let distinct):
                    keys = try self.distinct(keys, distinct, view)
                case .limit(let limit):
                    keys = keys.prefix(limit)
                }
            }
            return keys
        }
    }

    /// Returns the number of a query's objects, without sorting or listing them if possible.
    package static func count(of query: Query, in view: StoreView) throws -> Int {
        try StoreError.evaluating {
            if case .backlinks(let table, let column, let target) = query.base,
                query.plannedSteps.isEmpty, view.schema.find(table: table) != nil
            {
                return try view.table(table).sourceCount(of: target, through: column)
            }
            guard case .table(let table) = query.base,
                let classSchema = view.schema.find(table: table)
            else { return try keys(of: query, in: view).count }
            var predicate: CompiledPredicate?
            var maximum = Int.max
            for step in query.plannedSteps {
                switch step {
                case .filter(let filter) where predicate == nil && maximum == .max:
                    predicate = filter
                case .filter, .distinct: return try keys(of: query, in: view).count
                case .sort: break  // because sorting does not change the count
                case .limit(let limit): maximum = min(maximum, limit)
                }
            }
            let rows = try view.table(classSchema)
            guard let predicate else { return min(maximum, rows.count) }
            return try QueryPlan(predicate, rows, in: view).count(atMost: maximum)
        }
    }

    /// Evaluates the base with the first filter and a limit right after it, for which bitmaps are used.
    private static func start(
        _ query: Query, _ steps: inout ArraySlice<Query.Step>, _ view: StoreView
    ) throws -> ResultKeys {
        switch query.base {
        case .list(let table, let column, let owner):
            guard view.schema.find(table: table) != nil, try view.table(table).isPresent(owner)
            else {
                return ResultKeys([])
            }
            return try ResultKeys(view.table(table).linkedKeys(column, owner))
        case .backlinks(let table, let column, let target):
            guard view.schema.find(table: table) != nil else { return ResultKeys([]) }
            if let recent = view.recentBacklinks, recent.base == query.base,
                view.isCurrent(recent.stamp, reading: query.base.reads)
            {
                return recent.keys
            }
            var maximum = Int.max
            if case .limit(let limit)? = steps.first { maximum = limit }
            let keys = try ResultKeys(
                view.table(table).sources(of: target, through: column, atMost: maximum))
            if maximum == .max { view.recentBacklinks = (query.base, ViewStamp(view), keys) }
            return keys
        case .table(let table):
            let rows = try view.table(table)
            var predicate: CompiledPredicate?
            if case .filter(let filter)? = steps.first {
                predicate = filter
                steps.removeFirst()
            }
            var maximum = Int.max
            if case .limit(let limit)? = steps.first { maximum = limit }
            guard let predicate else { return try all(rows, maximum, view) }
            return try QueryPlan(predicate, rows, in: view).keys(atMost: maximum)
        }
    }

    private static func all(
        _ rows: TableReader, _ maximum: Int, _ view: StoreView
    ) throws -> ResultKeys {
        var clusters: [ClusterBits] = []
        clusters.reserveCapacity(rows.clusterCount)
        var count = 0
        for cluster in 0..<rows.clusterCount where count < maximum {
            let bits = try rows.presence(cluster)
            clusters.append(bits)
            count += bits.rowCount
        }
        return ResultKeys(clusters: clusters)
    }

    private static func distinct(
        _ keys: ResultKeys, _ distinct: [DistinctKey], _ view: StoreView
    ) throws -> ResultKeys {
        let readers = try distinct.map { try $0.reader(in: view) }
        var kept: [ObjectKey] = []
        if let first = readers.first, readers.count == 1 {
            var seen: Set<Scalar> = []
            for key in keys {
                if try seen.insert(first(key)).inserted { kept.append(key) }
            }
        } else {
            var seen: Set<[Scalar]> = []
            for key in keys {
                if try seen.insert(readers.map { try $0(key) }).inserted { kept.append(key) }
            }
        }
        return ResultKeys(kept)
    }
}

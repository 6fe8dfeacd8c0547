import ColumnStorage

/// The lookup in an index that finds the rows that can satisfy a condition.
struct IndexAccess {
    /// The number of rows that the index yields, or slightly more.
    let count: Int
    /// Whether the index yields exactly the rows that satisfy the condition; `count` is then exact.
    var isExact = false
    /// The description of the lookup for explanations.
    let words: String
    /// The text of the condition that the index serves.
    var condition = ""
    /// The columns of a composite index that are looked up together; empty for other indexes.
    var columns: [ColumnID] = []
    /// Reads the rows, in any order and possibly with duplicates.
    private let read: () throws -> [ObjectKey]

    init(count: Int, isExact: Bool = false, words: String, read: @escaping () throws -> [ObjectKey])
    {
        self.count = count
        self.isExact = isExact
        self.words = words
        self.read = read
    }

    /// Returns the rows, ascending and without duplicates.
    func keys() throws -> [ObjectKey] {
        let found = try read()
        var isAscending = true
        for index in found.indices.dropFirst() where found[index - 1] >= found[index] {
            isAscending = false
            break
        }
        if isAscending { return found }
        var result: [ObjectKey] = []
        result.reserveCapacity(found.count)
        for key in found.sorted() where result.last != key { result.append(key) }
        return result
    }

    /// Returns the lookup with the fewest rows for combined conditions; nil if a scan costs less.
    static func best(of conditions: [BoundCondition], _ rows: TableReader) throws -> IndexAccess? {
        // A lookup reads row by row, at about 30 times the cost of a scan, which reads whole leaves.
        let maximum = max(16, rows.count / 32)
        var best: IndexAccess?
        for condition in conditions {
            let limit = min(best.map { $0.count - 1 } ?? maximum, maximum)
            guard limit >= 0,
                let access = try IndexLookup(rows: rows, maximum: limit).access(
                    condition.node, condition.tables)
            else { continue }
            if let found = best, found.count <= access.count { continue }
            best = access
            best?.condition = condition.text
            if access.count <= 1 { return best }
        }
        return try better(than: best, conditions, rows) ?? best
    }

    /// Returns the best lookup for several conditions together: in a composite index, or between two ends of a range.
    private static func better(
        than best: IndexAccess?, _ conditions: [BoundCondition], _ rows: TableReader
    ) throws -> IndexAccess? {
        let nodes = conditions.map(\.node)
        var best = best
        var result: IndexAccess?
        func consider(_ access: IndexAccess?) {
            guard let access, access.count < best?.count ?? .max else { return }
            (best, result) = (access, access)
        }
        if let composite = CompositeAccess.find(nodes, rows),
            let found = try composite.candidates(rows)
        {
            let count = composite.equalCount + (composite.hasRange ? 1 : 0)
            var access = IndexAccess(count: found.count, words: "") { found }
            access.columns = Array(composite.columns.prefix(count))
            access.condition = text(of: conditions, on: Set(access.columns))
            consider(access)
        }
        if let (column, range) = try IndexRange.find(nodes, rows) {
            var access = range
            access.condition = text(of: conditions, on: [column])
            consider(access)
        }
        return result
    }

    private static func text(
        of conditions: [BoundCondition], on columns: Set<ColumnID>
    ) -> String {
        conditions.filter { condition in
            (condition.node as? ColumnNode).map { columns.contains($0.source.column) } ?? false
        }.map(\.text).joined(separator: " and ")
    }
}

/// The search for a lookup in the indexes of a table.
private struct IndexLookup {
    let rows: TableReader
    /// The maximum number of rows that a lookup may yield.
    let maximum: Int

    /// Returns the lookup for one condition.
    func access(_ node: any PredicateNode, _ tables: BoundTables) throws -> IndexAccess? {
        switch node {
        case let node as ColumnNode:
            return try node.test.matchesNull || node.source.type == .mixed
                ? nil : column(node.source.column, node.test.form)
        case let node as PathNode:
            return try path(node, tables)
        case let node as ConjunctionNode:
            return try node.parts.lazy.compactMap { try access($0, tables) }
                .min { $0.count < $1.count }
                .map { access in
                    var access = access
                    access.isExact = false
                    return access
                }
        case let node as DisjunctionNode:
            var all: [IndexAccess] = []
            var count = 0
            for part in node.parts {
                let rest = IndexLookup(rows: rows, maximum: maximum - count)
                guard let access = try rest.access(part, tables) else { return nil }
                all.append(access)
                count += access.count
            }
            let words = all.map(\.words).joined(separator: ", and ")
            return IndexAccess(count: count, words: words) { try all.flatMap { try $0.keys() } }
        default:
            return nil
        }
    }

    private func column(_ column: ColumnID, _ form: ValueTest.Form) throws -> IndexAccess? {
        let columns = rows.definition.columns
        guard column.rawValue >= 0, column.rawValue < columns.count else { return nil }
        let definition = columns[column.rawValue]
        if definition.kind == .link {
            guard case .links(let targets) = form else { return nil }
            return try links(column, targets.values.map { ObjectKey(rawValue: $0) })
        }
        if case .bytes(.search(let search)) = form {
            // A scan would tokenize every text, which takes longer than reading any number of keys.
            guard let found = try rows.rows(column, matching: search) else { return nil }
            let words = search.required.count == 1 ? "word" : "words"
            return IndexAccess(
                count: found.count, isExact: true,
                words: "looks up \(search.required.count) \(words) in the full-text index"
            ) { found }
        }
        guard definition.index != .none else { return nil }
        let isUnique = definition.index == .unique
        switch (form, definition.kind) {
        case (.bool(let flag), .bool):
            return try range(column, from: flag ? 1 : 0, through: flag ? 1 : 0)
        case (.int(.equal, let value), .int) where isUnique:
            let found = try rows.find(column, int: value).map { [$0] } ?? []
            return IndexAccess(
                count: found.count, isExact: true, words: "looks up 1 value in the unique index"
            ) { found }
        case (.int(.equal, let value), .int): return try range(column, from: value, through: value)
        case (.int, .int), (.intBetween, .int):
            var condition = ColumnCondition()
            condition.add(ValueTest(form: form, matchesNull: false))
            return try condition.ints.flatMap { try range(column, from: $0.low, through: $0.high) }
        case (.intIn(let set), .int): return try ints(column, set, isUnique: isUnique)
        case (.bytes(let test), .string), (.bytes(let test), .bytes12),
            (.bytes(let test), .bytes16):
            return try bytes(column, test, isUnique: isUnique)
        default: return nil
        }
    }

    private func range(
        _ column: ColumnID, from low: Int64, through high: Int64
    ) throws -> IndexAccess? {
        guard low <= high else {
            return IndexAccess(count: 0, isExact: true, words: "an empty range") { [] }
        }
        // A scan tests several hundred integers in the time that an index takes for one row.
        let maximum = low == high ? maximum : min(maximum, max(16, rows.count / 256))
        guard let count = try rows.count(column, from: low, through: high, atMost: maximum) else {
            return nil
        }
        let words =
            low == high ? "looks up 1 value in the index" : "reads a range of values from the index"
        return IndexAccess(count: count, isExact: true, words: words) {
            try low == high
                ? rows.keys(column, equalTo: low) : rows.keys(column, from: low, through: high)
        }
    }

    private func ints(_ column: ColumnID, _ set: IntSet, isUnique: Bool) throws -> IndexAccess? {
        guard set.count <= maximum else { return nil }
        let words = "looks up \(set.count.grouped) values in the index"
        if isUnique {
            return IndexAccess(count: set.count, words: words) {
                try set.values.compactMap { try rows.find(column, int: $0) }
            }
        }
        // For many values, the frequency is estimated from a sample.
        let step = max(1, set.count / 64)
        var asked = 0
        var found = 0
        for position in stride(from: 0, to: set.count, by: step) {
            let value = set.values[position]
            guard let count = try rows.count(column, from: value, through: value) else {
                return nil
            }
            asked += 1
            found += count
        }
        let expected = found * set.count / max(asked, 1)
        guard expected <= maximum else { return nil }
        return IndexAccess(count: expected, isExact: step == 1, words: words) {
            try set.values.flatMap { try rows.keys(column, equalTo: $0) }
        }
    }

    private func bytes(_ column: ColumnID, _ test: TextTest, isUnique: Bool) throws -> IndexAccess?
    {
        switch test {
        case .compare(.equal, let text):
            let found =
                try isUnique
                ? rows.find(column, bytes: text).map { [$0] } ?? []
                : rows.keys(column, equalTo: text, atMost: maximum)
            guard let found else { return nil }
            return IndexAccess(
                count: found.count, isExact: true,
                words: "looks up 1 value in the \(isUnique ? "unique " : "")index"
            ) { found }
        case .oneOf(let set):
            guard set.count <= maximum else { return nil }
            return IndexAccess(
                count: set.count, words: "looks up \(set.count.grouped) values in the index"
            ) {
                try isUnique
                    ? set.values.compactMap { try rows.find(column, bytes: $0) }
                    : set.values.flatMap { try rows.keys(column, equalTo: $0) }
            }
        case .beginsWith(let text):
            guard let found = try rows.keys(column, withPrefix: text, atMost: maximum) else {
                return nil
            }
            return IndexAccess(
                count: found.count, isExact: true, words: "reads a range of values from the index"
            ) { found }
        default:
            return nil
        }
    }

    /// Returns the rows that link to some objects.
    private func links(_ column: ColumnID, _ targets: [ObjectKey]) throws -> IndexAccess? {
        guard targets.count <= 4096 else { return nil }
        var count = 0
        for target in targets {
            count += try rows.sourceCount(of: target, through: column)
            if count > maximum { return nil }
        }
        return IndexAccess(
            count: count,
            words: "follows the links back from \(targets.count.grouped) objects"
        ) {
            try targets.flatMap { try rows.sources(of: $0, through: column) }
        }
    }

    /// Returns the lookup for a condition on linked objects, if an index finds the few objects that satisfy it.
    private func path(_ node: PathNode, _ tables: BoundTables) throws -> IndexAccess? {
        guard node.quantifier == .any, !node.test.matchesNull, let hop = node.path.hops.first
        else { return nil }
        let column: ColumnID
        switch hop {
        case .link(_, let link), .list(_, let link), .entries(_, let link): column = link
        case .backlinks, .backlink, .holders, .element: return nil
        }
        let rest = PathNode(path: node.path.rest, quantifier: .any, test: node.test)
        if rest.path.hops.isEmpty, rest.path.terminal == .object {
            guard case .links(let targets) = node.test.form else { return nil }
            return try links(column, targets.values.map { ObjectKey(rawValue: $0) })
        }
        guard let target = rest.path.table(tables) else { return nil }
        let inner = rest.simplified
        let lookup = IndexLookup(rows: target, maximum: min(maximum, 4096))
        guard let access = try lookup.access(inner, tables) else { return nil }
        let targets =
            try access.isExact
            ? access.keys() : access.keys().filter { try inner.matches(tables, $0) }
        guard let back = try links(column, targets) else { return nil }
        return IndexAccess(
            count: back.count, words: "\(access.words) of the linked objects, then \(back.words)",
            read: back.keys)
    }
}

/// The lookup in a composite index for a conjunction: values for its first columns and optionally a range for the next.
struct CompositeAccess {
    /// The number of the index in the table.
    let index: Int
    let columns: [ColumnID]
    let range: CompositeRange

    /// The number of columns with a fixed value.
    var equalCount: Int { range.equal.count }

    /// Whether the column after the fixed ones is limited to a range.
    var hasRange: Bool { range.lower != nil || range.upper != nil }

    /// Returns the best lookup in a table's composite indexes; nil if no index covers two conditions.
    static func find(_ conjuncts: [any PredicateNode], _ rows: TableReader) -> CompositeAccess? {
        guard !rows.definition.compositeIndexes.isEmpty else { return nil }
        var conditions: [ColumnID: ColumnCondition] = [:]
        for case let node as ColumnNode in conjuncts {
            conditions[node.source.column, default: ColumnCondition()].add(node.test)
        }
        var best: CompositeAccess?
        for index in rows.definition.compositeIndexes {
            guard let access = CompositeAccess(index, conditions) else { continue }
            if let found = best, found.weight >= access.weight { continue }
            best = access
        }
        return best
    }

    private var weight: Int { 2 * equalCount + (hasRange ? 1 : 0) }

    private init?(
        _ definition: CompositeIndexDefinition, _ conditions: [ColumnID: ColumnCondition]
    ) {
        var range = CompositeRange(equal: [])
        for column in definition.columns {
            guard let condition = conditions[column] else { break }
            guard let value = condition.equal else {
                range.lower = condition.lower
                range.upper = condition.upper
                break
            }
            range.equal.append(value)
        }
        index = definition.id
        columns = definition.columns
        self.range = range
        // For fewer conditions, an index of one column is as good.
        guard equalCount + (hasRange ? 1 : 0) >= 2 else { return nil }
    }

    /// Returns the rows in the index range, ascending and without duplicates.
    func candidates(_ rows: TableReader) throws -> [ObjectKey]? {
        try rows.keys(composite: index, range)?.sorted()
    }
}

/// Finds one or two conditions that limit an indexed column to a range with few rows.
enum IndexRange {
    /// Returns the range with the fewest rows; nil if no range has few enough rows for an index lookup.
    static func find(
        _ conjuncts: [any PredicateNode], _ rows: TableReader
    ) throws -> (column: ColumnID, access: IndexAccess)? {
        var conditions: [ColumnID: ColumnCondition] = [:]
        for case let node as ColumnNode in conjuncts {
            let column = node.source.column
            guard rows.definition.columns.indices.contains(column.rawValue),
                rows.definition.columns[column.rawValue].index != .none
            else { continue }
            conditions[column, default: ColumnCondition()].add(node.test)
        }
        var best: (column: ColumnID, access: IndexAccess)?
        for (column, condition) in conditions {
            guard let found = try range(column, condition, rows) else { continue }
            if let known = best, known.access.count <= found.count { continue }
            best = (column, found)
        }
        return best
    }

    private static func range(
        _ column: ColumnID, _ condition: ColumnCondition, _ rows: TableReader
    ) throws -> IndexAccess? {
        let words = "reads a range of values from the index"
        switch rows.definition.columns[column.rawValue].kind {
        case .int:
            guard let (low, high) = condition.ints else { return nil }
            // A scan tests several hundred integers in the time that an index takes for one row.
            let maximum = max(16, rows.count / 256)
            return try rows.count(column, from: low, through: high, atMost: maximum)
                .map { count in
                    IndexAccess(count: count, words: words) {
                        try rows.keys(column, from: low, through: high)
                    }
                }
        case .string, .bytes12, .bytes16:
            guard let (from, below) = condition.bytes else { return nil }
            let maximum = max(16, rows.count / 16)
            return try rows.count(column, from: from, below: below, atMost: maximum)
                .map { count in
                    IndexAccess(count: count, words: words) {
                        try rows.keys(column, from: from, below: below) ?? []
                    }
                }
        default: return nil
        }
    }
}

/// The values of one column that its conditions allow.
struct ColumnCondition {
    private(set) var equal: IndexValue?
    private(set) var lower: CompositeRange.Bound?
    private(set) var upper: CompositeRange.Bound?
    private var prefix: [UInt8]?

    /// Adds a condition; the test of each row evaluates conditions that define no range.
    mutating func add(_ test: ValueTest) {
        guard !test.matchesNull else {
            if case .never = test.form { equal = .null }
            return
        }
        switch test.form {
        case .bool(let flag): equal = .int(flag ? 1 : 0)
        case .int(let comparison, let value): add(comparison, .int(value))
        case .intBetween(let low, let high):
            add(.greaterOrEqual, .int(low))
            add(.lessOrEqual, .int(high))
        case .intIn(let values) where values.count == 1: equal = .int(values.values[0])
        case .double(let comparison, let value): add(comparison, .double(value))
        case .doubleBetween(let low, let high):
            add(.greaterOrEqual, .double(low))
            add(.lessOrEqual, .double(high))
        case .bytes(.compare(let comparison, let bytes)): add(comparison, .bytes(bytes))
        case .bytes(.beginsWith(let bytes)): prefix = bytes
        case .links(let keys) where keys.count == 1: equal = .int(keys.values[0])
        default: break
        }
    }

    private mutating func add(_ comparison: Comparison, _ value: IndexValue) {
        switch comparison {
        case .equal: equal = value
        case .less: upper = upper ?? .init(value, isIncluded: false)
        case .lessOrEqual: upper = upper ?? .init(value, isIncluded: true)
        case .greater: lower = lower ?? .init(value, isIncluded: false)
        case .greaterOrEqual: lower = lower ?? .init(value, isIncluded: true)
        case .notEqual: break
        }
    }

    /// The range of a column of integers; nil if it is unlimited.
    var ints: (low: Int64, high: Int64)? {
        guard lower != nil || upper != nil else { return nil }
        var low = Int64.min
        var high = Int64.max
        if let lower, case .int(let value) = lower.value {
            if !lower.isIncluded, value == .max { return (1, 0) }
            low = lower.isIncluded ? value : value + 1
        }
        if let upper, case .int(let value) = upper.value {
            if !upper.isIncluded, value == .min { return (1, 0) }
            high = upper.isIncluded ? value : value - 1
        }
        return (low, high)
    }

    /// The range of a column of bytes; nil if it is unlimited.
    var bytes: (from: [UInt8], below: [UInt8]?)? {
        if let prefix, !prefix.isEmpty { return (prefix, Self.successor(prefix)) }
        guard lower != nil || upper != nil else { return nil }
        var from: [UInt8] = []
        var below: [UInt8]?
        if let lower, case .bytes(let value) = lower.value {
            from = lower.isIncluded ? value : value + [0]
        }
        if let upper, case .bytes(let value) = upper.value {
            below = upper.isIncluded ? value + [0] : value
        }
        return (from, below)
    }

    /// Returns the least byte string that is greater than all byte strings with a prefix; nil if there is none.
    private static func successor(_ prefix: [UInt8]) -> [UInt8]? {
        var bytes = prefix
        while let last = bytes.popLast() {
            if last < 255 { return bytes + [last + 1] }
        }
        return nil
    }
}

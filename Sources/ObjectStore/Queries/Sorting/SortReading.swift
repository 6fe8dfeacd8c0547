import ColumnStorage

/// The compiled form of a sort key, independent of a view.
///
/// The compiled form is created once, because observers bind their keys to two versions at every step.
final class SortReading: Sendable {
    /// The path to the value; nil for a computed value.
    let path: CompiledPath?
    /// The expression of the value; nil if a path leads to it.
    let expression: (any PredicateExpression)?
    /// Whether the values may be of any type.
    let isMixed: Bool
    /// The tables for the slots of the path and the expression.
    let tables: [TableID]

    /// Creates a form that reads the value of a path.
    init(_ path: PropertyPath) {
        var tables: [TableID] = []
        let compiled = path.compiled(&tables)
        self.path = compiled
        self.tables = tables
        expression = nil
        isMixed = compiled.isMixed
    }

    /// Creates a form that computes a value.
    init(_ value: ComputedValue) {
        path = nil
        expression = value.expression
        isMixed = value.type == .mixed
        tables = value.tables
    }

    /// Creates a form that adds the scores of searches.
    init(_ searches: [TextSearch]) {
        var tables: [TableID] = []
        var texts: [RankedText] = []
        for search in searches {
            let path = search.path.compiled(&tables)
            guard case .value(let slot, let source) = path.terminal else { continue }
            texts.append(
                RankedText(
                    hops: path.hops, slot: slot, column: source.column, query: search.query))
        }
        path = CompiledPath(hops: [], terminal: .rank(texts))
        self.tables = tables
        expression = nil
        isMixed = false
    }
}

/// A sort key that is bound to a view.
///
/// The type is a class, so copying a reference to a key changes only one reference count.
final class BoundSortKey {
    /// The location of the values.
    private enum Location {
        /// A column of the objects themselves, the most frequent case, which needs no path.
        case own(TableReader, ColumnSource)
        /// A path or an expression over these tables.
        case elsewhere(BoundTables)
    }

    /// Whether the order is ascending, with nil first and then small values.
    let isAscending: Bool
    private let reading: SortReading
    private let location: Location

    init(_ reading: SortReading, ascending: Bool, in view: StoreView) throws {
        self.reading = reading
        isAscending = ascending
        if let path = reading.path, path.hops.isEmpty,
            case .value(let slot, let source) = path.terminal
        {
            location = try .own(view.table(reading.tables[slot]), source)
        } else {
            location = try .elsewhere(BoundTables(reading.tables, in: view))
        }
    }

    /// Whether the values may be of any type.
    var isMixed: Bool { reading.isMixed }

    /// The column of the objects themselves with the values; nil if they are read from elsewhere.
    var ownColumn: ColumnSource? { if case .own(_, let source) = location { source } else { nil } }

    /// Returns the value of an object; null if there is none.
    func value(_ key: ObjectKey) throws -> Scalar {
        switch location {
        case .own(let rows, let source): return try source.scalar(rows, key)
        case .elsewhere(let tables):
            if let path = reading.path { return try path.value(tables, key) }
            let value = try reading.expression?.value(tables, key)
            return value == .nothing ? .null : value ?? .null
        }
    }
}

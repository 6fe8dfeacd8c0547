import ColumnStorage

/// How the value of a sort key is read, whatever the view; made once, because observers bind their
/// keys to two versions at every step.
final class SortReading: Sendable {
    /// The path to the value; nil for a value that is computed.
    let path: CompiledPath?
    /// The expression of the value; nil if a path leads to it.
    let expression: (any PredicateExpression)?
    /// Whether the values may be of any type.
    let isMixed: Bool
    /// The tables at the places that path and expression name.
    let tables: [TableID]

    /// Reads what a path leads to.
    init(_ path: PropertyPath) {
        var tables: [TableID] = []
        let compiled = path.compiled(&tables)
        self.path = compiled
        self.tables = tables
        expression = nil
        isMixed = compiled.isMixed
    }

    /// Computes a value.
    init(_ value: ComputedValue) {
        path = nil
        expression = value.expression
        isMixed = value.type == .mixed
        tables = value.tables
    }

    /// Adds up how well texts match their searches.
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

/// A key of an order, ready to be read in one view.
///
/// A class, because an order is used again and again: passing it on counts one reference.
final class BoundSortKey {
    /// Where the values are.
    private enum Place {
        /// In a column of the objects themselves, which is most often read: no path to walk.
        case own(TableReader, ColumnSource)
        /// Elsewhere, in these tables.
        case elsewhere(BoundTables)
    }

    /// Whether small values, and before them nil, come first.
    let isAscending: Bool
    private let reading: SortReading
    private let place: Place

    init(_ reading: SortReading, ascending: Bool, in view: StoreView) {
        self.reading = reading
        isAscending = ascending
        if let path = reading.path, path.hops.isEmpty,
            case .value(let slot, let source) = path.terminal
        {
            place = .own(view.table(reading.tables[slot]), source)
        } else {
            place = .elsewhere(BoundTables(reading.tables, in: view))
        }
    }

    /// Whether the values may be of any type.
    var isMixed: Bool { reading.isMixed }

    /// The column of the objects themselves that holds the values; nil where they are read otherwise.
    var ownColumn: ColumnSource? { if case .own(_, let source) = place { source } else { nil } }

    /// The value of an object; no value at all is null.
    func value(_ key: ObjectKey) -> Scalar {
        switch place {
        case .own(let rows, let source): return source.scalar(rows, key)
        case .elsewhere(let tables):
            if let path = reading.path { return path.value(tables, key) }
            let value = reading.expression?.value(tables, key)
            return value == .nothing ? .null : value ?? .null
        }
    }
}

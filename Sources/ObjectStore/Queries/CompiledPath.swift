import ColumnStorage

/// The tables that a predicate reads, looked up once for a whole evaluation instead of for each row.
struct BoundTables {
    private let readers: ArraySlice<TableReader>

    init(_ tables: [TableID], in view: StoreView) {
        readers = tables.map { view.table($0) }[...]
    }

    /// No tables, for conditions without a property.
    init() {
        readers = []
    }

    private init(_ readers: ArraySlice<TableReader>) {
        self.readers = readers
    }

    /// The tables of a part that was compiled for itself.
    func shifted(by offset: Int, count: Int) -> BoundTables {
        let start = readers.startIndex + offset
        return BoundTables(readers[start..<start + count])
    }

    subscript(slot: Int) -> TableReader { readers[readers.startIndex + slot] }
}

/// A property path ready to walk: no names, only columns and places in ``BoundTables``.
struct CompiledPath: Sendable {
    /// One step from an object to others.
    enum Hop: Hashable, Sendable {
        /// To the object that a to-one link points at.
        case link(slot: Int, ColumnID)
        /// To every element of a list of links.
        case list(slot: Int, ColumnID)
        /// To every object of another table that links here; the slot is that table's.
        case backlinks(slot: Int, ColumnID)
        /// To every object of another table that links to one of `target` inside a mixed value.
        case holders(slot: Int, ColumnID, target: TableID)

        var isToMany: Bool {
            if case .link = self { false } else { true }
        }
    }

    /// What is read where the hops end.
    enum Terminal: Hashable, Sendable {
        /// The object itself.
        case object
        case value(slot: Int, ColumnSource)
        /// Every element of a list of values.
        case elements(slot: Int, ColumnSource)
        /// The number of bytes of a string or of data.
        case size(slot: Int, ColumnID)
        /// How badly the object's texts match searches: less is better.
        case rank([RankedText])
    }

    let hops: [Hop]
    let terminal: Terminal

    /// Whether one row may have several values, or none.
    let isToMany: Bool

    init(hops: [Hop], terminal: Terminal) {
        self.hops = hops
        self.terminal = terminal
        var isToMany = hops.contains(where: \.isToMany)
        if case .elements = terminal { isToMany = true }
        self.isToMany = isToMany
    }

    /// Whether the values may be of any type.
    var isMixed: Bool {
        switch terminal {
        case .value(_, let source), .elements(_, let source): source.type == .mixed
        default: false
        }
    }

    /// Calls `body` with every object that the hops lead to, nil for a nil link; stops when it
    /// returns false, and says whether it never did.
    func forEachObject(
        _ tables: BoundTables, _ key: ObjectKey, _ body: (ObjectKey?) -> Bool
    ) -> Bool {
        walk(tables, key, 0, body)
    }

    private func walk(
        _ tables: BoundTables, _ key: ObjectKey, _ index: Int, _ body: (ObjectKey?) -> Bool
    ) -> Bool {
        guard index < hops.count else { return body(key) }
        switch hops[index] {
        case .link(let slot, let column):
            guard let next = tables[slot].link(column, key) else { return body(nil) }
            return walk(tables, next, index + 1, body)
        case .list(let slot, let column):
            for next in tables[slot].linkedKeys(column, key) {
                guard walk(tables, next, index + 1, body) else { return false }
            }
            return true
        case .backlinks(let slot, let column):
            for next in tables[slot].sources(of: key, through: column) {
                guard walk(tables, next, index + 1, body) else { return false }
            }
            return true
        case .holders(let slot, let column, let target):
            for next in tables[slot].holders(of: key, in: target, through: column) {
                guard walk(tables, next, index + 1, body) else { return false }
            }
            return true
        }
    }

    /// Calls `body` with every value; a nil link on the way is one null.
    func forEachValue(
        _ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) -> Bool
    ) -> Bool {
        forEachObject(tables, key) { object in
            guard let object else { return body(.null) }
            switch terminal {
            case .object: return body(.link(object))
            case .value(let slot, let source): return body(source.scalar(tables[slot], object))
            case .size(let slot, let column):
                let size = tables[slot].withBytes(column, object) { Int64($0.byteCount) }
                return body(size.map(Scalar.int) ?? .null)
            case .rank(let texts):
                return body(.double(-texts.reduce(0) { $0 + $1.score(tables, object) }))
            case .elements(let slot, let source):
                for element in tables[slot].listElements(source.column, object) {
                    guard body(source.scalar(element)) else { return false }
                }
                return true
            }
        }
    }

    /// The value of a path without lists.
    func value(_ tables: BoundTables, _ key: ObjectKey) -> Scalar {
        var result = Scalar.null
        _ = forEachValue(tables, key) { value in
            result = value
            return false
        }
        return result
    }

    /// Whether enough values of the row pass.
    func matches(
        _ test: ValueTest, _ quantifier: Quantifier, _ tables: BoundTables, _ key: ObjectKey
    ) -> Bool {
        let wanted = quantifier != .all
        var found = false
        let visit = { (passes: Bool) -> Bool in
            if passes == wanted {
                found = true
                return false
            }
            return true
        }
        if case .value(let slot, let source) = terminal {
            _ = forEachObject(tables, key) { object in
                guard let object else { return visit(test.matchesNull) }
                return visit(source.matches(test, tables[slot], object))
            }
        } else {
            _ = forEachValue(tables, key) { visit(test.matches($0)) }
        }
        return quantifier == .any ? found : !found
    }

    /// How many values the row has.
    func count(_ tables: BoundTables, _ key: ObjectKey) -> Int {
        var count = 0
        if case .elements(let slot, let source) = terminal {
            _ = forEachObject(tables, key) { object in
                if let object { count += tables[slot].listCount(source.column, object) }
                return true
            }
        } else if hops.count == 1, case .list(let slot, let column) = hops[0] {
            return tables[slot].listCount(column, key)
        } else {
            _ = forEachObject(tables, key) { object in
                if object != nil { count += 1 }
                return true
            }
        }
        return count
    }

    /// How much one row costs, in comparisons of integers.
    var cost: Int { 20 + hops.count * 20 + (isToMany ? 100 : 0) }
}

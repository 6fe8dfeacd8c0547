import ColumnStorage

/// The tables that a predicate reads, looked up once for each evaluation instead of for each row.
struct BoundTables {
    private let readers: [TableReader]
    private let interruption = Interruption.current

    init(_ tables: [TableID], in view: StoreView) throws {
        readers = try tables.map { try view.table($0) }
    }

    /// Creates an empty set of tables, for conditions without a property.
    init() {
        readers = []
    }

    /// Returns the same tables in another view, for its thread.
    func moved(to view: StoreView) throws -> BoundTables {
        try BoundTables(readers.map(\.id), in: view)
    }

    subscript(slot: Int) -> TableReader { readers[slot] }

    /// Counts a step of the evaluation, for each value of a collection; throws if the evaluation should stop.
    func step() throws { try interruption?.step() }
}

/// A compiled property path: instead of names it has columns and slots in ``BoundTables``.
struct CompiledPath: Sendable {
    /// One step from an object to other objects.
    enum Hop: Hashable, Sendable {
        /// The target of a to-one link.
        case link(slot: Int, ColumnID)
        /// Every element of a list or a set of links.
        case list(slot: Int, ColumnID)
        /// Every value of a map of links; a nil value counts as a value if the path ends here.
        case entries(slot: Int, ColumnID)
        /// Every object of another table that links to this object; the slot is that of the other table.
        case backlinks(slot: Int, ColumnID)
        /// Every object of another table that links to an object of `target` inside a mixed value.
        case holders(slot: Int, ColumnID, target: TableID)
        /// One element of a list of links; past the end, no object.
        case element(slot: Int, ColumnID, ElementPosition)
        /// One of the objects of another table that link to this object, in the order of their creation.
        case backlink(slot: Int, ColumnID, ElementPosition)

        var isToMany: Bool {
            switch self {
            case .link, .element, .backlink: false
            case .list, .entries, .backlinks, .holders: true
            }
        }

        /// Whether the storage knows the number of objects without reading them.
        var isCounted: Bool {
            switch self {
            case .list, .entries, .backlinks: true
            case .link, .element, .backlink, .holders: false
            }
        }
    }

    /// The selected element of a list or a set, or the selected value of a map.
    enum ElementPosition: Hashable, Sendable {
        /// The index of an element, counted from 0.
        case index(Int)
        case last
        /// The UTF-8 bytes of a map's key.
        case key([UInt8])
    }

    /// The value at the end of the hops.
    enum Terminal: Hashable, Sendable {
        /// The object itself.
        case object
        case value(slot: Int, ColumnSource)
        /// Every element of a list of values.
        case elements(slot: Int, ColumnSource)
        /// One element of a list of values; null past the end.
        case element(slot: Int, ColumnSource, ElementPosition)
        /// Every key of a map.
        case keys(slot: Int, ColumnID)
        /// The number of bytes of a string or of data.
        case size(slot: Int, ColumnID)
        /// The path inside mixed values.
        case mixed(MixedPath)
        /// The negated score of the object's texts for some searches, so the best match is the least value.
        case rank([RankedText])
    }

    let hops: [Hop]
    let terminal: Terminal

    /// Whether one row may have several values or none.
    let isToMany: Bool

    /// Whether a nil link in the path results in a nil value, as in `owner.age`.
    ///
    /// This applies to paths with one value. In a path with any number of values, a nil link yields no value.
    let nilLinkIsValue: Bool

    /// Creates a path; `isPartOfMany` is true for the rest of a path with any number of values.
    init(hops: [Hop], terminal: Terminal, isPartOfMany: Bool = false) {
        self.hops = hops
        self.terminal = terminal
        var isToMany = hops.contains(where: \.isToMany)
        switch terminal {
        case .elements, .keys: isToMany = true
        case .mixed(let inside): isToMany = isToMany || inside.isToMany
        default: break
        }
        self.isToMany = isToMany
        nilLinkIsValue = !isToMany && !isPartOfMany
    }

    /// The path that begins with the targets of the first hop.
    var rest: CompiledPath {
        assert(!hops.isEmpty, "the path has a first hop")
        return CompiledPath(
            hops: Array(hops.dropFirst()), terminal: terminal, isPartOfMany: !nilLinkIsValue)
    }

    /// Whether the values may be of any type.
    var isMixed: Bool {
        switch terminal {
        case .value(_, let source), .elements(_, let source), .element(_, let source, _):
            source.type == .mixed
        case .mixed(let inside): inside.isMixed
        default: false
        }
    }

    /// Calls `body` with every object at the end of the hops until it returns false.
    ///
    /// Returns false if `body` did. `body` receives nil for a nil link that counts as a value, and for nil values of a
    /// map at the end of the path.
    func forEachObject(
        _ tables: BoundTables, _ key: ObjectKey, _ body: (ObjectKey?) throws -> Bool
    ) throws -> Bool {
        try walk(tables, key, from: 0, body)
    }

    private func walk(
        _ tables: BoundTables, _ key: ObjectKey, from index: Int,
        _ body: (ObjectKey?) throws -> Bool
    ) throws -> Bool {
        guard index < hops.count else { return try body(key) }
        switch hops[index] {
        case .link(let slot, let column):
            guard let next = try tables[slot].link(column, key) else { return try nilLink(body) }
            return try walk(tables, next, from: index + 1, body)
        case .entries(let slot, let column) where isLast(index):
            for element in try tables[slot].listElements(column, key) {
                var next: ObjectKey?
                if case .int(let linked) = element { next = ObjectKey(rawValue: linked) }
                try tables.step()
                guard try body(next) else { return false }
            }
            return true
        case .list(let slot, let column), .entries(let slot, let column):
            for next in try tables[slot].linkedKeys(column, key) {
                try tables.step()
                guard try walk(tables, next, from: index + 1, body) else { return false }
            }
            return true
        case .backlinks(let slot, let column):
            for next in try tables[slot].sources(of: key, through: column) {
                try tables.step()
                guard try walk(tables, next, from: index + 1, body) else { return false }
            }
            return true
        case .holders(let slot, let column, let target):
            for next in try tables[slot].holders(of: key, in: target, through: column) {
                try tables.step()
                guard try walk(tables, next, from: index + 1, body) else { return false }
            }
            return true
        case .element(let slot, let column, let position):
            let element = try position.element(of: tables[slot], column, key)
            guard case .int(let next)? = element else { return try nilLink(body) }
            return try walk(tables, ObjectKey(rawValue: next), from: index + 1, body)
        case .backlink(let slot, let column, let position):
            let sources = try tables[slot].sources(of: key, through: column)
            let next: ObjectKey? =
                switch position {
                case .index(let index): sources.indices.contains(index) ? sources[index] : nil
                case .last: sources.last
                case .key: nil
                }
            guard let next else { return try nilLink(body) }
            return try walk(tables, next, from: index + 1, body)
        }
    }

    private func nilLink(_ body: (ObjectKey?) throws -> Bool) throws -> Bool {
        try nilLinkIsValue ? body(nil) : true
    }

    /// Returns whether the objects after a hop are the values of the path.
    private func isLast(_ index: Int) -> Bool {
        index == hops.count - 1 && terminal == .object
    }

    /// Calls `body` with every value until it returns false, and returns false in that case.
    func forEachValue(
        _ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool
    ) throws -> Bool {
        try forEachObject(tables, key) { object in
            guard let object else { return try body(.null) }
            switch terminal {
            case .object: return try body(.link(object))
            case .value(let slot, let source): return try body(source.scalar(tables[slot], object))
            case .size(let slot, let column):
                let size = try tables[slot].withBytes(column, object) { Int64($0.byteCount) }
                return try body(size.map(Scalar.int) ?? .null)
            case .rank(let texts):
                return try body(.double(-texts.reduce(0) { try $0 + $1.score(tables, object) }))
            case .element(let slot, let source, let position):
                let element = try position.element(of: tables[slot], source.column, object)
                return try body(element.map { source.scalar($0, tables[slot]) } ?? .null)
            case .mixed(let inside): return try inside.forEachValue(tables, object, body)
            case .keys(let slot, let column):
                for (name, _) in try tables[slot].mapEntries(column, object) {
                    guard try body(.bytes(Array(name.utf8))) else { return false }
                }
                return true
            case .elements(let slot, let source):
                for element in try tables[slot].listElements(source.column, object) {
                    guard try body(source.scalar(element, tables[slot])) else { return false }
                }
                return true
            }
        }
    }

    /// Returns the value of a path without lists.
    func value(_ tables: BoundTables, _ key: ObjectKey) throws -> Scalar {
        var result = Scalar.null
        _ = try forEachValue(tables, key) { value in
            result = value
            return false
        }
        return result
    }

    /// Returns whether enough values of the row pass.
    func matches(
        _ test: ValueTest, quantifier: Quantifier, _ tables: BoundTables, _ key: ObjectKey
    ) throws -> Bool {
        try quantifier.holds { visit in
            guard case .value(let slot, let source) = terminal else {
                _ = try forEachValue(tables, key) { try visit(test.matches($0)) }
                return
            }
            _ = try forEachObject(tables, key) { object in
                guard let object else { return visit(test.matchesNull) }
                return try visit(source.matches(test, tables[slot], object))
            }
        }
    }

    /// Returns the number of values of a row.
    func count(_ tables: BoundTables, _ key: ObjectKey) throws -> Int {
        var count = 0
        if terminal == .object, let last = hops.last, last.isCounted {
            let way = CompiledPath(hops: Array(hops.dropLast()), terminal: .object)
            _ = try way.forEachObject(tables, key) { object in
                guard let object else { return true }
                switch last {
                case .backlinks(let slot, let column):
                    count += try tables[slot].sourceCount(of: object, through: column)
                case .list(let slot, let column), .entries(let slot, let column):
                    count += try tables[slot].listCount(column, object)
                default: break
                }
                return true
            }
            return count
        }
        if case .mixed = terminal {
            _ = try forEachValue(tables, key) { _ in
                count += 1
                return true
            }
            return count
        }
        let collection: (slot: Int, column: ColumnID)? =
            switch terminal {
            case .keys(let slot, let column): (slot, column)
            case .elements(let slot, let source): (slot, source.column)
            default: nil
            }
        _ = try forEachObject(tables, key) { object in
            guard let object else { return true }
            count +=
                try collection.map { try tables[$0.slot].listCount($0.column, object) } ?? 1
            return true
        }
        return count
    }

    /// The cost of one row, as a number of integer comparisons.
    var cost: Int {
        if case .mixed(let inside) = terminal {
            return 60 + (hops.count + inside.steps.count) * 20 + (isToMany ? 100 : 0)
        }
        return 20 + hops.count * 20 + (isToMany ? 100 : 0)
    }
}

extension CompiledPath.ElementPosition {
    /// Returns the element of a row's collection; nil if there is none.
    func element(of rows: TableReader, _ column: ColumnID, _ key: ObjectKey) throws -> ListElement?
    {
        switch self {
        case .index(let index): try rows.listElement(column, key, at: index)
        case .last: try rows.listElement(column, key, at: rows.listCount(column, key) - 1)
        case .key(let name): try rows.mapValue(column, key, name)
        }
    }
}

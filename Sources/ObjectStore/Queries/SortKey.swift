import ColumnStorage

/// One key of an order.
public struct SortKey: Hashable, Sendable {
    /// The way to the value; for `@rank` to the first text that is searched.
    public let path: PropertyPath
    /// For `@rank` the searches whose scores are added up; empty for all other keys.
    let searches: [TextSearch]
    /// Whether small values, and before them nil, come first.
    public let ascending: Bool

    /// Makes a key.
    ///
    /// Throws `invalid_query` for a path through a list, to a link or to data.
    public init(_ path: PropertyPath, ascending: Bool) throws {
        try path.checkSingle(for: "sorting")
        if let last = path.components.last {
            guard last.target == nil else {
                throw StoreError(
                    .invalidQuery,
                    "the key path '\(path.description)' ends in the link '\(last.property.name)'; "
                        + "sort by one of its properties")
            }
            guard last.property.type != .data else {
                throw StoreError(
                    .invalidQuery, "cannot sort by '\(path.description)', which is data")
            }
        }
        self.path = path
        self.ascending = ascending
        searches = []
    }
}

extension PropertyPath {
    /// Throws `invalid_query` unless an object has exactly one value, perhaps nil, here.
    func checkSingle(for purpose: String) throws {
        guard let list = components.first(where: \.isToMany) else { return }
        throw StoreError(
            .invalidQuery,
            "the key path '\(description)' goes through the list '\(list.property.name)'; "
                + "\(purpose) needs one value of each object")
    }

    /// The path with its tables at places in `tables`, which grows as needed.
    func compiled(_ tables: inout [TableID]) -> CompiledPath {
        func slot(_ table: TableID) -> Int {
            if let slot = tables.firstIndex(of: table) { return slot }
            tables.append(table)
            return tables.count - 1
        }
        var hops: [CompiledPath.Hop] = []
        var terminal = CompiledPath.Terminal.object
        for (index, component) in components.enumerated() {
            let property = component.property
            let isLast = index == components.count - 1
            if let origin = component.origin {
                hops.append(.backlinks(slot: slot(origin.table), origin.column))
            } else if property.type == .object, property.collection != nil {
                hops.append(.list(slot: slot(component.table), property.column))
            } else if property.collection != nil {
                terminal = .elements(slot: slot(component.table), ColumnSource(property))
            } else if property.type == .object, !isLast {
                hops.append(.link(slot: slot(component.table), property.column))
            } else {
                terminal = .value(slot: slot(component.table), ColumnSource(property))
            }
        }
        return CompiledPath(hops: hops, terminal: terminal)
    }
}

/// The values that an object is ordered by, taken out of their version: positions of one order
/// compare the same whichever version they came from.
public struct SortPosition: Comparable, Sendable {
    /// The object; decides between equal values, older objects first.
    public let key: ObjectKey
    private let values: [Scalar]
    private let descending: [Bool]

    fileprivate init(key: ObjectKey, values: [Scalar], descending: [Bool]) {
        self.key = key
        self.values = values
        self.descending = descending
    }

    /// Whether the first stands before the second.
    public static func < (left: SortPosition, right: SortPosition) -> Bool {
        for (index, value) in left.values.enumerated() {
            let order = SortComparator.order(value, right.values[index])
            if order != 0 { return (order < 0) != left.descending[index] }
        }
        return left.key < right.key
    }

    /// Whether both are the same object with the same values.
    public static func == (left: SortPosition, right: SortPosition) -> Bool {
        left.key == right.key
            && zip(left.values, right.values).allSatisfy { SortComparator.order($0, $1) == 0 }
    }
}

/// Compares objects of a view by sort keys; ties by age, as in the unsorted class.
///
/// Confined to the view's thread; it follows a live view.
public struct SortComparator {
    private let paths: [CompiledPath]
    private let descending: [Bool]
    private let tables: BoundTables

    /// Prepares to compare in a view.
    public init(_ keys: [SortKey], in view: StoreView) {
        var tables: [TableID] = []
        paths = keys.map { $0.compiled(&tables) }
        descending = keys.map { !$0.ascending }
        self.tables = BoundTables(tables, in: view)
    }

    /// -1, 0 or 1; 0 only for the same object.
    public func order(_ left: ObjectKey, _ right: ObjectKey) -> Int {
        for (index, path) in paths.enumerated() {
            let order = SortComparator.order(path.value(tables, left), path.value(tables, right))
            if order != 0 { return descending[index] ? -order : order }
        }
        return left == right ? 0 : left < right ? -1 : 1
    }

    /// The values that an object is ordered by, to be kept.
    public func position(of key: ObjectKey) -> SortPosition {
        SortPosition(
            key: key, values: paths.map { $0.value(tables, key) }, descending: descending)
    }

    /// Nil first, NaN last.
    static func order(_ left: Scalar, _ right: Scalar) -> Int {
        switch (left, right) {
        case (.null, .null): 0
        case (.null, _): -1
        case (_, .null): 1
        case (.double(let a), .double(let b)) where a.isNaN || b.isNaN:
            a.isNaN == b.isNaN ? 0 : a.isNaN ? 1 : -1
        default: Scalar.order(left, right) ?? MixedOrder.order(left.value, right.value)
        }
    }
}

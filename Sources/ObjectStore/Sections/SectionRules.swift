import ColumnStorage
import Decimals

/// The rules that assign the objects of a query to sections.
struct SectionRules {
    /// The grouped query.
    let base: Query
    /// The keys whose values determine the section, the most significant first; never empty.
    let sortKeys: [SortKey]
    /// The rows and columns that the section of an object depends on.
    let graph: WatchGraph

    init(_ base: Query, _ sortKeys: [SortKey]) {
        assert(!sortKeys.isEmpty, "sections have at least one key")
        // The filter of a section would move before a `distinct`. A limit prevents this, because no step moves before a
        // limit.
        let hidesRows = base.steps.contains { if case .distinct = $0 { true } else { false } }
        self.base = hidesRows ? base.adding(.limit(.max)) : base
        self.sortKeys = sortKeys
        graph = WatchGraph(sortKeys.flatMap(\.dependencies), of: base.table)
    }

    /// Returns the same rules in another schema, as ``Query/remade(for:)`` does for queries.
    func remade(for schema: Schema) throws -> SectionRules {
        guard let elements = schema.find(table: base.table) else { return self }
        return SectionRules(
            try base.remade(for: schema),
            try sortKeys.map { try $0.remade(class: elements, schema: schema) })
    }

    /// The query of all objects, sorted by section.
    var ordered: Query { base.adding(.sort(sortKeys)) }

    /// Returns the query of the objects with a value of each key.
    func query(of key: Scalar) -> Query {
        zip(sortKeys, parts(of: key)).reduce(base) { query, part in
            query.adding(
                .filter(Self.condition(part.0, equals: part.1, of: base.table)),
                values: [part.0.value?.value(part.1) ?? .null])
        }
    }

    private static func condition(
        _ sortKey: SortKey, equals key: Scalar, of table: TableID
    ) -> CompiledPredicate {
        let value = sortKey.value?.value(key) ?? .null
        let text = "\(sortKey.description) == \(value.summary)"
        let node: any PredicateNode
        let reading = sortKey.reading
        let test = test(key, of: sortKey.type)
        if let path = reading.path, path.hops.isEmpty,
            case .value(let slot, let source) = path.terminal
        {
            node = ColumnNode(slot: slot, source: source, test: test)
        } else {
            node = ExpressionTestNode(expression: reading.expression, test: test)
        }
        return CompiledPredicate(
            text: text, table: table, dependencies: sortKey.dependencies,
            parts: [.init(text: text, node: node, tables: reading.tables)], searches: [])
    }

    /// Returns the test for the values of a section.
    private static func test(_ key: Scalar, of type: PropertyType) -> ValueTest {
        switch key {
        case .null, .nothing, .group: return .isNull
        case _ where type == .mixed:
            return ValueTest(form: .compare(.equal, key), matchesNull: false)
        case .bool(let flag): return ValueTest(form: .bool(flag), matchesNull: false)
        case .int(let number): return ValueTest(form: .int(.equal, number), matchesNull: false)
        case .double(let number):
            return ValueTest(form: .double(.equal, number), matchesNull: false)
        case .bytes(let bytes):
            return ValueTest(form: .bytes(.compare(.equal, bytes)), matchesNull: false)
        case .decimal, .mixed:
            return ValueTest(form: .compare(.equal, key), matchesNull: false)
        case .link(let link):
            return ValueTest(form: .links(IntSet([link.rawValue])), matchesNull: false)
        }
    }

    /// Returns a function that reads the section key of objects in a view; it can be called any number of times.
    func reader(in view: StoreView) throws -> (ObjectKey) throws -> Scalar {
        let readers = try sortKeys.map { sortKey in
            let bound = try sortKey.bound(to: view)
            return { (key: ObjectKey) throws in
                let value = try bound.value(key)
                if bound.isMixed { return value.mixedSectionKey }
                // Equal values have one key, so the key of a section does not depend on the order of its objects.
                if case .double(let number) = value {
                    return Scalar.double(RealOrder.canonical(number))
                }
                return value
            }
        }
        if readers.count == 1 { return readers[0] }
        return { key in .group(try readers.map { try $0(key) }) }
    }

    /// Returns the values of the keys.
    private func parts(of key: Scalar) -> [Scalar] {
        if case .group(let values) = key { values } else { [key] }
    }

    /// Compares two sections: negative if the first precedes, zero if they are the same, otherwise positive.
    func order(_ left: Scalar, _ right: Scalar) -> Int {
        guard case (.group(let first), .group(let second)) = (left, right) else {
            return Self.order(left, right, sortKeys[0])
        }
        for (index, sortKey) in sortKeys.enumerated() {
            let order = Self.order(first[index], second[index], sortKey)
            if order != 0 { return order }
        }
        return 0
    }

    private static func order(_ left: Scalar, _ right: Scalar, _ sortKey: SortKey) -> Int {
        let order = SortComparator.order(left, right)
        return sortKey.ascending ? order : -order
    }

    /// Returns the sections of some objects in order, with their sizes.
    func keys(of objects: ResultKeys, in view: StoreView) throws -> [(key: Scalar, count: Int)] {
        try StoreError.evaluating {
            let parts = try objects.scan(base.table, in: view, isEven: true) { rows, view in
                let counter = try SectionCounter(self, rows, in: view)
                return { try counter.counts($0) }
            }
            var counts: [Scalar: Int] = [:]
            if let parts {
                counts = parts.first ?? [:]
                for part in parts.dropFirst() { counts.merge(part, uniquingKeysWith: +) }
            } else {
                let read = try reader(in: view)
                for object in objects { counts[try read(object), default: 0] += 1 }
            }
            return counts.map { (key: $0.key, count: $0.value) }.sorted {
                order($0.key, $1.key) < 0
            }
        }
    }

    /// Returns the position of a section among sorted ones; nil if it is not one of them.
    func position<Section>(
        of key: Scalar, in sections: [Section], by scalar: (Section) -> Scalar
    ) -> Int? {
        let position = sections.indices.partition { order(scalar(sections[$0]), key) < 0 }
        guard position < sections.count, order(scalar(sections[position]), key) == 0 else {
            return nil
        }
        return position
    }

    /// Converts a key to a value of the property's type, or to a list with the value of each property.
    func value(_ key: Scalar) -> Value {
        let values = zip(sortKeys, parts(of: key)).map { $0.value?.value($1) ?? .null }
        return sortKeys.count == 1 ? values[0] : .list(values)
    }

    /// Converts a value, or a list with a value for each key, to the key of its section.
    ///
    /// Throws `type_mismatch` for a value of another type, or a list of another length.
    func scalar(_ value: Value) throws -> Scalar {
        guard sortKeys.count > 1 else { return try Self.scalar(value, of: sortKeys[0]) }
        guard case .list(let values) = value, values.count == sortKeys.count else {
            let names = sortKeys.map(\.description).joined(separator: ", ")
            throw StoreError(
                .typeMismatch,
                "the keys of sections by \(names) are lists of \(sortKeys.count) values, one for each path"
            )
        }
        return .group(try zip(values, sortKeys).map(Self.scalar))
    }

    private static func scalar(_ value: Value, of sortKey: SortKey) throws -> Scalar {
        if sortKey.type == .mixed { return Scalar(mixed: value).mixedSectionKey }
        guard let (scalar, kind) = PredicateCompiler.constant(value),
            kind.isComparable(with: .value(sortKey.type)) || value == .null
        else {
            throw StoreError(
                .typeMismatch,
                "the sections of '\(sortKey.description)' are of type \(sortKey.type.rawValue), not "
                    + value.typeName)
        }
        return PredicateCompiler.constant(scalar, kind, beside: .value(sortKey.type))
    }
}

import ColumnStorage
import Decimals

/// The rules that assign the objects of a query to sections.
struct SectionRules {
    /// The grouped query.
    let base: Query
    let sortKey: SortKey

    init(_ base: Query, _ sortKey: SortKey) {
        // The filter of a section would move before a `distinct`. A limit prevents this, because no step moves before a
        // limit.
        let hidesRows = base.steps.contains { if case .distinct = $0 { true } else { false } }
        self.base = hidesRows ? base.adding(.limit(.max)) : base
        self.sortKey = sortKey
    }

    private var type: PropertyType { sortKey.type }

    /// Returns the same rules in another schema, as ``Query/remade(for:)`` does for queries.
    func remade(for schema: Schema) throws -> SectionRules {
        guard let elements = schema.find(table: base.table) else { return self }
        return SectionRules(
            try base.remade(for: schema), try sortKey.remade(class: elements, schema: schema))
    }

    /// The query of all objects, sorted by section.
    var ordered: Query { base.adding(.sort([sortKey])) }

    /// Returns the query of the objects with a value.
    func query(of key: Scalar) -> Query {
        let text = "\(sortKey.description) == \(value(key).summary)"
        let node: any PredicateNode
        let reading = sortKey.reading
        if let path = reading.path, path.hops.isEmpty,
            case .value(let slot, let source) = path.terminal
        {
            node = ColumnNode(slot: slot, source: source, test: test(key))
        } else {
            node = ExpressionTestNode(expression: reading.expression, test: test(key))
        }
        return base.adding(
            .filter(
                CompiledPredicate(
                    text: text, table: base.table, dependencies: sortKey.dependencies,
                    parts: [.init(text: text, node: node, tables: reading.tables)], searches: [])))
    }

    /// Returns the test for the values of a section.
    private func test(_ key: Scalar) -> ValueTest {
        switch key {
        case .null, .nothing: return .isNull
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
        let bound = try sortKey.bound(to: view)
        return { key in
            let value = try bound.value(key)
            if bound.isMixed { return value.mixedSectionKey }
            // Equal values have one key, so the key of a section does not depend on the order of its objects.
            if case .double(let number) = value { return .double(RealOrder.canonical(number)) }
            return value
        }
    }

    /// Compares two sections: negative if the first precedes, zero if they are the same, otherwise positive.
    func order(_ left: Scalar, _ right: Scalar) -> Int {
        let order = SortComparator.order(left, right)
        return sortKey.ascending ? order : -order
    }

    /// Returns the sections of some objects in order, with their sizes.
    func keys(of objects: ResultKeys, in view: StoreView) throws -> [(key: Scalar, count: Int)] {
        try StoreError.evaluating {
            let read = try reader(in: view)
            let interruption = Interruption.current
            var counts: [Scalar: Int] = [:]
            for object in objects {
                try interruption?.step()
                counts[try read(object), default: 0] += 1
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
        var low = 0
        var high = sections.count
        while low < high {
            let middle = (low + high) / 2
            if order(scalar(sections[middle]), key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low < sections.count && order(scalar(sections[low]), key) == 0 ? low : nil
    }

    /// Converts a key to a value of the property's type.
    func value(_ key: Scalar) -> Value { sortKey.value?.value(key) ?? .null }

    /// Converts a value to the key of its section.
    ///
    /// Throws `type_mismatch` for a value of another type.
    func scalar(_ value: Value) throws -> Scalar {
        if type == .mixed { return Scalar(mixed: value).mixedSectionKey }
        guard let (scalar, kind) = PredicateCompiler.constant(value),
            kind.isComparable(with: .value(type)) || value == .null
        else {
            throw StoreError(
                .typeMismatch,
                "the sections of '\(sortKey.description)' are of type \(type.rawValue), not "
                    + value.typeName)
        }
        return PredicateCompiler.constant(scalar, kind, beside: .value(type))
    }
}

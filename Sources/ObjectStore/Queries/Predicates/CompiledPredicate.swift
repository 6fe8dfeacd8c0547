import ColumnStorage

/// A compiled condition on the objects of one class.
///
/// The condition is immutable and independent of any version, so it can be evaluated in an old and a new view of the
/// same file. It refers to the columns of the schema for which it was compiled.
package struct CompiledPredicate: Sendable {
    /// One of the combined conditions.
    struct Part: Sendable {
        /// The text of the condition.
        let text: String
        let node: any PredicateNode
        /// The tables whose slots the node contains.
        let tables: [TableID]
    }

    /// The text of the condition, for explanations.
    package let text: String
    /// The table of the class.
    package let table: TableID
    /// Every key path that the result depends on.
    ///
    /// A path to a list or to backlinks represents their membership; the values of elements have longer paths.
    package let dependencies: [PropertyPath]

    /// The combined conditions, in ascending order of their cost for one row.
    let parts: [Part]
    /// The full-text searches that determine the order of `@rank`.
    let searches: [TextSearch]

    init(
        text: String, table: TableID, dependencies: [PropertyPath], parts: [Part],
        searches: [TextSearch]
    ) {
        self.text = text
        self.table = table
        self.dependencies = dependencies
        self.searches = searches
        self.parts = parts.enumerated()
            .sorted { ($0.element.node.cost, $0.offset) < ($1.element.node.cost, $1.offset) }
            .map(\.element)
    }

    /// Returns the condition with its tables looked up in a view, for the evaluation of many objects.
    package func bound(to view: StoreView) throws -> BoundPredicate {
        var conditions: [BoundCondition] = []
        conditions.reserveCapacity(parts.count)
        for (index, part) in parts.enumerated() {
            let isAsBefore = index > 0 && parts[index - 1].tables == part.tables
            try conditions.append(
                BoundCondition(
                    text: part.text, node: part.node,
                    tables: isAsBefore
                        ? conditions[index - 1].tables : BoundTables(part.tables, in: view)))
        }
        return BoundPredicate(conditions: conditions)
    }

    /// Returns whether an object matches in a view.
    ///
    /// All values of a missing object are nil, so test its presence first.
    package func matches(_ view: StoreView, _ key: ObjectKey) throws -> Bool {
        try bound(to: view).matches(key)
    }

    /// Returns the conjunction of this condition and another one on the same class.
    func and(_ other: CompiledPredicate) -> CompiledPredicate {
        assert(other.table == table, "both conditions are on the same class")
        var known = Set(dependencies)
        return CompiledPredicate(
            text: "(\(text)) and (\(other.text))", table: table,
            dependencies: dependencies + other.dependencies.filter { known.insert($0).inserted },
            parts: parts + other.parts, searches: searches + other.searches)
    }
}

/// A predicate whose tables are looked up in one view.
///
/// The predicate is confined to the view's thread and follows a live view.
package struct BoundPredicate {
    /// The combined conditions; an object matches if all of them hold.
    let conditions: [BoundCondition]

    /// Returns whether an object matches; this is a step of the evaluation, which may be stopped.
    package func matches(_ key: ObjectKey) throws -> Bool {
        try conditions.first?.tables.step()
        for index in conditions.indices
        where try !conditions[index].node.matches(conditions[index].tables, key) {
            return false
        }
        return true
    }

    /// Returns those rows of `among` in a cluster that match.
    package func evaluate(cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = among
        for index in conditions.indices {
            if bits.isEmpty { break }
            bits = try conditions[index].node.evaluate(
                conditions[index].tables, cluster, among: bits)
        }
        return bits
    }
}

/// One condition with its tables looked up in one view.
struct BoundCondition {
    /// The text of the condition.
    let text: String
    let node: any PredicateNode
    let tables: BoundTables

    /// Returns a condition over the same tables that belongs to the same text.
    func with(_ node: any PredicateNode) -> BoundCondition {
        BoundCondition(text: text, node: node, tables: tables)
    }
}

/// The type of an operand's values, as far as comparisons need it.
enum OperandType: Hashable, Sendable {
    case null
    case value(PropertyType)
    /// An object of a table.
    case object(TableID)
    /// A decimal number in the text with more digits than a double, and its exact value.
    case literal(DecimalValue)

    var isNumeric: Bool {
        switch self {
        case .value(let type): type.isNumeric
        case .literal: true
        case .null, .object: false
        }
    }

    /// Returns whether values of both types can be equal; data equals a text with the same bytes.
    func isComparable(with other: OperandType) -> Bool {
        let isText = { ($0 as OperandType) == .value(.string) || $0 == .value(.data) }
        return self == other || self == .null || other == .null || (isNumeric && other.isNumeric)
            || isMixed || other.isMixed || (isText(self) && isText(other))
    }

    var isMixed: Bool { self == .value(.mixed) }
}

/// One side of a comparison, with names looked up and types known.
struct PredicateOperand {
    enum Form {
        case constant(Scalar)
        case list([(value: Scalar, type: OperandType)])
        case path(CompiledPath)
        case expression(any PredicateExpression)
    }

    private(set) var form: Form
    let type: OperandType
    /// The description in messages, such as `'Dog.age' (int)` or `a string`.
    let description: String
    let range: Range<Int>
    var quantifier: Quantifier?
    /// Whether the operand is a backlinks property itself, which cannot be compared with nil.
    var isBacklinks = false
    /// The properties of a path, from the queried class on.
    var components: [PropertyPath.Component] = []
    /// Whether the operand is the `@type` of a mixed value, which is compared with names of types only.
    var isTypeName = false

    /// The operand as an expression that is computed for each row; nil for a list of constants.
    var expression: (any PredicateExpression)? {
        switch form {
        case .constant(let value): ConstantExpression(constant: value)
        case .list: nil
        case .path(let path): PathExpression(path: path)
        case .expression(let expression): expression
        }
    }

    /// Returns the operand with another path.
    func with(_ path: CompiledPath) -> PredicateOperand {
        var copy = self
        copy.form = .path(path)
        return copy
    }

    var isConstant: Bool {
        if case .constant = form { true } else { false }
    }

    var isToMany: Bool { expression?.isToMany ?? false }
}

extension PredicateOperand {
    /// Creates the operand of an aggregate, such as `@sum`.
    init(_ aggregate: AggregateExpression, name: String, range: Range<Int>) {
        self.init(
            form: .expression(aggregate), type: .value(aggregate.resultType),
            description: "'@\(name)'", range: range)
    }
}

/// One column and the type of its values.
struct ColumnSource: Hashable, Sendable {
    let column: ColumnID
    let type: PropertyType

    init(_ property: Property) {
        column = property.column
        type = property.type
    }

    /// Returns the value of a row; null also for a missing row.
    func scalar(_ rows: TableReader, _ key: ObjectKey) throws -> Scalar {
        switch type {
        case .bool: try rows.bool(column, key).map(Scalar.bool) ?? .null
        case .int, .date: try rows.int(column, key).map(Scalar.int) ?? .null
        case .float: try rows.float(column, key).map { .double(Double($0)) } ?? .null
        case .double: try rows.double(column, key).map(Scalar.double) ?? .null
        case .string, .data, .fixed:
            try rows.withBytes(column, key) { .bytes([UInt8](copying: Span(_bytes: $0))) } ?? .null
        case .decimal:
            try rows.bytes(column, key).flatMap(DecimalValue.init(bytes:)).map(Scalar.decimal)
                ?? .null
        case .object: try rows.link(column, key).map(Scalar.link) ?? .null
        case .mixed:
            try Scalar(
                mixed: rows.bytes(column, key).map { rows.known(MixedCoding.decode($0)) } ?? .null)
        case .backlinks: .null
        }
    }

    /// Returns the value of a list element.
    func scalar(_ element: ListElement, _ rows: TableReader) -> Scalar {
        guard type == .mixed, case .bytes(let bytes) = element else {
            return Scalar(element, of: type)
        }
        return Scalar(mixed: rows.known(MixedCoding.decode(bytes)))
    }

    /// Returns whether the value of one row passes a test; text is tested without a copy.
    func matches(_ test: ValueTest, _ rows: TableReader, _ key: ObjectKey) throws -> Bool {
        switch type {
        case .string, .data, .fixed:
            guard case .bytes(let text) = test.form else { break }
            return try rows.withBytes(column, key) { bytes throws(StorageError) in
                try text.matches(Span(_bytes: bytes))
            } ?? test.matchesNull
        default: break
        }
        return try test.matches(scalar(rows, key))
    }

    /// Returns those rows of `among` in a cluster whose values pass.
    func matches(
        _ test: ValueTest, _ rows: TableReader, _ cluster: Int, among: ClusterBits
    ) throws -> ClusterBits {
        // A stored link can read as null.
        if type == .mixed, !rows.definition.hiddenTables.isEmpty {
            return try byRow(test, rows, cluster, among: among)
        }
        var bits: ClusterBits
        switch test.form {
        case .never: bits = .zero
        case _ where type == .mixed && !test.isAlways:
            return try byRow(test, rows, cluster, among: among)
        case .always:
            return try test.matchesNull
                ? among : rows.matches(column, cluster, .notNull, among: among)
        case .bytes(.like(_)), .bytes(.folded(_, _)), .bytes(.search(_)):
            guard case .bytes(let text) = test.form else { return .zero }
            bits = try rows.matchesBytes(column, cluster, among: among) {
                bytes throws(StorageError) in
                try text.matches(Span(_bytes: bytes))
            }
        default:
            guard let native = columnTest(test.form) else {
                return try byRow(test, rows, cluster, among: among)
            }
            bits = try rows.matches(column, cluster, native, among: among)
        }
        if test.matchesNull {
            bits |= try rows.matches(column, cluster, .isNull, among: among)
        }
        return bits
    }

    private func byRow(
        _ test: ValueTest, _ rows: TableReader, _ cluster: Int, among: ClusterBits
    ) throws -> ClusterBits {
        var bits = ClusterBits.zero
        let first = Int64(cluster * Cluster.rows)
        try among.forEachRow { row in
            if try matches(test, rows, ObjectKey(rawValue: first + Int64(row))) { bits.insert(row) }
        }
        return bits
    }

    /// Returns the kernel for a test of this column, except for nil; nil if values are tested one by one.
    func kernel(for test: ValueTest) -> ColumnTest? {
        type == .mixed ? nil : columnTest(test.form)
    }

    private func columnTest(_ form: ValueTest.Form) -> ColumnTest? {
        switch form {
        case .bool(let flag): .bool(flag)
        case .int(let comparison, let bound): .int(comparison, bound)
        case .intBetween(let low, let high): .intBetween(low, high)
        case .intIn(let set): .intIn(set)
        case .double(let comparison, let bound):
            type == .float ? .float(comparison, bound) : .double(comparison, bound)
        case .doubleBetween(let low, let high): .doubleBetween(low, high)
        case .doubleIn(let set): .doubleIn(set)
        case .links(let keys): .intIn(keys)
        case .notLink(let key): .int(.notEqual, key.rawValue)
        case .bytes(.compare(.equal, let text)): .bytesEqual(text)
        case .bytes(.compare(.notEqual, let text)): .bytesNotEqual(text)
        case .bytes(.compare(let comparison, let text)): .bytesCompare(comparison, text)
        case .bytes(.oneOf(let set)): .bytesIn(set)
        case .bytes(.beginsWith(let text)): .bytesPrefix(text)
        case .bytes(.endsWith(let text)): .bytesSuffix(text)
        case .bytes(.contains(let text)): .bytesContain(text)
        default: nil
        }
    }
}

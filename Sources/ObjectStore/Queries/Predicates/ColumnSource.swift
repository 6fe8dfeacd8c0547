import ColumnStorage

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
        case .mixed: try Scalar(mixed: rows.bytes(column, key).map(MixedCoding.decode) ?? .null)
        case .backlinks: .null
        }
    }

    /// Returns the value of a list element.
    func scalar(_ element: ListElement) -> Scalar { Scalar(element, of: type) }

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

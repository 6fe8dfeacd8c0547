import ColumnStorage

/// A path into mixed values: to the elements of lists, the entries of maps, and through links to values of other
/// objects.
///
/// A step without a target yields nil, as a nil link does.
struct MixedPath: Hashable, Sendable {
    /// The mixed values of an object at which the path begins.
    enum Base: Hashable, Sendable {
        /// The value of the property itself.
        case value
        /// Every element of a list, a set or a map.
        case elements
        /// One element of a list, a set or a map.
        case element(CompiledPath.ElementPosition)
    }

    /// One step from a value to a part of it.
    enum Step: Hashable, Sendable {
        /// The entry of a map or, for a link, the property of the linked object with this name.
        case name(TextKey, LinkedPaths)
        /// The entry of a map.
        case key(TextKey)
        /// The element of a list at an index, counted from 0.
        case index(Int)
        /// The last element of a list.
        case last
        /// Every element of a list or value of a map; none for other values.
        case elements
        /// Every key of a map; the last step of a path.
        case keys
        /// The number of elements or of bytes; the last step of a path.
        case count
        /// The ``MixedType`` as a number; the last step of a path.
        case type
    }

    let slot: Int
    let column: ColumnID
    let base: Base
    var steps: [Step]

    /// Whether one object may have several values or none.
    var isToMany: Bool {
        base == .elements
            || steps.contains { step in
                switch step {
                case .elements, .keys: true
                case .name(_, let links): links.isToMany
                default: false
                }
            }
    }

    /// Whether the path leads to values of any type.
    var isMixed: Bool {
        switch steps.last {
        case .keys, .count, .type: false
        default: true
        }
    }

    /// Calls `body` with every value until it returns false, and returns false in that case.
    func forEachValue(
        _ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool
    ) throws -> Bool {
        let rows = tables[slot]
        switch base {
        case .value:
            return try follow(MixedReader(rows.bytes(column, key) ?? []), from: 0, in: tables, body)
        case .element(let position):
            let element = try position.element(of: rows, column, key)
            return try follow(MixedReader(element?.mixedBytes ?? []), from: 0, in: tables, body)
        case .elements:
            for element in try rows.listElements(column, key) {
                guard try follow(MixedReader(element.mixedBytes), from: 0, in: tables, body) else {
                    return false
                }
            }
            return true
        }
    }

    /// Continues from a value; the recursion is as deep as the nesting of the values.
    private func follow(
        _ start: MixedReader, from first: Int, in tables: BoundTables,
        _ body: (Scalar) throws -> Bool
    ) throws -> Bool {
        var reader = start
        for position in first..<steps.count {
            switch steps[position] {
            case .name(_, let links) where reader.nextTag == .link:
                return try links.forEachValue(reader.value() ?? .null, tables, body)
            case .name(let name, _), .key(let name):
                guard reader.tag() == .map, reader.enter(name) else { return try body(.null) }
            case .index(let index):
                guard reader.tag() == .list, reader.enter(index) else { return try body(.null) }
            case .last:
                guard reader.tag() == .list, reader.enterLast() else { return try body(.null) }
            case .elements:
                return try followElements(reader, from: position + 1, in: tables, body)
            case .keys:
                return try forEachKey(reader, body)
            case .count:
                return try body(reader.count().map { .int(Int64($0)) } ?? .null)
            case .type:
                return try body(.int(MixedType.code(of: reader.value() ?? .null)))
            }
        }
        return try body(Scalar(mixed: reader.value() ?? .null))
    }

    private func followElements(
        _ collection: MixedReader, from position: Int, in tables: BoundTables,
        _ body: (Scalar) throws -> Bool
    ) throws -> Bool {
        var reader = collection
        let tag = reader.tag()
        guard tag == .list || tag == .map, let count = reader.head() else { return true }
        for _ in 0..<count {
            if tag == .map, reader.key() == nil { return true }
            guard try follow(reader, from: position, in: tables, body) else { return false }
            guard reader.skip() else { return true }
        }
        return true
    }

    private func forEachKey(_ map: MixedReader, _ body: (Scalar) throws -> Bool) throws -> Bool {
        var reader = map
        guard reader.tag() == .map, let count = reader.head() else { return true }
        for _ in 0..<count {
            guard let key = reader.key() else { return true }
            guard try body(.bytes(Array(key.utf8))) else { return false }
            guard reader.skip() else { return true }
        }
        return true
    }
}

extension ListElement {
    /// The bytes of a mixed value; empty for nil.
    fileprivate var mixedBytes: [UInt8] {
        if case .bytes(let bytes) = self { bytes } else { [] }
    }
}

/// The rest of a path after links inside mixed values: one path for each class with a property of the name.
final class LinkedPaths: Hashable, Sendable {
    /// The rest of the path for the objects of one class.
    struct Target: Sendable {
        let expression: any PredicateExpression
        let type: OperandType
    }

    private let targets: [TableID: Target]
    /// Whether one object may have several values or none.
    let isToMany: Bool

    init(_ targets: [TableID: Target]) {
        self.targets = targets
        isToMany = targets.values.contains { $0.expression.isToMany }
    }

    /// Calls `body` with every value of a linked object until it returns false, and returns false in that case.
    ///
    /// Returns nil for an object of a class without the property.
    fileprivate func forEachValue(
        _ link: Value, _ tables: BoundTables, _ body: (Scalar) throws -> Bool
    ) throws -> Bool {
        guard case .object(let reference) = link, let target = targets[reference.table] else {
            return try body(.null)
        }
        var continues = true
        try target.expression.forEach(tables, reference.key) { value in
            continues = try body(Scalar(mixed: value, target.type))
            return continues
        }
        return continues
    }

    static func == (left: LinkedPaths, right: LinkedPaths) -> Bool { left === right }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

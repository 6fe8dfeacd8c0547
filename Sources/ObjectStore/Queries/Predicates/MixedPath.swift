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
                return try body(
                    .int(MixedType.code(of: tables[slot].known(reader.value() ?? .null))))
            }
        }
        return try body(Scalar(mixed: tables[slot].known(reader.value() ?? .null)))
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

/// The types of mixed values as `@type` compares them: one number for each type, and one for each linked class.
enum MixedType {
    private static var names: [(name: String, code: Int64)] {
        [
            ("nil", 0), ("bool", 1), ("int", 2), ("float", 3), ("double", 4), ("decimal", 5),
            ("string", 6), ("data", 7), ("date", 8),
        ] + FixedType.all.map { ($0.traits.name, firstFixed + Int64($0.number)) }
            + [("list", 9), ("map", 10)]
    }
    /// Other names of types, and names of groups of types.
    private static let groups: [String: [String]] = [
        "null": ["nil"], "numeric": ["int", "float", "double", "decimal"],
        "collection": ["list", "map"], "array": ["list"], "dictionary": ["map"],
        "binary": ["data"], "timestamp": ["date"], "objectid": ["object_id"],
    ]
    private static let firstFixed: Int64 = 256
    private static let firstClass: Int64 = 512

    static let null: Int64 = 0

    static func code(of value: Value) -> Int64 {
        switch value {
        case .null: null
        case .bool: 1
        case .int: 2
        case .float: 3
        case .double: 4
        case .decimal: 5
        case .string: 6
        case .data: 7
        case .date: 8
        case .fixed(let value): firstFixed + Int64(value.type.number)
        case .list: 9
        case .dictionary: 10
        case .object(let reference): firstClass + Int64(reference.table.rawValue)
        }
    }

    /// Returns the numbers of the types with a name: a type, a group, `object` or a class; nil for other names.
    static func codes(named text: String, in schema: Schema) -> [Int64]? {
        let name = text.lowercased()
        if name == "object" || name == "link" { return classes(of: schema) }
        let types = groups[name] ?? [name]
        let found = names.filter { types.contains($0.name) }.map(\.code)
        if !found.isEmpty { return found }
        return schema.find(text).map { [firstClass + Int64($0.table.rawValue)] }
    }

    /// Returns the numbers of all types and classes.
    static func all(in schema: Schema) -> [Int64] { names.map(\.code) + classes(of: schema) }

    /// Returns the names of all types, for messages.
    static func known(in schema: Schema) -> [String] {
        names.map(\.name) + ["object", "numeric", "collection"] + schema.classes.map(\.name)
    }

    /// Returns the names of all types and classes, by their numbers.
    static func names(in schema: Schema) -> [Int64: String] {
        var found = Dictionary(uniqueKeysWithValues: names.map { ($0.code, $0.name) })
        for classSchema in schema.classes {
            found[firstClass + Int64(classSchema.table.rawValue)] = classSchema.name
        }
        return found
    }

    private static func classes(of schema: Schema) -> [Int64] {
        schema.classes.map { firstClass + Int64($0.table.rawValue) }
    }
}

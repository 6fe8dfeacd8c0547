import ColumnStorage

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

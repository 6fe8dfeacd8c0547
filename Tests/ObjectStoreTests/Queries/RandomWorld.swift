import ObjectStore

/// Random classes with random objects, in a store and as plain values.
struct RandomWorld {
    struct Link: Hashable {
        let className: String
        let property: String
        let target: String
        let isList: Bool
    }

    let world: QueryWorld
    let classes: [ClassSchema]
    /// The values of the objects of each class, by index: one value, or the values of a list.
    private(set) var rows: [String: [[String: [PlainValue]]]] = [:]
    private(set) var references: [String: [ObjectReference]] = [:]
    /// The keys of each object's maps, in the order of their values in ``rows``.
    private(set) var keys: [String: [[String: [String]]]] = [:]

    private var incoming: [Link: [[Int]]] = [:]

    static let texts = [
        "", "a", "ab", "aB", "abc", "b", "Bob", "bob", "x*y", "zzzzzzzzzzzzzzz", "é", "É", "straße",
        "STRASSE", "Σ", "σ",
        "ς", "ſ", "S", "ǅ", "ǆ", "яблоко", "ЯБЛОКО", "a\u{1F600}b",
    ]
    static let integers: [Int64] = [
        .min, .min + 1, .max, .max - 1, 1 << 62, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1, 1 << 24 + 1,
        1 << 31, 255, 0, 1,
    ]
    static let reals: [Double] = [
        .nan, .infinity, -.infinity, 0x1p63, -0x1p63, 0x1p53, 0x1p53 + 2, 0x1p24 + 1, -0.0, 1, 0.1,
        0x1p-1030, 1e300, -1e300,
    ]
    static let mapKeys = ["a", "b", "é"]
    static let identifiers = (0..<4).map { UUIDValue.numbered($0) }

    static func schema(_ generator: inout SplitMix) -> [ClassSchema] {
        let names = ["A", "B", "C"]
        func maybe() -> Bool { Bool.random(using: &generator) }
        return names.map { name in
            var properties = [
                Property("i", .int, isOptional: maybe(), isIndexed: maybe()),
                Property("n", .int, isOptional: true),
                Property("d", .double, isOptional: maybe()),
                Property("f", .float, isOptional: maybe()),
                Property("b", .bool, isOptional: maybe(), isIndexed: maybe()),
                Property("s", .string, isOptional: maybe(), isIndexed: maybe()),
                Property("t", .date, isOptional: maybe(), isIndexed: maybe()),
                Property("u", .uuid, isOptional: maybe(), isIndexed: maybe()),
                Property("li", .int, isOptional: maybe(), collection: .list),
                Property("ls", .string, isOptional: maybe(), collection: .list),
                Property("ld", .double, collection: .list),
                Property("ei", .int, isOptional: true, isIndexed: maybe()),
                Property("ed", .double, isOptional: true),
                Property("ef", .float, isOptional: true),
                Property("v", .mixed),
                Property("si", .int, collection: .set),
                Property("mi", .int, isOptional: true, collection: .map),
            ]
            if maybe() { properties.insert(Property("id", .int, isPrimary: true), at: 0) }
            for (suffix, target) in zip(
                ["x", "y"], [names.randomElement(using: &generator)!, "B"])
            {
                properties.append(Property("l\(suffix)", .object, target: target))
                properties.append(
                    Property("m\(suffix)", .object, collection: .list, target: target))
            }
            properties.append(Property("mo", .object, collection: .map, target: "B"))
            return ClassSchema(name, properties)
        }
    }

    /// Creates `count` objects of every class.
    init(_ generator: inout SplitMix, count: Int) throws {
        classes = Self.schema(&generator)
        world = try QueryWorld(classes: classes)
        for classSchema in classes {
            rows[classSchema.name] = (0..<count).map { index in
                Dictionary(
                    uniqueKeysWithValues: classSchema.properties.map { property in
                        (property.name, Self.values(property, index, count, &generator))
                    })
            }
        }
        for classSchema in classes {
            keys[classSchema.name] = rows[classSchema.name]!.map { row in
                Dictionary(
                    uniqueKeysWithValues: classSchema.properties.filter { $0.collection == .map }
                        .map { property in
                            let count = row[property.name]!.count
                            let keys = Self.mapKeys.shuffled(using: &generator).prefix(count)
                            return (property.name, Array(keys))
                        })
            }
        }
        collectLinks()
        try store()
    }

    private static func values(
        _ property: Property, _ index: Int, _ count: Int, _ generator: inout SplitMix
    ) -> [PlainValue] {
        func one() -> PlainValue {
            if property.isOptional, Int.random(in: 0..<5, using: &generator) == 0 { return .null }
            let number = Int.random(in: -3...6, using: &generator)
            let isExtreme = property.name.hasPrefix("e")
            switch property.type {
            case .int where isExtreme: return .int(integers.randomElement(using: &generator)!)
            case .double where isExtreme: return .real(reals.randomElement(using: &generator)!)
            case .float where isExtreme:
                return .real(Double(Float(reals.randomElement(using: &generator)!)))
            case .mixed: return mixed(number, &generator)
            case .int: return .int(Int64(number))
            case .double, .float: return .real(Double(number) / 2)
            case .bool: return .bool(number > 1)
            case .string: return .text(texts.randomElement(using: &generator)!)
            case .date: return .date(Int64(number) * 86_400_000_000)
            case .uuid: return .bytes(identifiers.randomElement(using: &generator)!.bytes)
            default:
                if property.collection == .map, number < 0 { return .null }
                return .link(property.target!, Int.random(in: 0..<count, using: &generator))
            }
        }
        if property.isPrimary { return [.int(Int64(index) * 3)] }
        if property.collection == nil { return [one()] }
        let values = (0..<Int.random(in: 0...3, using: &generator)).map { _ in one() }
        return property.collection == .set ? Array(Set(values)) : values
    }

    private static func mixed(_ number: Int, _ generator: inout SplitMix) -> PlainValue {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: .null
        case 1: .int(Int64(number))
        case 2: .int(integers.randomElement(using: &generator)!)
        case 3: .real(Double(number) / 2)
        case 4: .real(reals.randomElement(using: &generator)!)
        case 5: .text(texts.randomElement(using: &generator)!)
        case 6: .bool(number > 1)
        default: .date(Int64(number) * 86_400_000_000)
        }
    }

    private mutating func store() throws {
        let store = world.store
        var created: [String: [LiveObject]] = [:]
        try store.write {
            for classSchema in classes {
                created[classSchema.name] = try rows[classSchema.name]!.indices.map { index in
                    var values: ValueMap = [:]
                    for property in classSchema.properties where property.type != .object {
                        values[property.name] = whole(classSchema, index, property) {
                            Self.stored($0, property)
                        }
                    }
                    return try store.create(classSchema.name, .dictionary(values))
                }
            }
            for classSchema in classes {
                for index in rows[classSchema.name]!.indices {
                    for property in classSchema.properties where property.type == .object {
                        let value = whole(classSchema, index, property) { value -> Value in
                            guard case .link(let name, let index) = value else { return .null }
                            return .object(created[name]![index].reference)
                        }
                        if value == .null { continue }
                        try created[classSchema.name]![index].set(property.name, value)
                    }
                }
            }
        }
        references = created.mapValues { $0.map(\.reference) }
    }

    /// The value of a property, or the collection of its values.
    private func whole(
        _ classSchema: ClassSchema, _ index: Int, _ property: Property,
        _ stored: (PlainValue) -> Value
    ) -> Value {
        let values = rows[classSchema.name]![index][property.name]!.map(stored)
        switch property.collection {
        case nil: return values[0]
        case .list, .set: return .list(values)
        case .map:
            let keys = keys[classSchema.name]![index][property.name]!
            return .dictionary(ValueMap(uniqueKeysWithValues: zip(keys, values).map { ($0, $1) }))
        }
    }

    private static func stored(_ value: PlainValue, _ property: Property) -> Value {
        switch value {
        case .int(let number): .int(number)
        case .real(let number): property.type == .float ? .float(Float(number)) : .double(number)
        case .bool(let flag): .bool(flag)
        case .text(let text): .string(text)
        case .bytes(let bytes): UUIDValue(bytes: bytes).map(Value.uuid) ?? .null
        case .date(let moment): .date(Timestamp(microseconds: moment))
        case .null, .nothing, .link: .null
        }
    }

    /// The links of all classes that lead to a class.
    func links(to target: String) -> [Link] {
        classes.flatMap { classSchema in
            classSchema.properties.filter { $0.type == .object && $0.target == target }.map {
                Link(
                    className: classSchema.name, property: $0.name, target: target,
                    isList: $0.isList)
            }
        }
    }

    func find(_ name: String) -> ClassSchema { classes.first { $0.name == name }! }

    /// The indexes of the objects that link to an object, once for each link.
    func sources(_ link: Link, _ index: Int) -> [Int] { incoming[link]![index] }

    private mutating func collectLinks() {
        for link in classes.flatMap({ links(to: $0.name) }) where incoming[link] == nil {
            var sources = [[Int]](repeating: [], count: rows[link.target]!.count)
            for (source, row) in rows[link.className]!.enumerated() {
                for case .link(_, let target) in row[link.property]! {
                    sources[target].append(source)
                }
            }
            incoming[link] = sources
        }
    }
}

extension UUIDValue {
    fileprivate static func numbered(_ number: Int) -> UUIDValue {
        UUIDValue("00000000-0000-0000-0000-00000000000\(number)")!
    }
}

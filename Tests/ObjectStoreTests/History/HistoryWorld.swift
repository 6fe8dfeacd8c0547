import ColumnStorage
import Testing

@testable import ObjectStore

/// A class with a property of every kind, linked classes, and random changes to all of them.
struct HistoryWorld {
    static let single: [Property] = [
        Property("int", .int, isIndexed: true), Property("maybe", .int, isOptional: true),
        Property("bool", .bool, isOptional: true, isIndexed: true), Property("float", .float),
        Property("double", .double, isOptional: true),
        Property("string", .string, isOptional: true, isIndexed: true),
        Property("text", .string, isFullText: true), Property("data", .data),
        Property("date", .date, isOptional: true), Property("uuid", .uuid, isOptional: true),
        Property("code", .objectID), Property("price", .decimal, isOptional: true),
        Property("any", .mixed), Property("friend", .object, target: "Thing"),
        Property("part", .object, target: "Part"),
    ]
    static let collections: [Property] = [
        Property("ints", .int, collection: .list),
        Property("names", .string, isOptional: true, collection: .list),
        Property("friends", .object, collection: .list, target: "Thing"),
        Property("parts", .object, collection: .list, target: "Part"),
        Property("anys", .mixed, collection: .list),
        Property("tags", .string, collection: .set),
        Property("fans", .object, collection: .set, target: "Thing"),
        Property("notes", .double, collection: .map),
        Property("roles", .object, collection: .map, target: "Thing"),
    ]
    static let classes = [
        ClassSchema(
            "Thing",
            [Property("id", .int, isPrimary: true)] + single + collections + [
                Property(
                    "admirers", .backlinks, origin: .init(className: "Thing", property: "friends"))
            ], indexes: [CompositeIndex(["int", "string"])]),
        ClassSchema(
            "Part", "size: int, inner: Part", defaults: ["size": .int(0)], isEmbedded: true),
    ]

    let stores: StorePair
    var store: Store { stores.store }
    private var nextID: Int64 = 0

    init() throws { stores = try StorePair(Self.classes) }

    /// Some changes in one transaction.
    mutating func commit(_ count: Int, in store: Store, using random: inout SplitMix) throws {
        try store.beginWrite()
        try change(count, in: store, using: &random)
        try store.commitWrite()
    }

    /// Some changes in an open transaction.
    mutating func change(_ count: Int, in store: Store, using random: inout SplitMix) throws {
        for _ in 0..<count { try change(store, using: &random) }
    }

    private mutating func change(_ store: Store, using random: inout SplitMix) throws {
        let schema = try store.schema.require("Thing")
        let keys = try store.objects("Thing").keys().array
        func any() -> LiveObject? {
            keys.randomElement(using: &random).map { LiveObject(.store(store), schema, $0) }
        }
        let die = Int.random(in: 0..<40, using: &random)
        if keys.isEmpty || die < 6 {
            nextID += 1
            var values: ValueMap = ["id": .int(nextID)]
            for property in Self.single + Self.collections
            where property.defaultValue == nil {
                values[property.name] = value(property, any(), &random)
            }
            try store.create("Thing", .dictionary(values))
            return
        }
        guard let thing = any() else { return }
        if die < 9 { return try store.delete(thing) }
        if die == 9, Int.random(in: 0..<10, using: &random) == 0 {
            return try store.deleteAll("Thing")
        }
        if die < 24 {
            let property = Self.single.randomElement(using: &random)!
            return try thing.set(property.name, value(property, any(), &random))
        }
        try editCollection(of: thing, any(), &random)
    }

    private func editCollection(
        of thing: LiveObject, _ other: LiveObject?, _ random: inout SplitMix
    ) throws {
        let property = Self.collections.randomElement(using: &random)!
        if Int.random(in: 0..<4, using: &random) == 0 {
            return try thing.set(property.name, value(property, other, &random))
        }
        let element = element(property, other, &random)
        switch property.collection {
        case .list:
            let list = try thing.list(property.name)
            let count = try list.count()
            let index = count == 0 ? 0 : Int.random(in: 0..<count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where element != .null || property.isOptional: try list.append([element])
            case 1 where element != .null || property.isOptional:
                try list.insert(element, at: index)
            case 2 where count > 0: try list.remove(at: index)
            case 3 where count > 0 && property.target != "Part":
                try list.move(from: index, to: Int.random(in: 0..<count, using: &random))
            case 4 where count > 0 && (element != .null || property.isOptional):
                try list.set(element, at: index)
            case 5 where count > 0: try list.removeAll()
            default: break
            }
        case .set:
            guard element != .null else { return }
            let set = try thing.set(property.name)
            if Bool.random(using: &random) {
                try set.insert(element)
            } else {
                try set.remove(element)
            }
        default:
            let key = "k\(Int.random(in: 0..<5, using: &random))"
            let map = try thing.map(property.name)
            if Bool.random(using: &random) {
                try map.set(element, forKey: key)
            } else {
                _ = try map.removeValue(forKey: key)
            }
        }
    }

    private func value(
        _ property: Property, _ other: LiveObject?, _ random: inout SplitMix
    ) -> Value {
        guard let collection = property.collection else {
            return element(property, other, &random)
        }
        let elements = (0..<Int.random(in: 0...4, using: &random)).map { _ in
            element(property, other, &random)
        }.filter { $0 != .null || property.isOptional }
        if collection == .map {
            return .dictionary(
                ValueMap(
                    uniqueKeysWithValues: elements.enumerated().map { ("k\($0)", $1) }))
        }
        return .list(elements)
    }

    private func element(
        _ property: Property, _ other: LiveObject?, _ random: inout SplitMix
    ) -> Value {
        let number = Int64.random(in: -3...300, using: &random)
        if property.isOptional, number < 30, property.type != .object { return .null }
        let text = String(repeating: "word \(number) ", count: number % 50 == 0 ? 200 : 1)
        switch property.type {
        case .int: return .int(number << Int64.random(in: 0..<50, using: &random))
        case .bool: return .bool(number > 100)
        case .float: return .float(Float(number) / 4)
        case .double: return .double(Double(number) / 3)
        case .string: return .string(text)
        case .data: return .data(Array(text.utf8))
        case .date: return .date(Timestamp(microseconds: number))
        case .uuid: return .uuid(UUIDValue(high: UInt64(number + 3), low: 1))
        case .objectID: return .objectID(ObjectIDValue(high: UInt64(number + 3), low: 1))
        case .decimal: return .decimal(DecimalValue(number))
        case .mixed:
            switch number % 4 {
            case 0: return .int(number)
            case 1: return .list([.string(text), .null])
            case 2: return other.map { .object($0.reference) } ?? .null
            default: return .dictionary(["a": .double(0.5), "b": .bool(true)])
            }
        default:
            if property.target == "Part" {
                return .dictionary([
                    "size": .int(number), "inner": .dictionary(["size": .int(number + 1)]),
                ])
            }
            return other.map { .object($0.reference) } ?? .null
        }
    }
}

/// Expects two views to contain the same objects with the same values.
func expectSame(
    _ first: StoreView, _ second: StoreView, _ what: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let changes = try VersionComparison.changes(from: first, to: second)
    let isSame = changes.tables.values.allSatisfy { $0.isEmpty }
    #expect(isSame, "\(what): \(changes)", sourceLocation: sourceLocation)
}

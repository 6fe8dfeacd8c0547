import ObjectStore
import Testing

/// A class with sets and maps of every element type, and the target class of their links.
enum CollectionWorld {
    static let scalars: [PropertyType] = [
        .bool, .int, .float, .double, .string, .data, .date, .uuid, .objectID, .decimal, .mixed,
    ]

    static let classes: [ClassSchema] = [
        ClassSchema(
            "Owner",
            [Property("id", .int, isPrimary: true)]
                + scalars.flatMap { type in
                    [CollectionKind.set, .map].flatMap { kind in
                        (type == .mixed ? [true] : [false, true]).map { isOptional in
                            Property(
                                name(type, kind, isOptional), type, isOptional: isOptional,
                                collection: kind)
                        }
                    }
                } + [
                    Property("dogSet", .object, collection: .set, target: "Dog"),
                    Property("dogMap", .object, collection: .map, target: "Dog"),
                ]),
        ClassSchema(
            "Dog",
            "id: int primary, age: int, inSets: backlinks Owner.dogSet, "
                + "inMaps: backlinks Owner.dogMap",
            defaults: ["age": .int(0)]),
    ]

    static func name(_ type: PropertyType, _ kind: CollectionKind, _ isOptional: Bool) -> String {
        type.rawValue + (isOptional ? "_optional" : "") + (kind == .set ? "_set" : "_map")
    }

    /// One of a few values of the type, so that values repeat; one in five is null.
    static func random(
        _ type: PropertyType, isOptional: Bool, _ generator: inout SplitMix
    ) -> Value {
        if isOptional, Int.random(in: 0..<5, using: &generator) == 0 { return .null }
        let number = Int64.random(in: -20...20, using: &generator)
        switch type {
        case .bool: return .bool(number > 0)
        case .int: return .int(number % 3 == 0 ? number &* (1 << 57) : number)
        case .float: return .float(Float(number) / 4)
        case .double: return .double(Double(number) / 8)
        case .string:
            return .string(["", "ä", "Z", "a\0b"].randomElement(using: &generator)! + "\(number)")
        case .data:
            return .data(
                (0..<number.magnitude % 4).map { _ in .random(in: 0...255, using: &generator) })
        case .date: return .date(Timestamp(microseconds: number * 1_000_003))
        case .uuid: return .uuid(UUIDValue(high: UInt64(bitPattern: number), low: 7))
        case .objectID:
            return .objectID(ObjectIDValue(high: UInt64(bitPattern: number), low: 9))
        case .decimal: return .decimal(DecimalValue(Double(number) / 10))
        case .mixed:
            // Numbers of one type, because equal numbers of two types are the same element.
            let type = [PropertyType.bool, .int, .string, .data, .date, .uuid].randomElement(
                using: &generator)!
            return random(type, isOptional: true, &generator)
        default: return .null
        }
    }

    static func dog(_ store: Store, _ id: Int64) throws -> Value {
        .object(try store.create("Dog", .dictionary(["id": .int(id)])).reference)
    }
}

extension ValueMap {
    /// The entries in the form that `LiveMap` returns.
    var inByteOrder: [(key: String, value: Value)] {
        sorted { $0.key.precedesInBytes($1.key) }.map { (key: $0.key, value: $0.value) }
    }
}

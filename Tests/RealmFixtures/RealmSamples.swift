import OptionalProducts
import RealmFiles
import Transfer

/// Contents of Realm files, chosen at random from a seed.
package struct RealmSamples {
    /// Whether this program reads Realm files.
    package static let areReadable: Bool = {
        OptionalProducts.register()
        return RowFormats.realm.isAvailable
    }()

    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// The next random number (SplitMix64).
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    package mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

    /// The types of a format.
    private static func types(_ format: Int) -> [RealmType] {
        let first: [RealmType] = [.int, .bool, .string, .binary, .timestamp, .float, .double]
        return format < 22 ? first : first + [.decimal, .objectID, .uuid, .mixed]
    }

    /// Tables with every type, collection and link of a format.
    package mutating func tables(format: Int, rows: Int) -> [RealmWriter.Table] {
        let collections: [RealmCollection?] =
            format < 22 ? [nil, .list] : [nil, .list, .set, .dictionary]
        var properties: [RealmWriter.Property] = []
        for type in Self.types(format) {
            for collection in collections {
                for isNullable in [false, true] where type != .mixed || isNullable {
                    let name = "\(type)_\(collection.map { "\($0)" } ?? "one")_\(isNullable)"
                    properties.append(
                        RealmWriter.Property(
                            name, type, isNullable: isNullable, collection: collection,
                            isIndexed: collection == nil && type == .int))
                }
            }
        }
        for collection in collections {
            properties.append(
                RealmWriter.Property(
                    "links_\(collection.map { "\($0)" } ?? "one")", .link,
                    isNullable: collection == nil || collection == .dictionary,
                    collection: collection, target: 1))
        }
        properties.append(
            RealmWriter.Property("itself", .link, isNullable: true, target: 0))
        var all = RealmWriter.Table("class_All", properties)
        var target = RealmWriter.Table(
            "class_Target", [RealmWriter.Property("name", .string)],
            primaryKey: format < 10 ? nil : 0)
        target.rows = (0..<max(rows / 2, 1)).map {
            (key: key($0, format), values: [.string("target \($0)")])
        }
        let keys = (0..<rows).map { key($0, format) }
        let targets = target.rows.map(\.key)
        all.rows = keys.map { key in
            let values = properties.map { property in
                value(property, property.target == 0 ? keys : targets, format)
            }
            return (key: key, values: values)
        }
        let metadata = RealmWriter.Table(
            "metadata", [RealmWriter.Property("version", .int)],
            rows: [(key: 0, values: [.int(7)])])
        return [all, target, metadata]
    }

    private func key(_ row: Int, _ format: Int) -> Int64 {
        format < 10 ? Int64(row) : Int64(row * row + row)
    }

    private mutating func value(
        _ property: RealmWriter.Property, _ targets: [Int64], _ format: Int
    ) -> RealmValue {
        let count = [0, 1, 3, 9, 27][below(5)]
        switch property.collection {
        case nil: return element(property, targets, format, depth: 0)
        case .list:
            return .list(
                (0..<count).map { _ in element(property, targets, format, depth: 1, inList: true) })
        // Sets cannot contain collections.
        case .set:
            return .set(
                (0..<count).map { _ in element(property, targets, format, depth: 4, inList: true) })
        case .dictionary:
            return .dictionary(
                (0..<count).map {
                    RealmEntry(
                        key: .string("key \($0) " + String(repeating: "x", count: below(20))),
                        value: element(property, targets, format, depth: 1))
                })
        }
    }

    private mutating func element(
        _ property: RealmWriter.Property, _ targets: [Int64], _ format: Int, depth: Int,
        inList: Bool = false
    ) -> RealmValue {
        if property.type == .link {
            guard !targets.isEmpty, inList || below(3) > 0 else { return inList ? .null : .null }
            return .link(
                RealmLink(target: property.target ?? 0, key: targets[below(targets.count)]))
        }
        if property.isNullable, below(4) == 0 { return .null }
        return scalar(property.type, targets, format, depth)
    }

    private mutating func scalar(
        _ type: RealmType, _ targets: [Int64], _ format: Int, _ depth: Int
    ) -> RealmValue {
        switch type {
        case .int: return .int(Int64(bitPattern: next()) >> Int64(below(64)))
        case .bool: return .bool(below(2) == 0)
        case .string: return .string(text())
        case .binary: return .binary(Array(text().utf8))
        case .float: return .float(Float(below(1000)) / 8 - 50)
        case .double: return .double(Double(below(1_000_000)) / 64 - 5000)
        case .timestamp:
            let sign: Int64 = below(2) == 0 ? 1 : -1
            return .timestamp(
                RealmTimestamp(
                    seconds: sign * Int64(below(1 << 33)),
                    nanoseconds: sign * Int64(below(1_000_000_000))))
        case .decimal:
            let isWide = below(4) == 0
            return .decimal(
                RealmDecimal(
                    high: UInt64(6176 + below(20) - 10) << 49
                        | (isWide ? UInt64(below(1 << 40)) : 0),
                    low: isWide ? next() : UInt64(below(1 << 40))))
        case .objectID:
            return .objectID(RealmObjectID(high: next(), low: UInt32(truncatingIfNeeded: next())))
        case .uuid: return .uuid(RealmUUID(high: next(), low: next()))
        case .link, .table: return .null
        case .mixed:
            let types: [RealmType] = [
                .int, .bool, .string, .binary, .timestamp, .float, .double, .decimal, .objectID,
                .uuid,
            ]
            let choice = below(types.count + 4)
            if choice < types.count { return scalar(types[choice], targets, format, depth) }
            if choice == types.count, let first = targets.first {
                return .link(RealmLink(target: 1, key: targets[below(targets.count)] + first * 0))
            }
            guard format >= 24, depth < 4 else { return .null }
            if choice == types.count + 1 {
                return .list((0..<below(8)).map { _ in scalar(.mixed, targets, format, depth + 1) })
            }
            return .dictionary(
                (0..<below(8)).map {
                    RealmEntry(
                        key: .string("k\($0)"), value: scalar(.mixed, targets, format, depth + 1))
                })
        }
    }

    private mutating func text() -> String {
        let lengths = [0, 1, 3, 7, 14, 15, 40, 63, 64, 300]
        let letters = ["a", "é", "日", "z"]
        var text = ""
        let length = lengths[below(lengths.count)]
        while text.utf8.count < length { text += letters[below(letters.count)] }
        return text
    }
}

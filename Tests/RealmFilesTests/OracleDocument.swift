import RealmFiles

/// JSON as the expected contents of files have it; integers are kept apart from other numbers.
indirect enum JSON: Hashable, Comparable {
    case null
    case bool(Bool)
    case int(Int64)
    case number(String)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    static func < (left: JSON, right: JSON) -> Bool { left.text < right.text }

    subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
    var string: String? { if case .string(let text) = self { text } else { nil } }

    var text: String {
        switch self {
        case .null: "null"
        case .bool(let flag): "\(flag)"
        case .int(let number): "\(number)"
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key == "link" || $1.key != "link" && $0.key < $1.key }
                .map { Self.quoted($0.key) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case let scalar where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

/// Writes the contents of a file in the JSON form of the expected contents.
struct OracleDocument {
    private let file: RealmFile

    init(_ file: RealmFile) { self.file = file }

    /// All classes with their rows.
    func classes() throws -> [JSON] {
        let keys = try primaryKeys()
        let pass = file.makePass()
        return try file.classes.map { found in
            var rows: [JSON] = []
            try pass.read(found, backlinks: true) { batch in
                for row in 0..<batch.count {
                    var members: [String: JSON] = ["key": Self.key(batch.key(row))]
                    members["values"] = .array(
                        try found.properties.indices.map {
                            value(try batch.value(row, $0), keys)
                        })
                    let backlinks = try backlinks(batch, row)
                    if !backlinks.isEmpty { members["backlinks"] = .array(backlinks) }
                    rows.append(.object(members))
                }
            }
            return .object([
                "name": .string(found.name), "kind": .string(found.kind.rawValue),
                "primaryKey": found.primaryKey.map { .string(found.properties[$0].name) } ?? .null,
                "tombstones": .int(Int64(found.tombstones)),
                "properties": .array(found.properties.map(property)),
                "count": .int(Int64(found.count)), "rows": .array(rows),
            ])
        }
    }

    private func backlinks(_ rows: RealmRows, _ row: Int) throws -> [JSON] {
        var found: [JSON] = []
        for (index, link) in rows.realmClass.backlinks.enumerated() {
            let origins = try rows.origins(row, index)
            guard !origins.isEmpty else { continue }
            let origin = file.classes[link.origin]
            found.append(
                .array([
                    .string(origin.name),
                    .string(link.property.map { origin.properties[$0].name } ?? "?"),
                    .array(origins.sorted().map(Self.key)),
                ]))
        }
        return found.sorted()
    }

    private func property(_ property: RealmProperty) -> JSON {
        .object([
            "name": .string(property.name), "type": .string(property.type.rawValue),
            "nullable": .bool(property.isNullable),
            "collection": property.collection.map { .string($0.rawValue) } ?? .null,
            "target": property.target.map { .string(file.classes[$0].name) } ?? .null,
            "index": property.index.map { .string($0.rawValue.lowercased()) } ?? .null,
        ])
    }

    /// The primary keys of all objects, by class and object key.
    private func primaryKeys() throws -> [[Int64: JSON]?] {
        let pass = file.makePass()
        return try file.classes.map { found in
            guard let primary = found.primaryKey else { return nil }
            var keys: [Int64: JSON] = [:]
            try pass.read(found, properties: [primary]) { rows in
                for row in 0..<rows.count {
                    keys[rows.key(row)] = value(try rows.value(row, primary), [])
                }
            }
            return keys
        }
    }

    private static func key(_ key: Int64) -> JSON {
        key.magnitude <= 1 << 53 ? .int(key) : .string("\(key)")
    }

    private func value(_ value: RealmValue, _ keys: [[Int64: JSON]?]) -> JSON {
        switch value {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number):
            return number.magnitude <= 1 << 53
                ? .int(number) : .object(["int": .string("\(number)")])
        case .float(let number): return .object(["float": Self.number(Double(number))])
        case .double(let number): return .object(["double": Self.number(number)])
        case .string(let text):
            let bytes = Array(text.utf8)
            return bytes.count > 65_536
                ? .object(["longString": Self.digest(bytes)]) : .string(text)
        case .malformedString(let bytes): return .object(["badString": .string(Self.base64(bytes))])
        case .binary(let bytes):
            return bytes.count > 65_536
                ? .object(["longBinary": Self.digest(bytes)])
                : .object(["binary": .string(Self.base64(bytes))])
        case .timestamp(let moment):
            return .object([
                "timestamp": .array([Self.key(moment.seconds), .int(moment.nanoseconds)])
            ])
        case .decimal(let number): return .object(["decimal": .string(Self.text(number))])
        case .objectID(let id):
            return .object([
                "objectId": .string(Self.hex(id.high, 16) + Self.hex(UInt64(id.low), 8))
            ])
        case .uuid(let id):
            let digits = Array(Self.hex(id.high, 16) + Self.hex(id.low, 16))
            let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
            return .object(["uuid": .string(parts.joined(separator: "-"))])
        case .link(let link):
            guard file.classes.indices.contains(link.target) else { return .null }
            var members: [String: JSON] = [
                "link": .string(file.classes[link.target].name), "key": Self.key(link.key),
            ]
            if let known = keys.indices.contains(link.target) ? keys[link.target] : nil {
                members["pk"] = known[link.key] ?? .null
            }
            return .object(members)
        case .list(let elements):
            return .object(["list": .array(elements.map { self.value($0, keys) })])
        case .set(let elements):
            return .object(["set": .array(elements.map { self.value($0, keys) })])
        case .dictionary(let entries):
            return .object([
                "dictionary": .array(
                    entries.map {
                        .array([self.value($0.key, keys), self.value($0.value, keys)])
                    })
            ])
        case .object(let entries):
            return .object([
                "object": .array(
                    entries.map {
                        .array([self.value($0.key, keys), self.value($0.value, keys)])
                    })
            ])
        }
    }

    private static func number(_ value: Double) -> JSON {
        .string(
            value.isNaN
                ? "NaN" : value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : "\(value)")
    }

    private static func text(_ number: RealmDecimal) -> String {
        let sign = number.isNegative ? "-" : ""
        if number.isNotANumber { return sign + "NaN" }
        if number.isInfinite { return sign + "Infinity" }
        return "\(sign)\(number.parts.coefficient)E\(number.parts.exponent)"
    }

    private static func hex(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    private static func digest(_ bytes: [UInt8]) -> JSON {
        .array([.int(Int64(bytes.count)), .string(hex(UInt64(CRC32.of(bytes)), 8))])
    }

    static func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                text.append(
                    position <= group.count
                        ? digits[Int(bits >> UInt32(18 - 6 * position) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The checksum of gzip.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in
            value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
        }
    }

    static func of(_ bytes: [UInt8]) -> UInt32 { ~update(~0, bytes) }

    static func update(_ crc: UInt32, _ bytes: [UInt8]) -> UInt32 {
        bytes.reduce(crc) { $0 >> 8 ^ table[Int(($0 ^ UInt32($1)) & 0xFF)] }
    }
}

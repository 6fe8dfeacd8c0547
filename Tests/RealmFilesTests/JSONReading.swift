extension JSON {
    /// Parses a valid JSON text of the tests.
    init(parsing bytes: [UInt8]) {
        var parser = Parser(bytes: bytes)
        self = parser.value()
    }

    private struct Parser {
        let bytes: [UInt8]
        var position = 0

        mutating func skip() {
            while position < bytes.count,
                [0x20, 0x09, 0x0A, 0x0D, 0x2C, 0x3A].contains(bytes[position])
            {
                position += 1
            }
        }

        mutating func value() -> JSON {
            skip()
            switch bytes[position] {
            case UInt8(ascii: "{"):
                position += 1
                var members: [String: JSON] = [:]
                while true {
                    skip()
                    if bytes[position] == UInt8(ascii: "}") { break }
                    let name = text()
                    members[name] = value()
                }
                position += 1
                return .object(members)
            case UInt8(ascii: "["):
                position += 1
                var elements: [JSON] = []
                while true {
                    skip()
                    if bytes[position] == UInt8(ascii: "]") { break }
                    elements.append(value())
                }
                position += 1
                return .array(elements)
            case UInt8(ascii: "\""): return .string(text())
            case UInt8(ascii: "t"):
                position += 4
                return .bool(true)
            case UInt8(ascii: "f"):
                position += 5
                return .bool(false)
            case UInt8(ascii: "n"):
                position += 4
                return .null
            default:
                let start = position
                while position < bytes.count, bytes[position] > 0x2A, bytes[position] != 0x2C,
                    bytes[position] != 0x5D, bytes[position] != 0x7D
                {
                    position += 1
                }
                let text = String(decoding: bytes[start..<position], as: UTF8.self)
                return Int64(text).map(JSON.int) ?? .number(text)
            }
        }

        mutating func text() -> String {
            skip()
            position += 1
            var units: [UInt16] = []
            var start = position
            var parts = ""
            func flush(_ end: Int) {
                parts += String(decoding: bytes[start..<end], as: UTF8.self)
            }
            while bytes[position] != UInt8(ascii: "\"") {
                guard bytes[position] == UInt8(ascii: "\\") else {
                    position += 1
                    continue
                }
                flush(position)
                units = []
                while bytes[position] == UInt8(ascii: "\\") {
                    switch bytes[position + 1] {
                    case UInt8(ascii: "u"):
                        let digits = String(
                            decoding: bytes[position + 2..<position + 6], as: UTF8.self)
                        units.append(UInt16(digits, radix: 16) ?? 0)
                        position += 4
                    case UInt8(ascii: "n"): units.append(0x0A)
                    case UInt8(ascii: "t"): units.append(0x09)
                    case UInt8(ascii: "r"): units.append(0x0D)
                    case UInt8(ascii: "b"): units.append(0x08)
                    case UInt8(ascii: "f"): units.append(0x0C)
                    case let byte: units.append(UInt16(byte))
                    }
                    position += 2
                }
                parts += String(decoding: units, as: UTF16.self)
                start = position
            }
            flush(position)
            position += 1
            return parts
        }
    }

    /// A canonical form of the content: sorted sets and dictionaries, and numbers by value.
    var canonical: JSON {
        switch self {
        case .array(let elements): return .array(elements.map(\.canonical))
        case .object(var members):
            for (name, member) in members {
                switch (name, member) {
                case ("double", .string(let text)), ("float", .string(let text)):
                    members[name] = .string(Double(text).map { "\($0)" } ?? text)
                case ("set", .array(let elements)), ("dictionary", .array(let elements)),
                    ("backlinks", .array(let elements)):
                    members[name] = .array(elements.map(\.canonical).sorted())
                #if DEBUG
                    // Computing checksums of large values takes too long without optimization.
                    case ("longString", .array(let parts)), ("longBinary", .array(let parts)):
                        if case .int(let count)? = parts.first, count > 4 << 20 {
                            members[name] = .array([.int(count)])
                        }
                #endif
                default: members[name] = member.canonical
                }
            }
            // By definition a link and a mixed value may be null.
            if let type = members["type"]?.string, type == "link" || type == "mixed" {
                members["nullable"] = nil
            }
            return .object(members)
        default: return self
        }
    }
}

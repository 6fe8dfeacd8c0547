import Decimals
import ObjectStore

/// A value that is encoded as its text.
private protocol EncodedAsText: CustomStringConvertible {
    init?(_ text: String)
}

extension EncodedAsText {
    fileprivate init(fromTextIn decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Self(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "'\(text)' is not a valid \(Self.self)")
        }
        self = value
    }
    fileprivate func encodeText(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Timestamp: EncodedAsText, Codable {
    /// Decodes ISO 8601 text.
    public init(from decoder: any Decoder) throws { try self.init(fromTextIn: decoder) }
    /// Encodes ISO 8601 text.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension UUIDValue: EncodedAsText, Codable {
    /// Decodes the text of a UUID.
    public init(from decoder: any Decoder) throws { try self.init(fromTextIn: decoder) }
    /// Encodes the text of the UUID.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension ObjectIDValue: EncodedAsText, Codable {
    /// Decodes 24 hexadecimal digits.
    public init(from decoder: any Decoder) throws { try self.init(fromTextIn: decoder) }
    /// Encodes 24 hexadecimal digits.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension DecimalValue: EncodedAsText, Codable {
    /// Decodes the number from text, or from a number.
    public init(from decoder: any Decoder) throws {
        if let number = try? decoder.singleValueContainer().decode(Int64.self) {
            self.init(number)
        } else if let number = try? decoder.singleValueContainer().decode(Double.self) {
            self.init(number)
        } else {
            try self.init(fromTextIn: decoder)
        }
    }
    /// Encodes the number as text, which preserves all digits.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension Mixed: Codable {
    /// Decodes a plain value: nil, a Boolean, a number, text, a list or a map.
    ///
    /// A value of another type is decoded from an object with one key, its type: `{"$date": "2026-01-01T00:00:00Z"}`.
    public init(from decoder: any Decoder) throws {
        if let keyed = try? decoder.container(keyedBy: FieldKey.self) {
            if keyed.allKeys.count == 1, let key = keyed.allKeys.first,
                let value = try Self.tagged(key, keyed)
            {
                self = value
                return
            }
            self = .map(try Self.values(in: keyed))
            return
        }
        if var list = try? decoder.unkeyedContainer() {
            var values: [Mixed] = []
            while !list.isAtEnd { values.append(try list.decode(Mixed.self)) }
            self = .list(values)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Int.self) {
            self = .int(number)
        } else if let number = try? container.decode(Double.self) {
            self = .double(number)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    private static func values(
        in container: KeyedDecodingContainer<FieldKey>
    ) throws -> [String: Mixed] {
        var values: [String: Mixed] = [:]
        for key in container.allKeys {
            values[key.stringValue] = try container.decode(Mixed.self, forKey: key)
        }
        return values
    }

    private static func tagged(
        _ key: FieldKey, _ container: KeyedDecodingContainer<FieldKey>
    ) throws -> Mixed? {
        func number<N: Decodable & LosslessStringConvertible>(_ type: N.Type) throws -> N {
            if let number = try? container.decode(N.self, forKey: key) { return number }
            let text = try container.decode(String.self, forKey: key)
            guard let number = N(text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container,
                    debugDescription: "'\(text)' is not a valid number")
            }
            return number
        }
        return switch key.stringValue {
        case "$date": .date(try container.decode(Timestamp.self, forKey: key))
        case "$uuid": .uuid(try container.decode(UUIDValue.self, forKey: key))
        case "$oid": .objectID(try container.decode(ObjectIDValue.self, forKey: key))
        case "$decimal": .decimal(try container.decode(DecimalValue.self, forKey: key))
        case "$data": .data(try container.decode([UInt8].self, forKey: key))
        case "$float": .float(try number(Float.self))
        case "$double": .double(try number(Double.self))
        case "$map":
            .map(try values(in: container.nestedContainer(keyedBy: FieldKey.self, forKey: key)))
        default: nil
        }
    }

    /// Encodes the value in the form that ``init(from:)`` decodes.
    ///
    /// A double-precision number without a fraction has the key `$double`, because many formats do not distinguish it
    /// from an integer. Throws for a link, which has no meaning outside of its store.
    public func encode(to encoder: any Encoder) throws {
        func tagged(_ key: String, _ value: some Encodable) throws {
            var container = encoder.container(keyedBy: FieldKey.self)
            try container.encode(value, forKey: FieldKey(stringValue: key))
        }
        func plain(_ value: some Encodable) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let flag): try plain(flag)
        case .int(let number): try plain(number)
        case .double(let number) where number.isFinite && number.rounded() != number:
            try plain(number)
        // Formats such as JSON have no infinity and no NaN.
        case .double(let number) where !number.isFinite: try tagged("$double", "\(number)")
        case .double(let number): try tagged("$double", number)
        case .float(let number) where !number.isFinite: try tagged("$float", "\(number)")
        case .float(let number): try tagged("$float", number)
        case .string(let text): try plain(text)
        case .data(let bytes): try tagged("$data", bytes)
        case .date(let moment): try tagged("$date", moment)
        case .uuid(let identifier): try tagged("$uuid", identifier)
        case .objectID(let identifier): try tagged("$oid", identifier)
        case .decimal(let number): try tagged("$decimal", number)
        case .object:
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: encoder.codingPath,
                    debugDescription: "a link in a mixed value has no meaning outside of its store")
            )
        case .list(let values):
            var container = encoder.unkeyedContainer()
            for value in values { try container.encode(value) }
        case .map(let values):
            // A map whose only key could be that of a type is the value of the key `$map`.
            if values.count == 1, values.keys.first?.hasPrefix("$") == true {
                return try tagged("$map", values)
            }
            var container = encoder.container(keyedBy: FieldKey.self)
            for (key, value) in values {
                try container.encode(value, forKey: FieldKey(stringValue: key))
            }
        }
    }
}

extension Backlinks: Codable {
    /// This initializer is not called, because a container decodes backlinks from the model's default.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: decoder.codingPath,
                debugDescription: "backlinks are computed, not stored"))
    }
    /// Encodes nothing, because backlinks are computed.
    public func encode(to encoder: any Encoder) throws {}
}

extension KeyedEncodingContainer {
    /// Encodes nothing, because backlinks are computed.
    public mutating func encode<Origin>(_ value: Backlinks<Origin>, forKey key: Key) throws {}
}

extension KeyedDecodingContainer {
    /// Returns backlinks that follow the property in the model's declaration, because the data does not contain it.
    public func decode<Origin>(
        _ type: Backlinks<Origin>.Type, forKey key: Key
    ) throws -> Backlinks<Origin> {
        Backlinks(property: {
            throw StoreError(
                .invalidSchema,
                "decoded backlinks have no property to follow; use the model's default")
        })
    }
}

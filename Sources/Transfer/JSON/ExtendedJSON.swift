import DataFormats
import ObjectStore

/// Values with a type tag, such as `{"$oid": "…"}`, as MongoDB, Realm and this module write them.
enum ExtendedJSON {
    /// Returns the name of an object's only member if the name begins with a dollar sign.
    static func tag(of node: JSONNode) -> String? {
        guard node.kind == .object, node.tape.kind(node.index + 1) == .string else { return nil }
        let name = node.tape.text(node.index + 1)
        return name.hasPrefix("$") && node.only(name) != nil ? name : nil
    }

    /// Returns the value of a node for a property that is a collection; nil for a single property, and for a node of
    /// another kind.
    static func collection(
        _ node: JSONNode, _ property: Property, _ single: (JSONNode) throws -> Value
    ) rethrows -> Value? {
        switch (property.collection, node.kind) {
        case (.list, .array), (.set, .array):
            var elements: [Value] = []
            try node.forEachElement { elements.append(try single($0)) }
            return .list(elements)
        case (.map, _) where node.mayBeObject:
            var entries: ValueMap = [:]
            try node.forEachMember { entries[$0] = try single($1) }
            return .dictionary(entries)
        default: return nil
        }
    }

    /// Returns the value of a node, with or without a type tag, for a property of a type other than `mixed` and links;
    /// nil if the type does not match or cannot represent the value exactly.
    static func plain(_ node: JSONNode, as type: PropertyType) -> Value? {
        switch (type, node.kind) {
        case (.string, .string): .string(node.text)
        case (.int, .int): .int(node.tape.int(node.index))
        case (.double, .int), (.double, .real): node.tape.exactDouble(node.index).map(Value.double)
        case (.float, .int), (.float, .real): node.tape.exactFloat(node.index).map(Value.float)
        case (.bool, .truth): .bool(true)
        case (.bool, .falsehood): .bool(false)
        case (.decimal, .int): .decimal(DecimalValue(node.tape.int(node.index)))
        case (.int, .real): node.tape.exactInt(node.index).map(Value.int)
        case (.string, .real): nil
        case (_, .string), (.decimal, .real): ValueText.value(node.text, as: type)
        case (_, .object): value(node, as: type)
        default: nil
        }
    }

    /// Returns the value of a node with a type tag, for a property of a type; nil if there is no tag or the type does
    /// not match.
    static func value(_ node: JSONNode, as type: PropertyType) -> Value? {
        guard let tag = tag(of: node), let inner = node.only(tag) else { return nil }
        if tag == "$date", type == .date, inner.kind != .string, let moment = moment(inner) {
            return .date(moment)
        }
        if tag == "$binary" {
            let text = inner.kind == .object ? inner.members["base64"] : inner
            guard let bytes = text?.string.flatMap(Base64.decode) else { return nil }
            if case .fixed(let type) = type {
                return FixedValue(type, bytes: bytes).map(Value.fixed)
            }
            return type == .data ? .data(bytes) : nil
        }
        switch inner.kind {
        case .string, .real: return ValueText.value(inner.text, as: type)
        case .int: return ValueText.value(String(inner.tape.int(inner.index)), as: type)
        default: return nil
        }
    }

    /// Returns the type of a tag; nil for tags with other meanings.
    static func type(of tag: String) -> PropertyType? {
        usualTypes[tag] ?? PropertyType.allCases.first { $0.traits.tags.contains(tag) }
    }

    /// The types by their tags, except types that were registered later.
    private static let usualTypes = Dictionary(
        uniqueKeysWithValues: PropertyType.allCases.flatMap { type in
            type.traits.tags.map { ($0, type) }
        })

    /// Returns the date for milliseconds since 1970: a number or `{"$numberLong": "…"}`.
    private static func moment(_ node: JSONNode) -> Timestamp? {
        let number = node.only("$numberLong") ?? node
        let text = number.index == node.index ? nil : number.string
        let milliseconds = number.int ?? text.flatMap(NumberText.exactInt)
        return milliseconds.flatMap { SQLiteDates.milliseconds.moment($0) }
    }
}

/// Decodes values of mixed properties from JSON.
///
/// An object whose only member is a type tag, such as `{"$date": "…"}`, is a value of this type. Members with other
/// names that begin with `$` are data.
struct MixedJSON {
    /// Returns the object of a link with this class and key.
    let link: (_ className: String, _ key: JSONNode) throws -> Value

    /// Returns the value of a node.
    func value(_ node: JSONNode) throws -> Value {
        switch node.kind {
        case .null, .end: return .null
        case .truth: return .bool(true)
        case .falsehood: return .bool(false)
        case .int: return .int(node.tape.int(node.index))
        case .real:
            guard let number = ValueText.number(node.text) else {
                throw FormatError("no numeric type can represent \(node.text) exactly")
            }
            return number
        case .string: return .string(node.text)
        case .array:
            var elements: [Value] = []
            try node.forEachElement { elements.append(try value($0)) }
            return .list(elements)
        case .object: return try object(node)
        }
    }

    private func object(_ node: JSONNode) throws -> Value {
        if let tag = ExtendedJSON.tag(of: node) {
            if tag == "$map", let inner = node.only(tag), inner.mayBeObject {
                return try members(inner)
            }
            if tag == "$link", let inner = node.only(tag), inner.kind == .array {
                return try linked(inner)
            }
            if let type = ExtendedJSON.type(of: tag) {
                if let value = ExtendedJSON.value(node, as: type) { return value }
                throw FormatError("\"\(tag)\" does not contain a value of type \(type.rawValue)")
            }
        }
        return try members(node)
    }

    /// Decodes a link such as `["Dog",7]`.
    private func linked(_ node: JSONNode) throws -> Value {
        var parts: [JSONNode] = []
        if node.kind == .array { node.forEachElement { parts.append($0) } }
        guard parts.count == 2, parts[0].kind == .string else {
            throw FormatError(
                "expected an array of a class and a key in \"$link\", got \(node.description)")
        }
        return try link(parts[0].text, parts[1])
    }

    private func members(_ node: JSONNode) throws -> Value {
        var members: ValueMap = [:]
        try node.forEachMember { members[$0] = try value($1) }
        return .dictionary(members)
    }
}

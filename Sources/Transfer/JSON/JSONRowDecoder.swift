import DataFormats
import ObjectStore

/// Makes values of a class of JSON rows.
///
/// Understands what `RowEncoder` writes, and the extended JSON of MongoDB and Realm: `{"$oid": "…"}`, `{"$date": …}`,
/// `{"$numberLong": "…"}` and the like.
struct JSONRowDecoder {
    private let importer: Importer
    private let place: RowPlace

    init(_ importer: Importer, _ place: RowPlace) {
        self.importer = importer
        self.place = place
    }

    /// The row on a tape; its class is what the row says, else `className`.
    ///
    /// Most rows hold nothing but single values of the right types: those are stored at once.
    func decode(_ tape: JSONTape, className: String?) throws -> Importer.Row {
        guard tape.kind(0) == .object else {
            throw FormatError("a row is an object, got \(JSONNode(tape).description)")
        }
        let fields = try fields(tape, className)
        if try insert(tape, fields) { return .stored }
        return .values(try row(tape, fields))
    }

    private func row(_ tape: JSONTape, _ fields: FieldTable) throws -> DecodedRow {
        var row = DecodedRow(fields.classSchema)
        fields.members.startRow()
        var position = 1
        while tape.kind(position) != .end {
            let value = position + 1
            try take(tape, position, value, fields, &row)
            position = tape.after(value)
        }
        return row
    }

    private func fields(_ tape: JSONTape, _ className: String?) throws -> FieldTable {
        let hasOwnClass =
            tape.kind(1) == .string && tape.equals(1, Self.classMember) && tape.kind(2) == .string
        if hasOwnClass, let last = importer.lastFields, tape.equals(2, last.className) {
            return last
        }
        guard let name = hasOwnClass ? tape.text(2) : className else {
            throw FormatError("the row has no class; pass a class name")
        }
        let fields = try importer.fields(of: name)
        guard !fields.classSchema.isEmbedded else {
            throw FormatError("'\(name)' is embedded: its objects are part of their owners")
        }
        return fields
    }

    private static let classMember = Array("$class".utf8)

    // MARK: At once

    /// Stores a row of single values of the right types; false, and nothing has happened, for any other.
    private func insert(_ tape: JSONTape, _ fields: FieldTable) throws -> Bool {
        guard let inserter = try importer.directInserter(of: fields.classSchema) else {
            return false
        }
        inserter.clear()
        fields.members.startRow()
        var position = 1
        while tape.kind(position) != .end {
            let value = position + 1
            if let field = fields.members.position(tape, position) {
                guard set(field, tape, value, fields.types[field], inserter) else {
                    inserter.clear()
                    return false
                }
            } else if position > 1 || !tape.equals(position, Self.classMember) {
                inserter.clear()
                return false
            }
            position = tape.after(value)
        }
        do {
            try inserter.insert()
        } catch let error as StoreError where error.code == .duplicateKey {
            let key = try? row(tape, fields).primaryKey
            throw Importer.duplicate(key, fields.classSchema)
        }
        return true
    }

    @inline(__always)
    private func set(
        _ field: Int, _ tape: JSONTape, _ value: Int, _ type: PropertyType?,
        _ inserter: ObjectInserter
    ) -> Bool {
        switch (type, tape.kind(value)) {
        case (.int, .int): inserter.set(field, int: tape.int(value))
        case (.string, .string): return tape.withText(value) { inserter.set(field, utf8: $0) }
        case (.double, .real), (.double, .int): inserter.set(field, double: tape.double(value))
        case (.bool, .truth): inserter.set(field, bool: true)
        case (.bool, .falsehood): inserter.set(field, bool: false)
        case (.date, .string):
            guard let moment = Timestamp(tape.text(value)) else { return false }
            inserter.set(field, .date(moment))
        default: return false
        }
        return true
    }

    // MARK: In general

    private func take(
        _ tape: JSONTape, _ name: Int, _ value: Int, _ fields: FieldTable, _ row: inout DecodedRow
    ) throws {
        if tape.firstByte(name) == 0x24 {
            switch tape.text(name) {
            case "$class": return
            case "$key" where tape.kind(value) == .int:
                row.number = tape.int(value)
                return
            default: break
            }
        }
        guard case .property(let position) = try fields.field(tape, name) else { return }
        row.values[position] = try self.value(
            JSONNode(tape, value), fields.classSchema.properties[position], fields.classSchema)
    }

    /// What a property is given.
    func value(
        _ node: JSONNode, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        switch (property.collection, node.kind) {
        case (.list, .array), (.set, .array):
            var elements: [Value] = []
            try node.forEachElement { elements.append(try single($0, property, classSchema)) }
            return .list(elements)
        // In Lua, an empty map and an empty list are the same.
        case (.map, .array) where node.tape.kind(node.index + 1) == .end: return .dictionary([:])
        case (.map, .object):
            var entries: [String: Value] = [:]
            try node.forEachMember { entries[$0] = try single($1, property, classSchema) }
            return .dictionary(entries)
        case (nil, _), (_, .null): return try single(node, property, classSchema)
        default:
            throw StoreError(
                .typeMismatch,
                "'\(classSchema.name).\(property.name)' expects \(property.typeName), got "
                    + node.description)
        }
    }

    private func single(
        _ node: JSONNode, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        switch (property.type, node.kind) {
        case (_, .null): return .null
        case (.string, .string): return .string(node.text)
        case (.int, .int): return .int(node.tape.int(node.index))
        case (.double, .int), (.double, .real): return .double(node.tape.double(node.index))
        case (.float, .int), (.float, .real): return .float(Float(node.tape.double(node.index)))
        case (.bool, .truth): return .bool(true)
        case (.bool, .falsehood): return .bool(false)
        case (.decimal, .int): return .decimal(DecimalValue(node.tape.int(node.index)))
        case (.object, _): return try link(node, property, classSchema)
        case (.mixed, _): return try MixedJSON(link: mixedLink).value(node)
        case (.string, _): break
        case (_, .string), (.decimal, .real), (.int, .real):
            if let value = ValueText.value(node.text, as: property.type) { return value }
            if property.type == .int, let number = Double(node.text),
                let whole = Int64(exactly: number)
            {
                return .int(whole)
            }
        case (_, .object):
            if let value = ExtendedJSON.value(node, as: property.type) { return value }
        default: break
        }
        throw StoreError(
            .typeMismatch,
            "'\(classSchema.name).\(property.name)' expects \(property.typeName), got "
                + node.description)
    }

    private func link(
        _ node: JSONNode, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        guard let target = importer.store.view.schema.target(of: property) else { return .null }
        return try link(node, to: target, "'\(classSchema.name).\(property.name)' links to")
    }

    /// A link in a mixed value, which names the class of its object.
    private func mixedLink(_ className: String, _ key: JSONNode) throws -> Value {
        let target = try importer.store.view.schema.require(className)
        guard !target.isEmbedded else {
            throw StoreError(
                .typeMismatch,
                "a mixed value cannot link to '\(className)', which is embedded")
        }
        return key.kind == .null ? .null : try link(key, to: target, "\"$link\" links to")
    }

    private func link(
        _ node: JSONNode, to target: ClassSchema, _ subject: @autoclosure () -> String
    ) throws -> Value {
        if node.kind == .object {
            if let number = node.only("$key"), number.kind == .int {
                return try importer.link(
                    toNumber: number.tape.int(number.index), of: target, place)
            }
            if target.primaryKey == nil || ExtendedJSON.tag(of: node) == nil {
                return try nested(node, target)
            }
        }
        guard let key = target.primaryKey, !target.isEmbedded else {
            throw StoreError(
                .typeMismatch,
                "\(subject()) \(target.name), which has no primary key; got "
                    + node.description)
        }
        return try importer.link(to: single(node, key, target), of: target, place)
    }

    /// An object that stands inside the row: embedded, or made with it.
    private func nested(_ node: JSONNode, _ target: ClassSchema) throws -> Value {
        var values: [String: Value] = [:]
        try node.forEachMember { name, value in
            let property = try target.requireProperty(name)
            if !property.isBacklinks { values[name] = try self.value(value, property, target) }
        }
        return .dictionary(values)
    }
}

import DataFormats
import ObjectStore

/// Decodes JSON rows into values of a class.
///
/// Accepts the output of `RowEncoder`, and the extended JSON of MongoDB and Realm, such as `{"$oid": "…"}`, `{"$date":
/// …}` and `{"$numberLong": "…"}`.
struct JSONRowDecoder {
    private let importer: Importer
    private let location: RowLocation

    init(_ importer: Importer, _ location: RowLocation) {
        self.importer = importer
        self.location = location
    }

    /// Decodes the row on a tape.
    ///
    /// The class is in the row; otherwise it is the section of the file, or the class in the options. A row that contains
    /// only values and short lists of the right types is stored directly.
    func decode(_ tape: JSONTape, section: String?) throws -> Importer.Row {
        guard tape.kind(0) == .object else {
            throw FormatError("expected an object as the row, got \(JSONNode(tape).description)")
        }
        let (fields, first) = try fields(tape, section)
        if try insert(tape, fields, first) { return .stored }
        return .values(try row(tape, fields, first))
    }

    /// Returns the values of the members, starting at the index `first`.
    private func row(_ tape: JSONTape, _ fields: FieldTable, _ first: Int) throws -> DecodedRow {
        var row = DecodedRow(fields.classSchema)
        fields.members.startRow()
        var position = first
        while tape.kind(position) != .end {
            let value = position + 1
            do {
                try take(tape, name: position, value: value, fields, from: first, into: &row)
            } catch let error where error is FormatError || error is StoreError {
                throw ValueFault(location: .offset(tape.offset(value)), underlying: error)
            }
            position = tape.after(value)
        }
        return row
    }

    /// Returns the fields of the row's class, and the index of the first member that is data.
    private func fields(
        _ tape: JSONTape, _ section: String?
    ) throws -> (fields: FieldTable, first: Int) {
        if let last = importer.lastFields, tape.kind(1) == .string, tape.kind(2) == .string,
            tape.equals(1, Self.classMember), tape.equals(2, last.className)
        {
            return (last, 3)
        }
        let own = RowName.className(
            tape, importer.store.view.schema,
            isGiven: section != nil || importer.options.className != nil)
        guard let name = own ?? section ?? importer.useGivenClass() else {
            throw FormatError("the row has no class; add --class NAME, or a member \"$class\"")
        }
        let fields = try importer.fields(of: name)
        guard !fields.classSchema.isEmbedded else {
            throw FormatError("'\(name)' is embedded: its objects are part of others")
        }
        return (fields, own == nil ? 1 : 3)
    }

    private static let classMember = Array("$class".utf8)

    // MARK: Fast path

    /// Stores a row that has only values and short collections of the right types, from the member at `first` up to the end of its
    /// object.
    ///
    /// Returns false and stores nothing for any other row.
    func insert(
        _ tape: JSONTape, _ fields: FieldTable, _ first: Int
    ) throws -> Bool {
        guard let inserter = try importer.directInserter(of: fields.classSchema) else {
            return false
        }
        inserter.clear()
        fields.members.startRow()
        var position = first
        while tape.kind(position) != .end {
            let value = position + 1
            guard let field = fields.members.position(tape, position),
                set(field: field, tape, value: value, type: fields.types[field], inserter)
            else {
                inserter.clear()
                return false
            }
            position = tape.after(value)
        }
        guard fields.members.repeated == nil else {
            inserter.clear()
            return false
        }
        do {
            try inserter.insert()
        } catch let error as StoreError where error.code == .duplicateKey {
            let key = try? row(tape, fields, first).primaryKey
            throw importer.duplicate(key, fields.classSchema)
        }
        return true
    }

    @inline(__always)
    private func set(
        field: Int, _ tape: JSONTape, value: Int, type: PropertyType?,
        _ inserter: ObjectInserter
    ) -> Bool {
        switch (type, tape.kind(value)) {
        case (.int, .int): inserter.set(field, int: tape.int(value))
        case (.string, .string): return tape.withText(value) { inserter.set(field, utf8: $0) }
        case (.double, .real), (.double, .int):
            guard let number = tape.exactDouble(value) else { return false }
            inserter.set(field, double: number)
        case (.bool, .truth): inserter.set(field, bool: true)
        case (.bool, .falsehood): inserter.set(field, bool: false)
        case (.date, .string), (.decimal, .string), (.decimal, .real):
            guard let type,
                let parsed = tape.withUTF8(value, { ValueText.plain($0, as: type) })
                    ?? ValueText.value(tape.text(value), as: type)
            else { return false }
            inserter.set(field, parsed)
        case (.decimal, .int): inserter.set(field, .decimal(DecimalValue(tape.int(value))))
        case (nil, .array): return setList(field, tape, value, inserter)
        case (nil, .object): return setMap(field, tape, value, inserter)
        default: return false
        }
        return true
    }

    private func setList(
        _ field: Int, _ tape: JSONTape, _ value: Int, _ inserter: ObjectInserter
    ) -> Bool {
        guard inserter.beginList(field) else { return false }
        var position = value + 1
        while tape.kind(position) != .end {
            guard append(field, tape, position, inserter) else { return false }
            position = tape.after(position)
        }
        return inserter.endCollection(field)
    }

    private func setMap(
        _ field: Int, _ tape: JSONTape, _ value: Int, _ inserter: ObjectInserter
    ) -> Bool {
        guard inserter.beginMap(field) else { return false }
        var position = value + 1
        while tape.kind(position) != .end {
            // A name with a dollar may denote a value of another type.
            guard tape.firstByte(position) != UInt8(ascii: "$"),
                tape.withText(position, inserter.append(key:)),
                append(field, tape, position + 1, inserter)
            else { return false }
            position = tape.after(position + 1)
        }
        return inserter.endCollection(field)
    }

    private func append(
        _ field: Int, _ tape: JSONTape, _ position: Int, _ inserter: ObjectInserter
    ) -> Bool {
        switch tape.kind(position) {
        case .string: tape.withText(position) { inserter.append(utf8: $0, to: field) }
        case .int:
            inserter.append(.int(tape.int(position)), to: field)
                || appendDouble(field, tape, position, inserter)
        case .real: appendDouble(field, tape, position, inserter)
        case .truth: inserter.append(.bool(true), to: field)
        case .falsehood: inserter.append(.bool(false), to: field)
        default: false
        }
    }

    private func appendDouble(
        _ field: Int, _ tape: JSONTape, _ position: Int, _ inserter: ObjectInserter
    ) -> Bool {
        tape.exactDouble(position).map { inserter.append(.double($0), to: field) } ?? false
    }

    // MARK: In general

    private func take(
        _ tape: JSONTape, name: Int, value: Int, _ fields: FieldTable, from first: Int,
        into row: inout DecodedRow
    ) throws {
        if RowName.isNumber(tape, name, first), fields.classSchema.primaryKey == nil,
            fields.classSchema.position(of: "$key") == nil
        {
            row.number = tape.int(value)
            return
        }
        guard case .property(let position) = try fields.field(tape, name) else { return }
        let property = fields.classSchema.properties[position]
        guard row.values[position] == nil else {
            throw FormatError("'\(tape.text(name))' appears twice in the row")
        }
        row.values[position] = try self.value(
            JSONNode(tape, value), property, fields.classSchema)
    }

    /// Returns the value of a node for a property.
    func value(
        _ node: JSONNode, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        let collection = try ExtendedJSON.collection(node, property) {
            try single($0, property, classSchema)
        }
        if let collection { return collection }
        guard property.isSingle || node.kind == .null else {
            throw importer.mismatch(property, classSchema, got: node.description, node.number)
        }
        return try single(node, property, classSchema)
    }

    /// Calls `body` with the position and the value of each member of an object, except computed properties.
    ///
    /// Throws `unknown_property` for other members, and the errors of ``value(_:_:_:)``.
    func forEachValue(
        of node: JSONNode, in classSchema: ClassSchema, _ body: (Int, Value) -> Void
    ) throws {
        try node.forEachMember { name, node in
            let property = try classSchema.requireProperty(name)
            guard let position = classSchema.position(of: name), !property.isBacklinks else {
                return
            }
            body(position, try value(node, property, classSchema))
        }
    }

    private func single(
        _ node: JSONNode, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        if node.kind == .null { return .null }
        switch property.type {
        case .object: return try link(node, property, classSchema)
        case .mixed: return try MixedJSON(link: mixedLink).value(node)
        default: if let value = ExtendedJSON.plain(node, as: property.type) { return value }
        }
        if let text = node.number, let value = importer.rounded(text, as: property.type) {
            return value
        }
        throw importer.mismatch(property, classSchema, got: node.description, node.number)
    }

    private func link(
        _ node: JSONNode, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        guard let target = importer.store.view.schema.target(of: property) else { return .null }
        return try link(node, to: target, "'\(classSchema.name).\(property.name)' links to")
    }

    /// Returns a link in a mixed value, which includes the class of its object.
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
        if node.kind == .object || target.isEmbedded && node.mayBeObject {
            if let key = node.only("$key") {
                if let number = key.int {
                    return try importer.link(toNumber: number, of: target, location)
                }
                if key.kind == .null, target.primaryKey?.isOptional == true {
                    return try importer.link(to: .null, of: target, location)
                }
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
        return try importer.link(to: single(node, key, target), of: target, location)
    }

    /// Returns an object that is nested in the row: an embedded object, or one that is created with the row.
    private func nested(_ node: JSONNode, _ target: ClassSchema) throws -> Value {
        var values: ValueMap = [:]
        try forEachValue(of: node, in: target) { values[target.properties[$0].name] = $1 }
        return .dictionary(values)
    }
}

extension JSONNode {
    /// The text of a number, or of a string that can represent a number or a date; nil for other nodes.
    fileprivate var number: String? {
        switch kind {
        case .int: String(tape.int(index))
        case .real, .string: text
        default: nil
        }
    }
}

/// Converts features of GeoJSON (RFC 7946) to rows.
///
///     {"type": "Feature", "id": 7, "geometry": {"type": "Point", …}, "properties": {"name": "Bern"}}
///
/// becomes `{"id": 7, "geometry": {"type": "Point", …}, "name": "Bern"}`. A property that is called like a member of its
/// feature, such as a second `id`, gets the name `properties.id`.
enum GeoJSONFeature {
    /// The default class of features.
    static let className = "Feature"

    /// The start of the names of properties that are called like members of their features.
    static let prefix = "properties."

    private static let type = Array("type".utf8)
    private static let properties = Array("properties".utf8)

    /// Writes the row of a feature onto another tape; copies values that are not objects.
    static func flatten(_ tape: JSONTape, onto row: JSONTape) {
        guard tape.kind(0) == .object else {
            row.clear()
            row.append(tape, 0)
            return
        }
        var names: Set<String> = []
        JSONNode(tape).forEachMember { name, _ in names.insert(name) }
        row.becomeObject {
            var position = 1
            while tape.kind(position) != .end {
                let value = position + 1
                if tape.equals(position, properties), tape.kind(value) == .object {
                    var inner = value + 1
                    while tape.kind(inner) != .end {
                        let name = tape.text(inner)
                        if names.contains(name), name != "type", name != "properties" {
                            row.append(name: prefix + name)
                        } else {
                            row.append(tape, inner)
                        }
                        row.append(tape, inner + 1)
                        inner = tape.after(inner + 1)
                    }
                } else if !tape.equals(position, type), !tape.equals(position, properties) {
                    row.append(tape, position)
                    row.append(tape, value)
                }
                position = tape.after(value)
            }
        }
    }
}

/// Decodes values that are JSON inside a field, for formats that cannot represent them otherwise.
enum JSONField {
    /// Decodes a text as a value of a property; `container` is the name of the field in messages.
    static func value(
        _ text: String, of property: Property, in classSchema: ClassSchema, importer: Importer,
        at location: RowLocation, container: String
    ) throws -> Value {
        let tape = JSONTape()
        do {
            try JSONText.read(Array(text.utf8), onto: tape)
        } catch let error as FormatError {
            throw FormatError(
                "'\(classSchema.name).\(property.name)' contains JSON in \(container); \"\(text)\" is "
                    + error.reason)
        }
        return try JSONRowDecoder(importer, location).value(JSONNode(tape), property, classSchema)
    }
}

import DataFormats
import ObjectStore

/// Writes objects as JSON.
///
/// A link is the primary key of its object, or `{"$key": n}` if the class has none. Embedded objects are inside their
/// owner. Values of a mixed property that are ambiguous in JSON have a type tag: `{"$date": "…"}`.
package struct RowEncoder {
    let view: StoreView
    private let normalizesNumbers: Bool
    private let linksByNumber: Bool

    /// Creates an encoder for the objects of a version.
    ///
    /// `normalizesNumbers` is for databases that store JSON numbers as decimals, which have no negative zero and do not
    /// distinguish 1e20 from an integer: such numbers are written as text.
    ///
    /// With `linksByNumber`, all links are written as `{"$key": n}`, even if a class has a primary key.
    package init(view: StoreView, normalizesNumbers: Bool = false, linksByNumber: Bool = false) {
        self.view = view
        self.linksByNumber = linksByNumber
        self.normalizesNumbers = normalizesNumbers
    }

    /// Writes the members of an object, without the braces and without computed properties.
    package func members(
        of key: ObjectKey, in classSchema: ClassSchema, to json: inout JSONWriter
    ) throws {
        for property in classSchema.properties where !property.isBacklinks {
            json.key(property.name)
            let value = try view.value(property, of: key, in: classSchema)
            try write(value, property, to: &json)
        }
    }

    /// Writes the value of a property.
    package func write(_ value: Value, _ property: Property, to json: inout JSONWriter) throws {
        switch value {
        case .list(let elements) where property.collection != nil:
            json.beginArray()
            for element in elements { try single(element, property, to: &json) }
            json.endArray()
        case .dictionary(let members) where property.collection == .map:
            json.beginObject()
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                json.key(name)
                try single(member, property, to: &json)
            }
            json.endObject()
        default: try single(value, property, to: &json)
        }
    }

    private func single(_ value: Value, _ property: Property, to json: inout JSONWriter) throws {
        if property.type == .mixed { return try mixed(value, to: &json) }
        guard case .object(let reference) = value else { return plain(value, to: &json) }
        try link(reference, to: &json)
    }

    /// Writes a link: the key of the object, or the object itself if it is embedded.
    func link(_ reference: ObjectReference, to json: inout JSONWriter) throws {
        guard let target = view.schema.find(table: reference.table) else { return json.null() }
        if target.isEmbedded {
            json.beginObject()
            try members(of: reference.key, in: target, to: &json)
            json.endObject()
        } else if !linksByNumber, let key = target.primaryKey {
            plain(try view.value(key, of: reference.key, in: target), to: &json)
        } else {
            json.beginObject()
            json.member("$key", reference.key.rawValue)
            json.endObject()
        }
    }

    private func plain(_ value: Value, to json: inout JSONWriter) {
        switch value {
        case .bool(let flag): json.bool(flag)
        case .int(let number): json.int(number)
        case .float(let number) where isNormalized(Double(number)): json.string(number.description)
        case .double(let number) where isNormalized(number): json.string(number.description)
        case .float(let number): json.double(Double(number.description) ?? .nan)
        case .double(let number): json.double(number)
        case .string(let text): json.string(text)
        default: if let text = ValueText.text(value) { json.string(text) } else { json.null() }
        }
    }

    private func mixed(_ value: Value, to json: inout JSONWriter) throws {
        switch value {
        case .double(let number) where !number.isFinite:
            tag("$numberDouble", in: &json)
            json.string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
            json.endObject()
        case .double(let number) where isNormalized(number):
            tag("$numberDouble", in: &json)
            json.string(number.description)
            json.endObject()
        case .null, .bool, .int, .double, .string: plain(value, to: &json)
        case .list(let elements):
            json.beginArray()
            for element in elements { try mixed(element, to: &json) }
            json.endArray()
        case .dictionary(let members):
            // Names that begin with a dollar sign would be parsed as type tags, and an empty table of Lua as a list.
            let isAmbiguous =
                members.isEmpty && json.isLua || members.keys.contains { $0.hasPrefix("$") }
            if isAmbiguous { tag("$map", in: &json) }
            json.beginObject()
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                json.key(name)
                try mixed(member, to: &json)
            }
            json.endObject()
            if isAmbiguous { json.endObject() }
        case .object(let reference):
            tag("$link", in: &json)
            json.beginArray()
            json.string(view.schema.find(table: reference.table)?.name ?? "")
            try link(reference, to: &json)
            json.endArray()
            json.endObject()
        default:
            tag("$" + value.typeName, in: &json)
            plain(value, to: &json)
            json.endObject()
        }
    }

    /// Returns whether a decimal with the value of this number would be parsed as another number.
    private func isNormalized(_ number: Double) -> Bool {
        normalizesNumbers && number.isFinite
            && (number == 0 && number.sign == .minus || number.description.contains("e"))
    }

    private func tag(_ name: String, in json: inout JSONWriter) {
        json.beginObject()
        json.key(name)
    }
}

/// Writes the members of many objects of one class; names are encoded once, and plain values are read without a copy.
struct ClassEncoder {
    private struct Member {
        let key: JSONWriter.Key
        let position: Int
        /// The type, if the value can be read without creating a `Value`; nil for other values.
        let plain: PropertyType?
    }

    private let view: StoreView
    private let classSchema: ClassSchema
    private let members: [Member]
    private let reader: ObjectReader
    private let encoder: RowEncoder

    init(_ view: StoreView, _ classSchema: ClassSchema, _ syntax: JSONWriter.Syntax) throws {
        self.view = view
        self.classSchema = classSchema
        let writer = JSONWriter(syntax)
        let plain: Set<PropertyType> = [.int, .double, .bool, .string, .date, .decimal]
        members = classSchema.properties.enumerated().compactMap { position, property in
            if property.isBacklinks { return nil }
            let isPlain = property.isSingle && plain.contains(property.type)
            return Member(
                key: writer.makeKey(property.name), position: position,
                plain: isPlain ? property.type : nil)
        }
        reader = try ObjectReader(view, classSchema)
        encoder = RowEncoder(view: view)
    }

    /// Writes the members of an object, without the braces and without computed properties.
    func members(of key: ObjectKey, to json: inout JSONWriter) throws {
        for member in members {
            json.key(member.key)
            switch member.plain {
            case .int:
                if let number = try reader.int(member.position, key) {
                    json.int(number)
                    continue
                }
            case .double:
                if let number = try reader.double(member.position, key) {
                    json.double(number)
                    continue
                }
            case .bool:
                if let flag = try reader.bool(member.position, key) {
                    json.bool(flag)
                    continue
                }
            case .string:
                let wasText: Void? = try reader.withText(member.position, key) {
                    json.string(utf8: $0)
                }
                if wasText != nil { continue }
            case .date:
                if let moment = try reader.date(member.position, key) {
                    json.string(ascii: moment.append(to:))
                    continue
                }
            case .decimal:
                if let number = try reader.decimal(member.position, key) {
                    json.string(ascii: number.append(to:))
                    continue
                }
            default: break
            }
            // The property is read only here, because copying it for each plain value would cost more than writing the
            // value.
            let property = classSchema.properties[member.position]
            let value = try view.value(property, of: key, in: classSchema)
            try encoder.write(value, property, to: &json)
        }
    }
}

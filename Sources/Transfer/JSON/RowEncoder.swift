import DataFormats
import ObjectStore

/// Writes objects as JSON.
///
/// A link is the primary key of its object, `{"$key": null}` if that is nil, or `{"$key": n}` if the class has none.
/// Embedded objects are inside their owner. Values of a mixed property that are ambiguous in JSON have a type tag:
/// `{"$date": "…"}`.
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

    /// Writes an object, or some of its properties, without computed properties.
    package func object(
        _ key: ObjectKey, in classSchema: ClassSchema, properties: [Property]? = nil,
        to json: inout JSONWriter
    ) throws {
        json.beginObject()
        for property in properties ?? classSchema.properties where !property.isBacklinks {
            json.key(property.name)
            let value = try view.value(property, of: key, in: classSchema)
            try write(value, property, to: &json)
        }
        json.endObject()
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
        if target.isEmbedded { return try object(reference.key, in: target, to: &json) }
        let primary = linksByNumber ? nil : target.primaryKey
        let value = try primary.map { try view.value($0, of: reference.key, in: target) }
        let isTagged = value == nil || value == .null
        if isTagged { tag("$key", in: &json) }
        plain(value ?? .int(reference.key.rawValue), to: &json)
        if isTagged { json.endObject() }
    }

    private func plain(_ value: Value, to json: inout JSONWriter) {
        switch value {
        case .float(let number) where isNormalized(Double(number)): json.string(number.description)
        case .double(let number) where isNormalized(number): json.string(number.description)
        default: json.value(value)
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

extension JSONWriter {
    /// Writes a value without links and without type tags.
    mutating func value(_ value: Value) {
        switch value {
        case .bool(let flag): bool(flag)
        case .int(let number): int(number)
        case .float(let number): double(Double(number.description) ?? .nan)
        case .double(let number): double(number)
        case .string(let text): string(text)
        case .list(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .dictionary(let members):
            beginObject()
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                key(name)
                self.value(member)
            }
            endObject()
        default: if let text = ValueText.text(value) { string(text) } else { null() }
        }
    }
}

/// A writer of the values that a store keeps in plain columns.
protocol PlainWriter {
    mutating func int(_ value: Int64)
    mutating func double(_ value: Double)
    mutating func bool(_ value: Bool)
    mutating func string(utf8 text: RawSpan)
    mutating func string(ascii append: (inout [UInt8]) -> Void)
}

extension JSONWriter: PlainWriter {}
extension CSVWriter: PlainWriter {}

/// Reads the properties of many objects of one class; plain values are passed on without a copy.
struct PlainReader {
    /// A property that is not computed.
    struct Column {
        let position: Int
        /// The type, if the value can be read without creating a `Value`; nil for other values.
        fileprivate let plain: PropertyType?
    }

    let columns: [Column]
    private let view: StoreView
    private let classSchema: ClassSchema
    private let reader: ObjectReader

    init(_ view: StoreView, _ classSchema: ClassSchema) throws {
        self.view = view
        self.classSchema = classSchema
        let plain: Set<PropertyType> = [.int, .double, .bool, .string, .date, .decimal]
        columns = classSchema.properties.enumerated().compactMap { position, property in
            if property.isBacklinks { return nil }
            let isPlain = property.isSingle && plain.contains(property.type)
            return Column(position: position, plain: isPlain ? property.type : nil)
        }
        reader = try ObjectReader(view, classSchema)
    }

    /// Writes a plain value, or passes any other value and nil to `rest`.
    @inline(__always)
    func write<Writer: PlainWriter>(
        _ column: Column, _ key: ObjectKey, to writer: inout Writer,
        rest: (Value, Property, inout Writer) throws -> Void
    ) throws {
        let position = column.position
        switch column.plain {
        case .int: if let number = try reader.int(position, key) { return writer.int(number) }
        case .double:
            if let number = try reader.double(position, key) { return writer.double(number) }
        case .bool: if let flag = try reader.bool(position, key) { return writer.bool(flag) }
        case .date:
            if let moment = try reader.date(position, key) {
                return writer.string(ascii: moment.append(to:))
            }
        case .decimal:
            if let number = try reader.decimal(position, key) {
                return writer.string(ascii: number.append(to:))
            }
        case .string:
            let wasText: Void? = try reader.withText(position, key) { writer.string(utf8: $0) }
            if wasText != nil { return }
        default: break
        }
        // The property is read only here, because copying it for each plain value would cost more than writing the value.
        let property = classSchema.properties[position]
        try rest(try view.value(property, of: key, in: classSchema), property, &writer)
    }
}

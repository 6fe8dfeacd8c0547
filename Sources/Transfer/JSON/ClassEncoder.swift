import DataFormats
import ObjectStore

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

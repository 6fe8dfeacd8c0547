import DataFormats
import ObjectStore

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

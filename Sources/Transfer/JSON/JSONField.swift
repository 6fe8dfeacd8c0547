import DataFormats
import ObjectStore

/// Values as JSON inside a field of a format that has no form for them.
enum JSONField {
    /// Returns the value of a text for a property; `container` names what holds JSON, for messages.
    static func value(
        _ text: String, _ property: Property, _ classSchema: ClassSchema, _ importer: Importer,
        _ place: RowPlace, container: String
    ) throws -> Value {
        let tape = JSONTape()
        do {
            try JSONText.read(Array(text.utf8), onto: tape)
        } catch let error as FormatError {
            throw FormatError(
                "'\(classSchema.name).\(property.name)' contains JSON in \(container); \"\(text)\" is "
                    + error.reason)
        }
        return try JSONRowDecoder(importer, place).value(JSONNode(tape), property, classSchema)
    }
}

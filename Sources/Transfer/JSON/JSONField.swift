import DataFormats
import ObjectStore

/// Values that are JSON in a field of another format: what the format has no form for.
enum JSONField {
    /// The value of a text for a property; `container` is what holds JSON, for messages.
    static func value(
        _ text: String, _ property: Property, _ classSchema: ClassSchema, _ importer: Importer,
        _ place: RowPlace, container: String
    ) throws -> Value {
        var value = Value.null
        var count = 0
        let parser = JSONParser(.values) { parser in
            value = try JSONRowDecoder(importer, place).value(
                JSONNode(parser.tape), property, classSchema)
            count += 1
        }
        do {
            try parser.parse(Array(text.utf8))
            try parser.finish()
            guard count == 1 else { throw FormatError("not one JSON value") }
        } catch let error as FormatError {
            throw FormatError(
                "'\(classSchema.name).\(property.name)' contains JSON in \(container); \"\(text)\" is "
                    + error.reason)
        }
        return value
    }
}

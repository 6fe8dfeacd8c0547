import DataFormats
import ObjectStore

/// Writes the objects of one class as rows of JSON.
struct JSONRows {
    private let encoder: RowEncoder
    private let classSchema: ClassSchema
    private let namesClass: Bool
    private let isList: Bool

    /// For a class; `namesClass` puts `$class` into each row, `isList` makes the rows one list instead of lines.
    init(_ view: StoreView, _ classSchema: ClassSchema, namesClass: Bool, isList: Bool) {
        encoder = RowEncoder(view: view)
        self.classSchema = classSchema
        self.namesClass = namesClass
        self.isList = isList
    }

    /// Writes the rows; `afterEach` may take what has been written.
    func write(
        _ keys: ResultKeys, _ json: inout JSONWriter, afterEach: (inout JSONWriter) throws -> Void
    ) throws {
        if isList { json.beginArray() }
        for key in keys.array {
            if isList { json.indent(4) }
            json.beginObject()
            if namesClass {
                json.key("$class")
                json.string(classSchema.name)
            }
            if classSchema.primaryKey == nil {
                json.key("$key")
                json.int(key.rawValue)
            }
            try encoder.members(of: key, in: classSchema, to: &json)
            json.endObject()
            if !isList { json.newLine() }
            try afterEach(&json)
        }
        if isList {
            if keys.count > 0 { json.indentEnd(2) }
            json.endArray()
        }
    }
}

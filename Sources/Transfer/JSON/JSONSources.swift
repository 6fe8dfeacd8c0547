import DataFormats
import ObjectStore

/// The rows of a file whose values are trees: JSON Lines, one JSON text, GeoJSON or Lua source.
///
/// A row is an object; its class is in the row, in the name of its list, or in the options.
final class TreeRows {
    let reader: any RowReader
    private let features: JSONRowReader?
    private let flat = JSONTape()

    init(_ file: FileReader, _ format: TransferFormat, _ options: ImportOptions) {
        switch format {
        case .lua: reader = LuaDataReader(file)
        case .json: reader = JSONRowReader(file, path: options.records)
        case .geoJSON: reader = JSONRowReader.features(file)
        default: reader = JSONLineReader(file)
        }
        features = reader as? JSONRowReader
    }

    /// Whether the rows are features of a GeoJSON collection.
    var areFeatures: Bool { features?.isGeoJSON == true }

    /// Returns the current row, flattened if it is a feature.
    func parse() throws -> JSONTape {
        try reader.parse()
        guard areFeatures else { return reader.tape }
        GeoJSONFeature.flatten(reader.tape, onto: flat)
        return flat
    }

    /// Passes all rows to an importer.
    func read(into importer: Importer) throws {
        importer.locator = reader
        var isFirst = true
        while try reader.next() {
            let wasFirst = isFirst
            isFirst = false
            if wasFirst, features != nil {
                importer.setRejectForm { areFeatures ? .features : .rows($0) }
            }
            let location = RowLocation(line: reader.line)
            try importer.take(location) {
                RejectFile.record(reader.record, ofClass: reader.section)
            } decode: {
                let tape = try parse()
                if wasFirst, try SchemaJSON.schema(tape, section: reader.section) != nil {
                    return .none
                }
                let section =
                    areFeatures
                    ? importer.useGivenClass() ?? GeoJSONFeature.className : reader.section
                return try JSONRowDecoder(importer, location).decode(tape, section: section)
            }
        }
    }
}

/// Writes the objects of one class as rows of JSON, or of Lua.
struct JSONRows {
    /// The format of the rows.
    enum Form {
        /// One row on each line.
        case lines
        /// One row on each line, with its class.
        case named
        /// A JSON list.
        case list
        /// Function calls in Lua source, grouped in functions because of Lua's limits.
        case calls
    }

    private let encoder: RowEncoder
    private let reader: PlainReader
    private let classSchema: ClassSchema
    private let form: Form
    private let isNumbered: Bool

    /// Creates a writer; with `isNumbered`, rows of a class without a primary key contain the number of their object.
    init(_ view: StoreView, _ classSchema: ClassSchema, _ form: Form, isNumbered: Bool) throws {
        self.isNumbered = isNumbered && classSchema.primaryKey == nil
        encoder = RowEncoder(view: view)
        reader = try PlainReader(view, classSchema)
        self.classSchema = classSchema
        self.form = form
    }

    /// Writes the rows; `afterEach` can remove the written bytes.
    func write(
        _ keys: ResultKeys, _ json: inout JSONWriter, afterEach: (inout JSONWriter) throws -> Void
    ) throws {
        let names = reader.columns.map { json.makeKey(classSchema.properties[$0.position].name) }
        let classKey = json.makeKey("$class")
        let numberKey = json.makeKey("$key")
        let call = callee
        var count = 0
        if form == .list { json.beginArray() }
        for key in keys {
            switch form {
            case .list: json.indent(4)
            case .calls:
                if count % LuaDataText.rowsInPart == 0 {
                    if count > 0 { json.literal(LuaDataText.partTail) }
                    json.literal(LuaDataText.partHead)
                }
                json.literal(call)
            case .lines, .named: break
            }
            json.beginObject()
            if form == .named {
                json.key(classKey)
                json.string(classSchema.name)
            }
            if isNumbered {
                json.key(numberKey)
                json.int(key.rawValue)
            }
            for (name, column) in zip(names, reader.columns) {
                json.key(name)
                try reader.write(column, key, to: &json) { try encoder.write($0, $1, to: &$2) }
            }
            json.endObject()
            if form != .list { json.newLine() }
            count += 1
            try afterEach(&json)
        }
        switch form {
        case .list:
            if count > 0 { json.indentEnd(2) }
            json.endArray()
        case .calls: if count > 0 { json.literal(LuaDataText.partTail) }
        case .lines, .named: break
        }
    }

    /// The Lua function that receives a row.
    private var callee: String {
        let name = classSchema.name
        if LuaWords.isName(name), !["schema", "data", "part", "_ENV"].contains(name) {
            return name + " "
        }
        var text = JSONWriter(.lua)
        text.string(LuaDataText.rowsName(name))
        return "_ENV[\(text.text)] "
    }
}

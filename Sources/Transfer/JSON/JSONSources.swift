import DataFormats
import ObjectStore

/// The rows of a JSON Lines file.
struct JSONLinesSource {
    private let file: FileReader

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        let reader = JSONLineReader(file)
        importer.locator = reader
        var isFirst = true
        while try reader.advance() {
            let location = RowLocation(line: reader.line)
            try importer.take(location) {
                reader.record
            } decode: {
                let wasFirst = isFirst
                isFirst = false
                try reader.parse()
                if wasFirst, try SchemaJSON.schema(ofLine: reader.tape) != nil { return .none }
                return try JSONRowDecoder(importer, location).decode(
                    reader.tape, section: nil)
            }
        }
    }
}

/// The rows of one JSON text: a list of objects, an object with a list for each class, or GeoJSON.
struct JSONSource {
    private let reader: JSONRowReader

    init(_ reader: JSONRowReader) { self.reader = reader }

    func read(into importer: Importer) throws {
        importer.locator = reader
        let flat = JSONTape()
        var isFirst = true
        while try reader.next() {
            let wasFirst = isFirst
            isFirst = false
            if wasFirst {
                importer.setRejectForm { reader.isGeoJSON ? .features : .rows($0) }
            }
            if wasFirst, reader.section == "$schema",
                try SchemaJSON.schema(reader.tape, 0) != nil
            {
                continue
            }
            let location = RowLocation(line: reader.line)
            try importer.take(location) {
                RejectFile.record(reader.record, ofClass: reader.section)
            } decode: {
                let decoder = JSONRowDecoder(importer, location)
                guard reader.isGeoJSON else {
                    return try decoder.decode(reader.tape, section: reader.section)
                }
                GeoJSONFeature.flatten(reader.tape, onto: flat)
                return try decoder.decode(
                    flat, section: importer.useGivenClass() ?? GeoJSONFeature.className)
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

    private let encoder: ClassEncoder
    private let classSchema: ClassSchema
    private let form: Form
    private let isNumbered: Bool

    /// Creates a writer; with `isNumbered`, rows of a class without a primary key contain the number of their object.
    init(_ view: StoreView, _ classSchema: ClassSchema, _ form: Form, isNumbered: Bool) throws {
        self.isNumbered = isNumbered && classSchema.primaryKey == nil
        encoder = try ClassEncoder(view, classSchema, form == .calls ? .lua : .json)
        self.classSchema = classSchema
        self.form = form
    }

    /// Writes the rows; `afterEach` can remove the written bytes.
    func write(
        _ keys: ResultKeys, _ json: inout JSONWriter, afterEach: (inout JSONWriter) throws -> Void
    ) throws {
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
            try encoder.members(of: key, to: &json)
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
        if LuaWords.isName(name), !["schema", "data", "part"].contains(name) { return name + " " }
        var text = JSONWriter(.lua)
        text.string(name)
        return "_ENV[\(String(decoding: text.bytes, as: UTF8.self))] "
    }
}

/// The rows of a Lua data file.
///
/// A row is a table with the same members as in JSON.
struct LuaSource {
    private let file: FileReader

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        var isFirst = true
        let reader = LuaDataReader(file) { reader in
            let wasFirst = isFirst
            isFirst = false
            let section = reader.section
            if section == "$schema", wasFirst, try SchemaJSON.schema(reader.tape, 0) != nil {
                return
            }
            let location = RowLocation(line: reader.line)
            try importer.take(location) {
                // A row with several lines is written as JSON on one line, which an import of JSON Lines accepts.
                var json = JSONWriter()
                JSONNode(reader.tape).write(to: &json)
                return RejectFile.record(json.bytes, ofClass: section)
            } decode: {
                try JSONRowDecoder(importer, location).decode(
                    reader.tape, section: section)
            }
        }
        try reader.read()
    }
}

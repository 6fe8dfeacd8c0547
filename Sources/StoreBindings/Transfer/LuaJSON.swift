import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// Converts Lua values to JSON and back.
///
/// Tables created from JSON objects have a metatable, so that `{}` is written as `{}` again and not as `[]`.
struct LuaJSON {
    let state: LuaState
    let null: LuaValue
    let dates: DateClass
    /// The metatable of tables that are objects even if they are empty.
    let objects: LuaTable

    /// Creates a converter; the metatable of objects is created once per state.
    init(state: LuaState, null: LuaValue, dates: DateClass) {
        self.state = state
        self.null = null
        self.dates = dates
        objects = state.makeTable(fields: 2)
        Self.mark(objects, in: state)
    }

    /// Marks a metatable as that of JSON objects; empty objects compare as equal.
    private static func mark(_ metatable: LuaTable, in state: LuaState) {
        metatable["__jsontype"] = .text("object")
        metatable["__eq"] = .function(
            state.makeFunction("__eq") { call in
                let areEmpty = [call[1], call[2]].allSatisfy {
                    guard let table = $0.table, isObject(table) else { return false }
                    return table.pairs.isEmpty
                }
                return call.answer(.boolean(areEmpty))
            })
    }

    /// Creates a table for a copy of a map with a number of entries; a map without entries remains a map.
    func makeMap(ofCount count: Int) -> LuaTable {
        let table = state.makeTable(fields: count)
        if count == 0 { table.metatable = objects }
        return table
    }

    /// Creates a table that is written as an empty object and equal to all empty objects.
    ///
    /// The table cannot be changed.
    func makeEmptyObject() -> LuaTable {
        let metatable = state.makeTable(fields: 3)
        Self.mark(metatable, in: state)
        metatable["__newindex"] = .function(
            state.makeFunction("__newindex") { _ in
                throw StoreError(
                    .invalidArgument,
                    "moonpool.json.empty_object cannot be changed; create a new table")
            })
        let table = state.makeTable()
        table.metatable = metatable
        return table
    }

    /// Returns whether a table is a JSON object even if it is empty.
    static func isObject(_ table: LuaTable) -> Bool {
        table.metatable?["__jsontype"].text == "object"
    }

    // MARK: To JSON

    /// Throws if the script lacks the memory for more output: a growing buffer doubles its size, and the old bytes
    /// exist until they are copied.
    private func checkMemory(of json: JSONWriter, adding bytes: Int = 0) throws {
        try state.checkMemory(adding: json.bytes.capacity * 3 + bytes)
    }

    /// Writes a value as JSON.
    ///
    /// Arrays become lists, other tables become objects with sorted names, and objects of a store become objects with
    /// their properties. Throws `invalid_argument` with the path of a value that JSON cannot represent.
    func write(_ value: LuaValue, to json: inout JSONWriter, path: String = "", depth: Int = 0)
        throws
    {
        try checkMemory(of: json)
        switch value {
        case .nil: json.null()
        case .boolean(let flag): json.bool(flag)
        case .integer(let number): json.int(number)
        case .number(let number): json.double(number)
        case .string(let string):
            // The text, in which a control character takes six bytes.
            try checkMemory(of: json, adding: string.bytes.count * 7)
            guard let text = string.text else {
                throw Self.refusal("bytes that are not UTF-8", path)
            }
            json.string(text)
        case .table(let table): try write(table, to: &json, path, depth)
        case .userdata(let userdata):
            if let table = try ProjectionHandle.table(of: userdata) {
                return try write(.table(table), to: &json, path: path, depth: depth)
            }
            try write(userdata, to: &json, path)
        default: throw Self.refusal("a \(value.typeName)", path)
        }
    }

    private func write(
        _ table: LuaTable, to json: inout JSONWriter, _ path: String, _ depth: Int
    ) throws {
        guard depth < JSONLimits.depth else {
            throw StoreError(
                .invalidArgument,
                "tables are nested more than \(JSONLimits.depth) deep, or contain themselves")
        }
        try state.checkMemory(adding: table.count * MemoryLayout<LuaValue>.stride * 2)
        // Only the keys are copied at once; the values of a large table are copied one after the other.
        let keys = table.keys
        if keys.isEmpty, Self.isObject(table) {
            json.beginObject()
            return json.endObject()
        }
        let count = table.count
        if keys.isEmpty || count == keys.count {
            json.beginArray()
            for index in 0..<count {
                try write(
                    table.raw(.integer(Int64(index + 1)), copies: 2), to: &json,
                    path: "\(path)[\(index + 1)]", depth: depth + 1)
            }
            json.endArray()
            return
        }
        var names: [String] = []
        for key in keys {
            guard let name = key.text else {
                let hasNames = keys.contains { $0.text != nil }
                throw Self.refusal(
                    key.integer != nil && !hasNames
                        ? "an array with gaps; use moonpool.null for nil"
                        : "a table with names and a key that is a \(key.typeName)", path)
            }
            names.append(name)
        }
        json.beginObject()
        for name in names.sorted() {
            json.key(name)
            try write(
                table.raw(.text(name), copies: 2), to: &json, path: "\(path).\(name)",
                depth: depth + 1)
        }
        json.endObject()
    }

    private func write(
        _ userdata: LuaUserdata, to json: inout JSONWriter, _ path: String
    ) throws {
        if let live = userdata.liveObject {
            if live.type is DateClass {
                return json.string(Timestamp(microseconds: live.key).description)
            }
            guard let type = live.type as? ObjectClass else { throw Self.refusal("this", path) }
            return try write(type.reference(live.key), type.source.openView(), to: &json)
        }
        if let held = userdata.held {
            let view = try held.value.source.openView()
            switch held.value {
            case .collection(let collection): return try write(collection, to: &json)
            case .nested(let nested):
                return try RowEncoder(view: view)
                    .write(nested.value(), Property("value", .mixed), to: &json)
            case .values(let values):
                let property = Property("values", values.property.type, collection: .list)
                return try RowEncoder(view: view).write(.list(values.values()), property, to: &json)
            case .object, .store, .results:
                json.beginArray()
                for case .object(let reference) in try held.elements() ?? [] {
                    try checkMemory(of: json)
                    try write(reference, view, to: &json)
                }
                return json.endArray()
            }
        }
        switch value(userdata) {
        case nil: throw Self.refusal("this kind of value", path)
        case .data(let bytes): json.string(Base64.encode(bytes))
        case .float(let number): json.double(Double(number))
        // Parsing the number returns the same decimal, or an equal number.
        case .decimal(let number) where number.isFinite: json.number(number.description)
        case let value?: if let text = value.text { json.string(text) } else { json.null() }
        }
    }

    private func write(
        _ reference: ObjectReference, _ view: StoreView, to json: inout JSONWriter
    ) throws {
        guard let classSchema = view.schema.find(table: reference.table) else { return json.null() }
        try RowEncoder(view: view).object(reference.key, in: classSchema, to: &json)
    }

    private func write(_ collection: some LiveCollection, to json: inout JSONWriter) throws {
        let view = try collection.source.openView()
        let value = try view.value(
            collection.property, of: collection.owner, in: collection.classSchema)
        try RowEncoder(view: view).write(value, collection.property, to: &json)
    }

    private static func refusal(_ what: String, _ path: String) -> StoreError {
        let location = path.isEmpty ? "" : " (at \(path))"
        return StoreError(.invalidArgument, "JSON cannot represent \(what)\(location)")
    }

    // MARK: From JSON

    /// Parses a JSON text.
    ///
    /// Throws `invalid_argument` with line and column.
    func read(_ text: LuaString) throws -> LuaValue {
        // The tape has at most two tokens of 24 bytes for each three bytes of text.
        try state.checkMemory(adding: text.bytes.count * 16)
        let tape = JSONTape()
        do {
            try JSONText.read(text.bytes, onto: tape)
            return try value(JSONNode(tape))
        } catch let error as NumberFault {
            let location = JSONText.location(text.bytes, error.offset)
            throw StoreError(
                .invalidArgument,
                FormatError(line: location.line, column: location.column, error.reason).description)
        } catch let error as FormatError {
            throw StoreError(.invalidArgument, error.description)
        }
    }

    /// Returns the value of a node.
    ///
    /// Throws a `NumberFault` for a number that neither an integer, a double nor a decimal represents exactly.
    func value(_ node: JSONNode) throws -> LuaValue {
        try state.checkMemory()
        switch node.kind {
        case .null, .end: return null
        case .truth: return .boolean(true)
        case .falsehood: return .boolean(false)
        case .int: return .integer(node.tape.int(node.index))
        case .real: return try number(node)
        case .string: return .text(node.text)
        case .array:
            var elements: [LuaValue] = []
            try node.forEachElement { elements.append(try value($0)) }
            return .table(state.makeTable(elements))
        case .object:
            let table = state.makeTable()
            try node.forEachMember { table[$0] = try value($1) }
            table.metatable = objects
            return .table(table)
        }
    }

    private func number(_ node: JSONNode) throws -> LuaValue {
        switch ValueText.number(node.text) {
        case .double(let number): return .number(number)
        case .decimal(let number): return state.userdata(DecimalBox(number), DecimalBox.type)
        default:
            throw NumberFault(
                offset: node.tape.offset(node.index),
                reason: "no numeric type can represent \(node.text) exactly")
        }
    }

    /// The error of a number that no type can represent, with its offset in the text.
    struct NumberFault: Error {
        let offset: Int
        let reason: String
    }
}

extension StoreModule {
    /// Returns a value as JSON, as `moonpool.json.encode` does.
    ///
    /// Thread: the script's thread. Runs no code of a script. Throws `invalid_argument` for values that JSON cannot
    /// represent.
    package func json(of value: LuaValue) throws -> [UInt8] {
        var writer = JSONWriter()
        try json.write(value, to: &writer)
        return writer.bytes
    }

    /// Parses JSON as `moonpool.json.decode` does, but returns nil for `null` as the whole text and for an empty text.
    ///
    /// Thread: the script's thread. Throws `invalid_argument` with line and column.
    package func value(ofJSON bytes: [UInt8]) throws -> LuaValue {
        guard !bytes.isEmpty else { return .nil }
        let value = try json.read(LuaString(bytes: bytes))
        return value == null ? .nil : value
    }
}

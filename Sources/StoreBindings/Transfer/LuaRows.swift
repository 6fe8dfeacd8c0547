import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// Rows of a CSV file as tables of Lua.
///
/// The same reader that imports use: a header that is not UTF-8, a record that is too short and the like are errors.
struct LuaCSVRows {
    /// The options of `moonpool.csv.read` and `moonpool.csv.rows`.
    static let options = ["separator", "quote", "no_header", "skip_lines", "null", "types"]

    let table: CSVTable
    private let state: LuaState
    private let path: String
    private let types: [PropertyType?]
    private let dates: DateClass

    /// Opens a file and reads its header.
    init(
        _ path: String, _ options: LuaTable?, _ state: LuaState, _ dates: DateClass
    ) throws {
        self.path = path
        self.state = state
        self.dates = dates
        let format = try CSVOptions.format(options)
        do {
            table = try CSVTable(FileReader(path), format)
        } catch let error as FormatError {
            throw error.inFile(path)
        }
        let names = table.names
        if let twice = names.indices.first(where: { Set(names[..<$0]).contains(names[$0]) }) {
            throw FormatError(
                line: table.reader.line, "two columns are called '\(names[twice])'"
            ).inFile(path)
        }
        let given = try CSVOptions.types(options)
        if let unknown = given.keys.sorted().first(where: { !names.contains($0) }) {
            throw StoreError(
                .invalidArgument,
                "a type is given for '\(unknown)', which is not in the file"
                    + NearestName.hint(for: unknown, among: names))
        }
        types = names.map { given[$0] }
    }

    /// The next row; nil after the last one.
    func next() throws -> LuaTable? {
        do {
            guard try table.next() else { return nil }
            try table.check()
            let row = state.makeTable(fields: table.names.count)
            for (index, name) in table.names.enumerated() {
                guard let text = try table.reader.text(index) else { continue }
                row[name] = try value(text, index)
            }
            return row
        } catch let error as FormatError {
            throw error.inFile(path)
        }
    }

    private func value(_ text: String, _ index: Int) throws -> LuaValue {
        guard let type = types[index] else { return .text(text) }
        guard let value = FieldText.value(text, as: type) else {
            throw FormatError(
                line: table.reader.line, column: index + 1,
                "'\(table.names[index])' expects \(type.rawValue), got \"\(text)\"")
        }
        switch value {
        case .bool(let flag): return .boolean(flag)
        case .int(let number): return .integer(number)
        case .float(let number): return .number(Double(number))
        case .double(let number): return .number(number)
        case .data(let bytes): return .string(LuaString(bytes: bytes))
        case .date(let moment): return dates.userdata(moment, state)
        case .uuid(let identifier): return state.userdata(UUIDBox(identifier), UUIDBox.type)
        case .objectID(let identifier):
            return state.userdata(ObjectIDBox(identifier), ObjectIDBox.type)
        case .decimal(let number): return state.userdata(DecimalBox(number), DecimalBox.type)
        default: return .text(text)
        }
    }
}

/// The dialect of CSV files as scripts give it.
enum CSVOptions {
    /// The format that the options describe.
    static func format(_ options: LuaTable?) throws -> CSVFormat {
        var format = CSVFormat()
        if let text = options?["separator"].text {
            guard let separator = CSVFormat.character(text) else { throw refusal("separator", text) }
            format.separator = separator
        }
        if let quote = options?["quote"], !quote.isNil {
            let text = quote.text ?? ""
            if quote == .boolean(false) || text.isEmpty {
                format.quote = nil
            } else {
                guard let character = CSVFormat.character(text) else { throw refusal("quote", text) }
                format.quote = character
            }
        }
        format.hasHeader = !(options?["no_header"].isTruthy ?? false)
        if let lines = options?["skip_lines"], !lines.isNil {
            guard let count = lines.integer, count >= 0 else {
                throw StoreError(
                    .invalidArgument, "'skip_lines' must be a number of lines, got \(lines.typeName)")
            }
            format.skippedLines = Int(count)
        }
        if let word = options?["null"].text { format.nulls = [word] }
        for word in options?["null"].table?.array ?? [] {
            if let word = word.text { format.nulls.append(word) }
        }
        if let fault = format.fault { throw StoreError(.invalidArgument, fault) }
        return format
    }

    /// The types of columns, which are those of single values.
    static func types(_ options: LuaTable?) throws -> [String: PropertyType] {
        var types: [String: PropertyType] = [:]
        for (name, type) in options?["types"].table?.pairs ?? [] {
            guard let name = name.text, let text = type.text else { continue }
            let base = text.hasSuffix("?") ? String(text.dropLast()) : text
            guard let type = PropertyType(rawValue: base), type != .object, type != .backlinks,
                type != .mixed
            else {
                throw StoreError(
                    .invalidArgument, "'\(text)' is not a type of a single value, such as int or date")
            }
            types[name] = type
        }
        return types
    }

    private static func refusal(_ option: String, _ text: String) -> StoreError {
        StoreError(.invalidArgument, "'\(option)' must be one character, got \"\(text)\"")
    }
}

/// Rows of a file of JSON Lines, or of one JSON text, as tables of Lua.
struct LuaJSONRows {
    /// The options of `moonpool.json.rows`.
    static let options = ["format", "records"]

    private enum Source {
        case lines(JSONLineReader)
        case text(JSONRowReader)
    }

    private let source: Source
    private let path: String
    private let json: LuaJSON

    /// Opens a file; one that ends in `.json` holds one text, any other a value on each line.
    init(_ path: String, _ options: LuaTable?, _ json: LuaJSON) throws {
        self.path = path
        self.json = json
        let format: TransferFormat
        if let name = options?["format"].text {
            format = try TransferFormat(name: name)
        } else {
            format = (try? TransferFormat(path: path)) ?? .jsonLines
        }
        let records = options?["records"].text?.split(separator: ".").map(String.init)
        let file = try FileReader(path)
        switch format {
        case .json, .geoJSON:
            source = .text(
                JSONRowReader(file, path: records ?? (format == .geoJSON ? ["features"] : nil)))
        case .jsonLines where records == nil: source = .lines(JSONLineReader(file))
        default:
            throw StoreError(
                .invalidArgument,
                records == nil
                    ? "'format' must be jsonl, json or geojson"
                    : "'records' is for a file that holds one JSON text; add format = \"json\"")
        }
    }

    /// The next value; nil after the last one.
    func next() throws -> LuaValue? {
        do {
            switch source {
            case .lines(let reader):
                guard try reader.advance() else { return nil }
                try reader.parse()
                return try value(reader.tape, reader.line)
            case .text(let reader):
                guard try reader.next() else { return nil }
                return try value(reader.tape, reader.line)
            }
        } catch let error as FormatError {
            throw error.inFile(path)
        }
    }

    private func value(_ tape: JSONTape, _ line: Int) throws -> LuaValue {
        do {
            return try json.value(JSONNode(tape))
        } catch let error as FormatError {
            throw FormatError(line: error.line ?? line, column: error.column, error.reason)
        }
    }
}

import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// The rows of a CSV file as Lua tables.
///
/// Uses the same reader as imports, so it reports the same errors, such as a header that is not UTF-8 or a record that
/// is too short.
struct LuaCSVRows {
    let table: CSVReader
    private let json: LuaJSON
    private let path: String
    private let types: [PropertyType?]

    /// Opens a file and reads its header.
    init(_ path: String, options: LuaTable?, _ json: LuaJSON) throws {
        self.path = path
        self.json = json
        let options = TransferOptions(options)
        let format = try options.csv(path)
        do {
            table = try CSVReader(FileReader(path, encoding: options.text("encoding")), format)
        } catch let error as FormatError {
            throw error.inFile(path)
        }
        let names = table.names
        let given = try options.columnTypes()
        if let unknown = given.keys.sorted().first(where: { !names.contains($0) }) {
            throw StoreError(
                .invalidArgument,
                "'types' contains '\(unknown)', which is not in the file"
                    + NearestName.hint(for: unknown, among: names))
        }
        types = names.map { given[$0] }
    }

    /// Returns the next row; nil after the last one.
    func next() throws -> LuaTable? {
        do {
            guard try table.next() else { return nil }
            try table.check()
            try json.state.checkMemory()
            let row = json.state.makeTable(fields: table.names.count)
            for (index, name) in table.names.enumerated() {
                guard let text = try table.text(index) else { continue }
                row[name] = try value(text, index)
            }
            return row
        } catch let error as FormatError {
            throw error.inFile(path)
        }
    }

    private func value(_ text: String, _ index: Int) throws -> LuaValue {
        guard let type = types[index] else { return .text(text) }
        guard let value = ValueText.value(text, as: type) else {
            throw FormatError(
                line: table.line, column: index + 1,
                "'\(table.names[index])' expects \(type.rawValue), got \"\(text)\"")
        }
        return json.lua(value)
    }
}

/// The rows of a JSON Lines file, or of one JSON text, as Lua tables.
struct LuaJSONRows {
    private let reader: any RowReader
    private let path: String
    private let json: LuaJSON

    /// Opens a file.
    ///
    /// A `.json` file contains one JSON text; any other file contains a value on each line.
    init(_ path: String, _ options: LuaTable?, _ json: LuaJSON) throws {
        self.path = path
        self.json = json
        let options = TransferOptions(options)
        let format: TransferFormat
        if let name = try options.text("format") {
            format = try TransferFormat(name: name)
        } else {
            format = (try? TransferFormat(path: path)) ?? .jsonLines
        }
        let records = try options.path("records")
        let file = try FileReader(path, encoding: options.text("encoding"))
        switch format {
        case .json, .geoJSON:
            reader = JSONRowReader(
                file, path: records ?? (format == .geoJSON ? ["features"] : nil))
        case .jsonLines where records == nil: reader = JSONLineReader(file)
        default:
            throw StoreError(
                .invalidArgument,
                records == nil
                    ? "'format' must be jsonl, json or geojson"
                    : "'records' is for a file that holds one JSON text; add format = \"json\"")
        }
    }

    /// Returns the next value; nil after the last one.
    func next() throws -> LuaValue? {
        do {
            guard try reader.next() else { return nil }
            try reader.parse()
            return try json.value(JSONNode(reader.tape))
        } catch let error as FormatError {
            throw error.inFile(path)
        } catch let error as LuaJSON.NumberFault {
            let location = reader.location(error.offset)
            throw FormatError(line: location?.line, column: location?.column, error.reason)
                .inFile(path)
        }
    }
}

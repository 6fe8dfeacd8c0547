import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// `moonpool.json`, `moonpool.csv` and `moonpool.replay`.
struct TransferModule {
    let state: LuaState
    let null: LuaValue

    func install(in module: LuaTable) {
        let json = LuaJSON(state: state, null: null)
        let jsonTable = state.makeTable(fields: 2)
        jsonTable["encode"] = .function(
            state.makeFunction("encode") { call in
                var writer = JSONWriter()
                try json.write(call[1], to: &writer)
                return call.answer(.string(LuaString(bytes: writer.bytes)))
            })
        jsonTable["decode"] = .function(
            state.makeFunction("decode") { call in call.answer(try json.read(call.string(1))) })
        module["json"] = .table(jsonTable)

        let csvTable = state.makeTable(fields: 2)
        csvTable["read"] = .function(state.makeFunction("read", readCSV))
        csvTable["write"] = .function(state.makeFunction("write", writeCSV))
        module["csv"] = .table(csvTable)
        module["replay"] = .function(state.makeFunction("replay", RecordingMethods.replay))
    }

    /// `read(path)` → an array of rows by the header's names; what stands between two commas alone is absent.
    private func readCSV(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(1, for: .reading)
        let state = state
        var header: [String]?
        var rows: [LuaValue] = []
        try TransferError.wrapping {
            let parser = CSVParser { record, line in
                guard let names = header else {
                    let names = record.fields.enumerated().map { $1 ?? "column \($0 + 1)" }
                    if let twice = names.indices.first(where: { names[..<$0].contains(names[$0]) })
                    {
                        throw FormatError(line: line, "two columns are called '\(names[twice])'")
                    }
                    header = names
                    return
                }
                guard record.count <= names.count else {
                    throw FormatError(
                        line: line,
                        "the record has \(record.count) fields, the header names \(names.count)")
                }
                let row = state.makeTable(fields: names.count)
                for index in 0..<record.count {
                    guard record.isText(index) else {
                        throw FormatError(
                            line: line, "'\(names[index])' contains bytes that are not UTF-8")
                    }
                    row[names[index]] = record.field(index).map(LuaValue.text) ?? .nil
                }
                rows.append(.table(row))
            }
            let file = try FileReader(path)
            do {
                while true {
                    let bytes = try file.read()
                    if bytes.isEmpty { break }
                    try parser.parse(bytes)
                }
                try parser.finish()
            } catch let error as FormatError {
                throw error.inFile(path)
            }
        }
        let names = state.makeTable((header ?? []).map(LuaValue.text))
        return call.answer(.table(state.makeTable(rows)), .table(names))
    }

    /// `write(path, rows [, names])`: rows are tables; without names, those of all rows in order.
    private func writeCSV(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(1, for: .writing)
        let rows = try call.table(2).array
        let names: [String]
        if call.isNil(3) {
            names = Set(rows.flatMap { $0.table?.pairs.compactMap(\.key.text) ?? [] }).sorted()
        } else {
            names = try call.table(3).array.compactMap(\.text)
        }
        try TransferError.wrapping {
            let file = try FileWriter(path)
            var csv = CSVWriter()
            for name in names { csv.field(name) }
            csv.endRecord()
            for (index, row) in rows.enumerated() {
                guard let row = row.table else {
                    throw StoreError(
                        .invalidArgument,
                        "row \(index + 1): expected a table, got a \(rows[index + 1].typeName)")
                }
                guard row.count == 0 else {
                    throw StoreError(
                        .invalidArgument,
                        "row \(index + 1) is an array; the fields of a row are named, as in "
                            + "{ name = \"ball\", price = 3 }")
                }
                for name in names {
                    csv.field(try field(row[name], "row \(index + 1): '\(name)'"))
                }
                csv.endRecord()
                try file.write(csv.bytes)
                csv.removeAll()
            }
            try file.write(csv.bytes)
            try file.finish()
        }
        return .none
    }
}

extension TransferModule {
    /// The text of a value in CSV; nil for nothing between the commas.
    private func field(_ value: LuaValue, _ place: @autoclosure () -> String) throws -> String? {
        switch value {
        case .nil: return nil
        case .boolean, .integer, .number: return try state.describe(value).description
        case .string(let string):
            guard let text = string.text else {
                throw StoreError(
                    .invalidArgument,
                    "\(place()) contains bytes that are not UTF-8; encode them in base64 or hexadecimal"
                )
            }
            return text
        case .userdata(let userdata):
            if userdata.object(as: NullMarker.type) != nil { return nil }
            return try state.describe(value).description
        default:
            throw StoreError(
                .invalidArgument,
                "\(place()) is a \(value.typeName); a field of CSV is text, a number, a boolean or a date"
            )
        }
    }
}

/// Errors of files as scripts see them.
enum TransferError {
    /// Runs the work; what is wrong with a file becomes `invalid_argument`.
    static func wrapping<Result>(_ work: () throws -> Result) throws -> Result {
        do {
            return try work()
        } catch let error as FormatError {
            throw StoreError(.invalidArgument, error.description)
        }
    }

    /// Ends long work when the script is to stop.
    static func check(_ interrupt: LuaInterrupt) throws {
        guard !interrupt.isPending else { throw StoreError(.interrupted, "interrupted") }
    }
}

import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// The functions of `moonpool.json` and `moonpool.csv`, and `moonpool.replay`.
struct TransferModule {
    let state: LuaState
    let json: LuaJSON

    func install(in table: LuaTable) {
        let jsonTable = state.makeTable(fields: 4)
        jsonTable["encode"] = .function(
            state.makeFunction("encode", of: "moonpool.json") { call in
                var writer = JSONWriter()
                try json.write(call[1], to: &writer)
                return call.answer(.string(LuaString(bytes: writer.bytes)))
            })
        jsonTable["decode"] = .function(
            state.makeFunction("decode", of: "moonpool.json") { call in
                call.answer(try json.read(call.string(1)))
            })
        jsonTable["rows"] = .function(
            state.makeFunction("rows", of: "moonpool.json") { call in
                let path = try call.path(1, for: .reading)
                let options = try call.options(2)
                let rows = try TransferError.wrapping { try LuaJSONRows(path, options, json) }
                return call.answer(Self.iterator("rows", call.state) { try rows.next() })
            })
        jsonTable["empty_object"] = .table(json.makeEmptyObject())
        table["json"] = .table(jsonTable)

        let csvTable = state.makeTable(fields: 3)
        csvTable["read"] = .function(state.makeFunction("read", of: "moonpool.csv", readCSV))
        csvTable["rows"] = .function(
            state.makeFunction("rows", of: "moonpool.csv") { call in
                let path = try call.path(1, for: .reading)
                let options = try call.options(2)
                let rows = try TransferError.wrapping {
                    try LuaCSVRows(path, options: options, json)
                }
                return call.answer(
                    Self.iterator("rows", call.state) { try rows.next().map(LuaValue.table) })
            })
        csvTable["write"] = .function(state.makeFunction("write", of: "moonpool.csv", writeCSV))
        table["csv"] = .table(csvTable)
        table["replay"] = .function(
            state.makeFunction("replay", of: "moonpool", RecordingMethods.replay))
    }

    /// Returns a function that returns the next row at each call, and nil at the end.
    private static func iterator(
        _ name: String, _ state: LuaState, _ next: @escaping () throws -> LuaValue?
    ) -> LuaValue {
        var isAtEnd = false
        return .function(
            state.makeFunction(name) { call in
                guard !isAtEnd else { return call.answer(.nil) }
                do {
                    guard let row = try TransferError.wrapping(next) else {
                        isAtEnd = true
                        return call.answer(.nil)
                    }
                    return call.answer(row)
                } catch {
                    // A reader is not used again after an error.
                    isAtEnd = true
                    throw error
                }
            })
    }

    /// Implements `read(path [, options])`: returns an array of rows by column name, and the column names.
    private func readCSV(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(1, for: .reading)
        let options = try call.options(2)
        return try TransferError.wrapping {
            let reader = try LuaCSVRows(path, options: options, json)
            var rows: [LuaValue] = []
            while let row = try reader.next() { rows.append(.table(row)) }
            let names = state.makeTable(reader.table.names.map(LuaValue.text))
            return call.answer(.table(state.makeTable(rows)), .table(names))
        }
    }

    /// Implements `write(path, rows [, names [, options]])`, where rows are tables.
    ///
    /// Without `names`, the columns are the names in all rows, in order.
    private func writeCSV(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(1, for: .writing)
        let rows = try call.table(2).array
        let names: [String]
        if call.isNil(3) {
            names = try columnNames(of: rows)
        } else {
            names = try call.table(3).array.compactMap(\.text)
        }
        let format = try TransferOptions(call.options(4)).csv(path)
        try TransferError.wrapping {
            let file = try FileWriter(path)
            var csv = CSVWriter(separator: format.separator ?? ",")
            for name in names { csv.field(name) }
            csv.endRecord()
            for (index, row) in rows.enumerated() {
                guard let row = row.table else {
                    throw StoreError(
                        .invalidArgument,
                        "row \(index + 1) must be a table, got a \(rows[index].typeName)")
                }
                guard row.count == 0 else {
                    throw StoreError(
                        .invalidArgument,
                        "row \(index + 1) is an array; the fields of a row are named, as in "
                            + "{ name = \"ball\", price = 3 }")
                }
                for name in names {
                    // A long string exists as a value, a text and a field.
                    let value = try row.raw(.text(name), copies: 3)
                    csv.field(try field(value, "row \(index + 1): '\(name)'"))
                    guard csv.bytes.count >= 64 << 10 else { continue }
                    try file.write(csv.bytes)
                    csv.removeAll()
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
    /// Returns the names in all rows, in order.
    private func columnNames(of rows: [LuaValue]) throws -> [String] {
        var names: Set<String> = []
        for case .table(let row) in rows {
            try row.requireSpace()
            for (key, _) in row.pairs {
                guard let name = key.text, names.insert(name).inserted else { continue }
                if names.count % 64 == 0 { try state.checkMemory() }
            }
        }
        return names.sorted()
    }

    /// Returns the text of a value in CSV; nil for an empty field.
    private func field(_ value: LuaValue, _ subject: @autoclosure () -> String) throws -> String? {
        switch value {
        case .nil: return nil
        case .boolean, .integer, .number: return try state.describe(value).description
        case .string(let string):
            guard let text = string.text else {
                throw StoreError(
                    .invalidArgument,
                    "\(subject()) contains bytes that are not UTF-8; encode them in base64 or hexadecimal"
                )
            }
            return text
        case .userdata(let userdata):
            if userdata.object(as: NullMarker.type) != nil { return nil }
            return try state.describe(value).description
        default:
            throw StoreError(
                .invalidArgument,
                "\(subject()) is a \(value.typeName); a field of CSV is text, a number, a boolean or a date"
            )
        }
    }
}

/// Converts file errors for scripts.
enum TransferError {
    /// Runs the work and converts an error in a file to `invalid_argument`.
    static func wrapping<Result>(_ work: () throws -> Result) throws -> Result {
        do {
            return try work()
        } catch let error as FormatError {
            throw StoreError(.invalidArgument, error.description)
        }
    }

    /// Throws if a stop of the script was requested, to end a long operation.
    static func check(_ interrupt: LuaInterrupt) throws {
        guard !interrupt.isPending else { throw StoreError(.interrupted, "interrupted") }
    }
}

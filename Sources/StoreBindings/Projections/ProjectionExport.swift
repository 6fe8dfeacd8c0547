import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// Writes projections to a file: one row for each, with the projected names as columns.
struct ProjectionExport {
    private let results: ProjectedResultsHandle

    init(_ results: ProjectedResultsHandle) { self.results = results }

    /// Implements `projections:export(path [, format])`; returns the number of rows.
    func write(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(2, for: .writing)
        let name = call.isNil(3) ? nil : try call.text(3)
        let format = try name.map { try TransferFormat(name: $0) } ?? TransferFormat(path: path)
        guard [.jsonLines, .json, .csv].contains(format) else {
            throw StoreError(
                .invalidArgument,
                "projections are exported as jsonl, json or csv; export their objects with root():export"
            )
        }
        let count = try TransferError.wrapping {
            let file = try FileWriter(path)
            let count = try write(format, to: file)
            try file.finish()
            return count
        }
        return call.answer(.integer(Int64(count)))
    }

    /// Writes the rows one by one, and returns their number.
    private func write(_ format: TransferFormat, to file: FileWriter) throws -> Int {
        let state = results.handle.state
        var count = 0
        var csv = CSVWriter()
        switch format {
        case .csv:
            for name in results.names { csv.field(name) }
            csv.endRecord()
            try file.write(csv.bytes)
        case .json: try file.write("[")
        default: break
        }
        try results.forEachTable { row in
            try state.checkStopping()
            switch format {
            case .csv:
                csv.removeAll()
                for name in results.names { csv.field(try field(row[name])) }
                csv.endRecord()
                try file.write(csv.bytes)
            case .json:
                try file.write(count == 0 ? "\n  " : ",\n  ")
                try file.write(json(.table(row)))
            default: try file.write(json(.table(row)) + "\n".utf8)
            }
            count += 1
        }
        if format == .json { try file.write("\n]\n") }
        return count
    }

    private func json(_ value: LuaValue) throws -> [UInt8] {
        try results.handle.module.json(of: value)
    }

    private func field(_ value: LuaValue) throws -> String? {
        switch value {
        case .nil: return nil
        case .string(let text): return text.description
        default:
            let text = String(decoding: try json(value), as: UTF8.self)
            // Dates and identifiers are strings in JSON.
            return text.hasPrefix("\"") && text.hasSuffix("\"")
                ? String(text.dropFirst().dropLast()) : text
        }
    }
}

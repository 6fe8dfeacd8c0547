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
        let all = try results.table().array
        var bytes: [UInt8] = []
        switch format {
        case .jsonLines: for row in all { bytes += try json(row) + Array("\n".utf8) }
        case .json:
            bytes += Array("[".utf8)
            for (index, row) in all.enumerated() {
                bytes += Array((index == 0 ? "\n  " : ",\n  ").utf8) + (try json(row))
            }
            bytes += Array("\n]\n".utf8)
        case .csv:
            var writer = CSVWriter()
            for name in results.names { writer.field(name) }
            writer.endRecord()
            for row in all {
                try call.state.checkStopping()
                for name in results.names {
                    writer.field(try field(row.table?[name] ?? .nil))
                }
                writer.endRecord()
            }
            bytes = writer.bytes
        default:
            throw StoreError(
                .invalidArgument,
                "projections are exported as jsonl, json or csv; export their objects with root():export"
            )
        }
        try TransferError.wrapping {
            let file = try FileWriter(path)
            try file.write(bytes)
            try file.finish()
        }
        return call.answer(.integer(Int64(all.count)))
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

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
            guard let given = try call.table(3).texts else {
                throw call.argumentError(3, "the columns must be an array of strings")
            }
            names = given
        }
        let format = try TransferOptions(call.options(4)).csv(path)
        try TransferError.wrapping {
            try StoreFiles.requireNoStore(path)
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

/// The options of imports, exports and rows in scripts.
///
/// A value of the wrong type is an error that names the option.
struct TransferOptions {
    private let table: LuaTable?

    /// Creates options from a table; nil for no options.
    init(_ table: LuaTable?) { self.table = table }

    /// Returns a flag.
    ///
    /// Any value except nil and false is true.
    func flag(_ name: String) -> Bool { table?[name].isTruthy ?? false }

    /// Returns a text; nil if the option is missing.
    func text(_ name: String) throws -> String? {
        guard let value = table?[name], !value.isNil else { return nil }
        guard let text = value.string?.text else { throw Self.refusal(name, "a string", value) }
        return text
    }

    /// Returns names that are separated by dots, as in `path.to.array`; nil if the option is missing.
    func path(_ name: String) throws -> [String]? {
        try text(name)?.split(separator: ".").map(String.init)
    }

    /// Returns a number of at least `minimum`; nil if the option is missing.
    func count(_ name: String, minimum: Int = 1) throws -> Int? {
        guard let value = table?[name], !value.isNil else { return nil }
        guard let count = value.integer, count >= minimum else {
            let wanted = minimum == 1 ? "a positive integer" : "an integer of at least \(minimum)"
            throw Self.refusal(name, wanted, value)
        }
        return Int(count)
    }

    /// Returns texts by name, as in `{ Name = "name", Comment = "" }`; empty if the option is missing.
    func texts(_ name: String) throws -> [String: String] {
        guard let value = table?[name], !value.isNil else { return [:] }
        guard let given = value.table else {
            throw Self.refusal(name, "a table of strings by name", value)
        }
        var texts: [String: String] = [:]
        for (key, value) in given.pairs {
            guard let key = key.string?.text,
                let text = value == .boolean(false) ? "" : value.string?.text
            else {
                throw Self.refusal(
                    "\(name)\(key.text.map { ".\($0)" } ?? "")", "a string", value)
            }
            texts[key] = text
        }
        return texts
    }

    /// Returns the texts of an array, or one text; empty if the option is missing.
    func list(_ name: String) throws -> [String] {
        guard let array = table?[name].table else { return try text(name).map { [$0] } ?? [] }
        guard let texts = array.texts else {
            throw Self.refusal(name, "an array of strings", .table(array))
        }
        return texts
    }

    private static func refusal(
        _ name: String, _ wanted: String, _ value: LuaValue
    ) -> StoreError {
        let got = value.integer.map { "\($0)" } ?? value.string?.text.map { "\"\($0)\"" }
        return StoreError(
            .invalidArgument, "'\(name)' must be \(wanted), got \(got ?? value.typeName)")
    }

    // MARK: CSV

    /// Returns the dialect of a file; fields of a `.tsv` file are separated by tabs.
    func csv(_ path: String) throws -> CSVFormat {
        var format = (try? TransferFormat(path: path)) == .tsv ? CSVFormat.tabs : CSVFormat()
        if let separator = try character("separator") { format.separator = separator }
        if table?["quote"] == .boolean(false) {
            format.quote = nil
        } else if try text("quote") == "" {
            format.quote = nil
        } else if let quote = try character("quote") {
            format.quote = quote
        }
        format.hasHeader = !flag("no_header")
        format.skippedLines = try count("skip_lines", minimum: 0) ?? 0
        format.nulls = try list("null")
        if let fault = format.fault { throw StoreError(.invalidArgument, fault) }
        return format
    }

    /// Returns one character; nil if the option is missing.
    func character(_ name: String) throws -> Character? {
        guard let text = try text(name) else { return nil }
        guard let character = CSVFormat.character(text), character.isASCII, !character.isNewline
        else {
            throw StoreError(
                .invalidArgument, "'\(name)' must be one ASCII character, got \"\(text)\"")
        }
        return character
    }

    /// Returns the types of columns; only types of single values are valid.
    func columnTypes() throws -> [String: PropertyType] {
        try texts("types").mapValues { text in
            let base = text.hasSuffix("?") ? String(text.dropLast()) : text
            guard let type = PropertyType(rawValue: base), type != .object, type != .backlinks,
                type != .mixed
            else {
                throw StoreError(
                    .invalidArgument,
                    "'\(text)' is not a type of a single value, such as int or date")
            }
            return type
        }
    }
}

/// A recording for scripts.
///
/// The recording continues if the script releases the handle, because its store retains it.
final class RecordingHandle {
    let recording: ChangeRecording
    private weak var store: StoreHandle?

    /// Creates a handle of a recording, which the store retains until ``stop()``.
    init(_ recording: ChangeRecording, _ store: StoreHandle) {
        self.recording = recording
        self.store = store
        store.add(recording)
    }

    func stop() {
        recording.stop()
        store?.remove(recording)
    }

    static let type: LuaClass<RecordingHandle> = LuaClass(
        name: "recording",
        methods: [
            LuaMethod("stop") { handle, _ in
                handle.stop()
                return .none
            }
        ],
        properties: [
            LuaProperty("path") { $1.set($0.recording.path) },
            LuaProperty("is_active") { $1.set($0.recording.isActive) },
            LuaProperty("steps") { $1.set(Int64($0.recording.steps)) },
        ],
        metamethods: [
            LuaMethod("__close") { handle, _ in
                handle.stop()
                return .none
            },
            LuaMethod("__tostring") { handle, call in
                let state = handle.recording.isActive ? "active" : "stopped"
                return call.answer(.text("recording in \(handle.recording.path) (\(state))"))
            },
        ])
}

/// The functions `store:record` and `moonpool.replay`.
enum RecordingMethods {
    static var store: [LuaMethod<StoreHandle>] {
        [
            LuaMethod("record") { handle, call in
                let path = try call.path(2, for: .writing)
                let given = try call.options(3)
                var options = ChangeRecording.Options()
                options.beginsWithSnapshot = given?["snapshot"].isTruthy ?? false
                options.hasOldValues = given?["old_values"] != .boolean(false)
                let recording = try TransferError.wrapping {
                    try ChangeRecording(of: handle.store, to: path, options: options)
                }
                return call.answer(RecordingHandle(recording, handle), RecordingHandle.type)
            }
        ]
    }

    /// Implements `replay(path, store)`: applies a recording, and returns the numbers of commits and of object changes.
    static func replay(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(1, for: .reading)
        let store = try call.object(2, StoreHandle.type)
        try store.store.check()
        let replay = ChangeReplay(into: store.store)
        try TransferError.wrapping { try replay.run(path) }
        try store.acknowledge()
        return call.answer(.integer(Int64(replay.steps)), .integer(Int64(replay.changes)))
    }
}

import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// The methods that export and import data: `results:export`, `store:export`, `store:import`.
enum TransferMethods {
    static var results: [LuaMethod<ResultsHandle>] {
        [
            LuaMethod("export") { handle, call in
                let results = handle.results
                return try export(.results(results), call)
            }
        ]
    }

    static var store: [LuaMethod<StoreHandle>] {
        [
            LuaMethod("export") { handle, call in
                try export(.store(handle.store), call)
            },
            LuaMethod("import") { handle, call in
                try take(handle, call)
            },
        ]
    }

    private static func export(
        _ subject: Exporter.Subject, _ call: borrowing LuaCall
    ) throws -> LuaAnswer {
        let path = try call.path(2, for: .writing)
        let given = call[3].table == nil ? nil : try call.options(3, ["format", "dates"])
        let name = given == nil ? (call.isNil(3) ? nil : try call.text(3)) : given?["format"].text
        let format = try name.map { try TransferFormat(name: $0) } ?? TransferFormat(path: path)
        let dates = try given?["dates"].text.map { try SQLiteDates(name: $0) } ?? .text
        let interrupt = call.state.makeInterrupt()
        let count = try TransferError.wrapping {
            try Exporter(subject, as: format, dates: dates) { _, _ in
                try TransferError.check(interrupt)
            }.write(to: path)
        }
        return call.answer(.integer(Int64(count)))
    }

    /// How a Realm file is read; a key in a file is a file that the script reads.
    private static func realmOptions(
        _ given: LuaTable?, _ call: borrowing LuaCall
    ) throws -> RealmOptions {
        var key = given?["key"].text
        if let text = key, text.hasPrefix("@") {
            key = "@" + (try call.state.files.check(String(text.dropFirst()), for: .reading))
        }
        return RealmOptions(
            key: key, isRescue: given?["rescue"].isTruthy ?? false,
            hasDotNetGUIDs: given?["dotnet_guids"].isTruthy ?? false)
    }

    /// The names of the options of `store:import`.
    static let importOptions = [
        "class", "format", "upsert", "map", "skip_bad", "batch", "dry_run", "dates", "separator",
        "quote", "no_header", "skip_lines", "null", "keep_empty", "types", "all_text", "sample",
        "records", "link", "round", "key", "rescue", "dotnet_guids",
    ]

    private static func take(_ handle: StoreHandle, _ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(2, for: .reading)
        let given = try call.options(3, importOptions)
        let format =
            try given?["format"].text.map { try TransferFormat(name: $0) }
            ?? TransferFormat(path: path)
        var options = ImportOptions()
        options.isUpsert = given?["upsert"].isTruthy ?? false
        options.isDryRun = given?["dry_run"].isTruthy ?? false
        options.keepsEmpty = given?["keep_empty"].isTruthy ?? false
        options.isAllText = given?["all_text"].isTruthy ?? false
        options.isRounding = given?["round"].isTruthy ?? false
        options.rejects = try given?["skip_bad"].text.map {
            let path = try call.state.files.check($0, for: .writing)
            _ = try call.state.files.check(RejectNames.reasons(of: $0), for: .writing)
            return path
        }
        options.dates = try given?["dates"].text.map { try SQLiteDates(name: $0) }
        options.realm = try realmOptions(given, call)
        options.batch = try count("batch", given, call)
        options.sample = try count("sample", given, call)
        options.csv = try CSVOptions.format(given)
        options.records = given?["records"].text?.split(separator: ".").map(String.init)
        options.names = texts(given?["map"])
        options.types = texts(given?["types"])
        options.links = texts(given?["link"])
        var classes: [String] = []
        if let name = given?["class"].text { classes = [name] }
        for (table, name) in given?["class"].table?.pairs ?? [] {
            // A list of tables, or classes by table.
            if let table = table.text {
                options.classNames[table] = name.text ?? ""
            } else if let table = name.text {
                classes.append(table)
            }
        }
        try options.setClasses(classes, of: format)
        let state = call.state
        let interrupt = state.makeInterrupt()
        let report = try TransferError.wrapping {
            try Importer(into: handle.store, options) { _, _ in
                try TransferError.check(interrupt)
            }.read(path, as: format)
        }
        return call.answer(.table(table(of: report, state)))
    }

    private static func count(
        _ name: String, _ options: LuaTable?, _ call: borrowing LuaCall
    ) throws -> Int? {
        guard let value = options?[name], !value.isNil else { return nil }
        guard let count = value.integer, count > 0 else {
            throw call.argumentError(3, "'\(name)' must be a positive integer")
        }
        return Int(count)
    }

    private static func texts(_ table: LuaValue?) -> [String: String] {
        var texts: [String: String] = [:]
        for (name, text) in table?.table?.pairs ?? [] {
            guard let name = name.text else { continue }
            texts[name] = text.text ?? ""
        }
        return texts
    }

    private static func table(of report: ImportReport, _ state: LuaState) -> LuaTable {
        let table = state.makeTable(fields: 9)
        table["rows"] = .integer(Int64(report.rows))
        table["created"] = .integer(Int64(report.created))
        table["updated"] = .integer(Int64(report.updated))
        table["rejected"] = .integer(Int64(report.rejected))
        table["changed"] = .integer(Int64(report.changed))
        table["reasons"] = .table(state.makeTable(report.reasons.map(LuaValue.text)))
        table["new_classes"] = .table(state.makeTable(report.newClasses.map(LuaValue.text)))
        let schema = state.makeTable()
        for classSchema in report.newSchema {
            let properties = state.makeTable()
            for property in classSchema.properties {
                properties[property.name] = .text(PropertySyntax.text(of: property))
            }
            schema[classSchema.name] = .table(properties)
        }
        table["schema"] = .table(schema)
        table["notes"] = .table(state.makeTable(report.notes.map(LuaValue.text)))
        return table
    }
}

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
        let path = try target(call, for: .writing)
        let given = call[3].table == nil ? nil : try call.options(3)
        let options = TransferOptions(given)
        let name = given == nil && !call.isNil(3) ? try call.text(3) : try options.text("format")
        let format = try name.map { try TransferFormat(name: $0) } ?? TransferFormat(path: path)
        var exporting = ExportOptions()
        exporting.dates = try options.text("dates").map { try SQLiteDates(name: $0) }
        exporting.separator = try options.character("separator")
        exporting.setColumns(try options.list("columns"))
        exporting.table = try options.text("table")
        exporting.postgres = try postgresOptions(format, options, call)
        let interrupt = call.state.makeInterrupt()
        let count = try TransferError.wrapping {
            try Exporter(subject, as: format, exporting) { _, _ in
                try TransferError.check(interrupt)
            }.write(to: path)
        }
        return call.answer(.integer(Int64(count)))
    }

    /// Returns the file or the address of the database in argument 2.
    ///
    /// Throws an error if the script is not allowed to use it.
    private static func target(
        _ call: borrowing LuaCall, for access: FileRights.Access
    ) throws -> String {
        let text = try call.text(2)
        guard PostgresAddress.isAddress(text) else { return try call.path(2, for: access) }
        try NatsArguments.checkAccess(call.state)
        return text
    }

    /// Parses the options for tables of a PostgreSQL database.
    ///
    /// Throws `invalid_argument` in a script that may not use the network, and for options that are mutually exclusive.
    private static func postgresOptions(
        _ format: TransferFormat, _ given: TransferOptions, _ call: borrowing LuaCall
    ) throws -> PostgresOptions {
        var options = PostgresOptions()
        if format == .postgres { try NatsArguments.checkAccess(call.state) }
        options.schema = try given.text("schema")
        if given.flag("replace"), given.flag("upsert") {
            throw StoreError(.invalidArgument, "pass either 'upsert' or 'replace', not both")
        }
        if given.flag("replace") { options.existingTables = .replace }
        if given.flag("upsert") { options.existingTables = .upsert }
        return options
    }

    /// Returns the columns that identify objects, by table; the empty name applies to every table.
    private static func keyColumns(_ given: LuaTable?) throws -> [String: String] {
        guard let key = given?["key"], !key.isNil else { return [:] }
        if let column = key.text { return ["": column] }
        return try TransferOptions(given).texts("key")
    }

    /// Parses the options for a Realm file; a key that is given as a file is read here.
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

    private static func take(_ handle: StoreHandle, _ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try target(call, for: .reading)
        let given = try call.options(3)
        let format =
            try given?["format"].text.map { try TransferFormat(name: $0) }
            ?? TransferFormat(path: path)
        let texts = TransferOptions(given)
        var options = ImportOptions()
        options.isUpsert = texts.flag("upsert")
        options.isDryRun = texts.flag("dry_run")
        options.keepsEmpty = texts.flag("keep_empty")
        options.isAllText = texts.flag("all_text")
        options.isRounding = texts.flag("round")
        options.rejects = try texts.text("skip_bad").map {
            let path = try call.state.files.check($0, for: .writing)
            _ = try call.state.files.check(ImportOptions.reasonsFile(of: $0), for: .writing)
            return path
        }
        options.dates = try texts.text("dates").map { try SQLiteDates(name: $0) }
        options.postgres = try postgresOptions(format, texts, call)
        if format == .postgres {
            options.postgres.keys = try keyColumns(given)
        } else {
            options.realm = try realmOptions(given, call)
        }
        options.batch = try texts.count("batch")
        options.sample = try texts.count("sample")
        options.csv = try texts.csv(path)
        options.encoding = try texts.text("encoding")
        options.records = try texts.path("records")
        options.names = try texts.texts("map")
        options.types = try texts.texts("types")
        options.links = try texts.texts("link")
        options.tables = try texts.list("table")
        var classes: [String] = []
        if let name = given?["class"].text { classes.append(name) }
        for (table, name) in given?["class"].table?.pairs ?? [] {
            // The option is an array of table names, or maps table names to class names.
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
        try handle.acknowledge()
        return call.answer(.table(table(of: report, state)))
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

extension Catalogue {
    /// Import and export.
    static let transfer: [CatalogueEntry] = [
        .method(
            "export", of: [store], ["(path: string, format?: string|ExportOptions): integer"],
            "Writes all objects and the schema to a file. Returns the number of objects.",
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                print(store:export("zoo.jsonl"))  --> 5
                """),
        .method(
            "export", of: [results], ["(path: string, format?: string|ExportOptions): integer"],
            "Writes the objects to a file in the format of its extension. Returns the number of objects.",
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                print(dogs:where("age > 5"):export("old.csv"))  --> 1
                """),
        .method(
            "import", of: [store], ["(path: string, options?: ImportOptions): ImportReport"],
            "Imports the rows of a file in one transaction.",
            errors: [
                .invalidArgument, .duplicateKey, .typeMismatch, .missingValue, .unknownProperty,
                .readOnly, .closed,
            ],
            example: """
                store:export("zoo.jsonl")
                local copy = moonpool.open { in_memory = "copy" }
                print(copy:import("zoo.jsonl").created, copy:object("Dog", 1).owner.name)  --> 5 Ann
                """),
        .field("class", of: [importOptions], "string?", "The class of all rows."),
        .field(
            "format", of: [importOptions], "string?",
            "The format. Default: the extension of the file."),
        .field(
            "upsert", of: [importOptions], "boolean?",
            "Updates objects whose primary key already exists."),
        .field(
            "map", of: [importOptions], "table<string, string>?",
            "Maps fields to properties; map a field to \"\" to skip it."),
        .field(
            "skip_bad", of: [importOptions], "string?",
            "Skips invalid rows and writes them, with reasons, to this file."),
        .field("batch", of: [importOptions], "integer?", "Commits every so many rows."),
        .field(
            "dates", of: [importOptions, exportOptions], "string?",
            "The encoding of dates in a SQLite database: text, seconds, milliseconds or julian."),
        .field(
            "format", of: [exportOptions], "string?",
            "The format: jsonl, json, csv, sqlite or lua. Default: the extension of the file."),
        .field(
            "key", of: [importOptions], "string?",
            "Key of an encrypted Realm file: 128 hexadecimal digits, Base64, or @ and the path of a file."
        ),
        .field(
            "rescue", of: [importOptions], "boolean?",
            "Reads what can be read of a damaged Realm file; the notes name the rest."),
        .field(
            "dotnet_guids", of: [importOptions], "boolean?",
            "Swaps the byte order of UUIDs that .NET wrote to a Realm file until 2022."),
        .field("dry_run", of: [importOptions], "boolean?", "Runs the import without committing."),
        .field("created", of: [importReport], "integer", "The number of created objects."),
        .field("updated", of: [importReport], "integer", "The number of updated objects."),
        .field("rejected", of: [importReport], "integer", "The number of skipped rows."),
        .field(
            "reasons", of: [importReport], "string[]", "The reasons for the first skipped rows."),
        .field("new_classes", of: [importReport], "string[]", "The classes that were created."),
        .field(
            "schema", of: [importReport], "table<string, table<string, string>>",
            "The schema of the created classes."),
        .field("notes", of: [importReport], "string[]", "Further remarks about the import."),
        .function(
            "encode", of: json, ["(value: any): string"],
            "Encodes a value as JSON. NaN and infinities become \"NaN\", \"Infinity\" and \"-Infinity\".",
            errors: [.invalidArgument],
            example: """
                print(moonpool.json.encode { 1, 2.5, "x" })  --> [1,2.5,"x"]
                """),
        .function(
            "decode", of: json, ["(text: string): any"],
            "Decodes JSON. null becomes moonpool.null in arrays and objects.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.json.decode('{"a": [1, 2]}').a[2])  --> 2
                """),
        .function(
            "read", of: csv, ["(path: string): table<string, string>[], string[]"],
            "Reads a CSV file. Returns its rows as tables keyed by column name, and the column names.",
            errors: [.invalidArgument],
            example: """
                moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } })
                local rows, names = moonpool.csv.read("toys.csv")
                print(rows[1].name, #names)  --> ball 2
                """),
        .function(
            "write", of: csv, ["(path: string, rows: table[], names?: string[])"],
            "Writes rows to a CSV file. Default column names: the sorted keys of all rows.",
            errors: [.invalidArgument, .diskFull],
            example: """
                moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } }, { "price", "name" })
                print(io.open("toys.csv"):read("l"):match("[%a,]+"))  --> price,name
                """),
    ]
}

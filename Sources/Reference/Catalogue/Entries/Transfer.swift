extension Catalogue {
    /// Data in and out.
    static let transfer: [CatalogueEntry] = [
        .method(
            "export", of: [store], ["(path: string, format?: string|ExportOptions): integer"],
            "Writes all objects and the schema to a file; how many objects.",
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                print(store:export("zoo.jsonl"))  --> 5
                """),
        .method(
            "export", of: [results], ["(path: string, format?: string|ExportOptions): integer"],
            "Writes the objects to a file, whose ending tells the format; how many.",
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                print(dogs:where("age > 5"):export("old.csv"))  --> 1
                """),
        .method(
            "import", of: [store], ["(path: string, options?: ImportOptions): ImportReport"],
            "Takes the rows of a file, all or nothing.",
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
            "format", of: [importOptions], "string?", "The format; the file's ending otherwise."),
        .field(
            "upsert", of: [importOptions], "boolean?", "Updates objects whose primary key exists."),
        .field(
            "map", of: [importOptions], "table<string, string>?",
            "Which property takes which field; an empty one leaves the field out."),
        .field(
            "skip_bad", of: [importOptions], "string?",
            "Leaves bad rows out and writes them, with reasons, to this file."),
        .field("batch", of: [importOptions], "integer?", "Commits after so many rows."),
        .field(
            "dates", of: [importOptions, exportOptions], "string?",
            "How dates stand in a database of SQLite: text, seconds, milliseconds or julian."),
        .field(
            "format", of: [exportOptions], "string?",
            "The form: jsonl, json, csv, sqlite or lua; the file's ending otherwise."),
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
        .field("dry_run", of: [importOptions], "boolean?", "Does everything but the commit."),
        .field("created", of: [importReport], "integer", "How many objects were made."),
        .field("updated", of: [importReport], "integer", "How many objects were updated."),
        .field("rejected", of: [importReport], "integer", "How many rows were left out."),
        .field("reasons", of: [importReport], "string[]", "Why, for the first of them."),
        .field("new_classes", of: [importReport], "string[]", "The classes that were made."),
        .field(
            "schema", of: [importReport], "table<string, table<string, string>>",
            "The properties of the classes that were made, in the form of a schema."),
        .field("notes", of: [importReport], "string[]", "What else is worth knowing."),
        .function(
            "encode", of: json, ["(value: any): string"],
            "Writes a value as JSON; numbers that JSON does not have become \"NaN\", \"Infinity\", \"-Infinity\".",
            errors: [.invalidArgument],
            example: """
                print(moonpool.json.encode { 1, 2.5, "x" })  --> [1,2.5,"x"]
                """),
        .function(
            "decode", of: json, ["(text: string): any"],
            "Reads JSON; null is moonpool.null where a place needs a value.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.json.decode('{"a": [1, 2]}').a[2])  --> 2
                """),
        .function(
            "read", of: csv, ["(path: string): table<string, string>[], string[]"],
            "Reads a file of CSV: its rows by the names of the header, and these names.",
            errors: [.invalidArgument],
            example: """
                moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } })
                local rows, names = moonpool.csv.read("toys.csv")
                print(rows[1].name, #names)  --> ball 2
                """),
        .function(
            "write", of: csv, ["(path: string, rows: table[], names?: string[])"],
            "Writes rows to a file of CSV; without names, those of all rows in order.",
            errors: [.invalidArgument, .diskFull],
            example: """
                moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } }, { "price", "name" })
                print(io.open("toys.csv"):read("l"):match("[%a,]+"))  --> price,name
                """),
    ]
}

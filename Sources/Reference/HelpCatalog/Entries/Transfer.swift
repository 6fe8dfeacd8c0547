extension HelpCatalog {
    /// The functions for import, export, JSON and CSV.
    static let transfer: [HelpEntry] =
        exports + importFunction + importOptionFields + importReportFields + jsonFunctions
        + csvFunctions

    private static let exports: [HelpEntry] = [
        .method(
            "export", of: [store], ["(path: string, format?: string|ExportOptions): integer"],
            "Writes all objects and the schema to a file; returns the number of objects.",
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                print(store:export("zoo.jsonl"))  --> 5
                """),
        .method(
            "export", of: [results], ["(path: string, format?: string|ExportOptions): integer"],
            "Writes the objects to a file in the format of its extension; returns their number.",
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                print(dogs:where("age > 5"):export("old.csv"))  --> 1
                """),
        .field(
            "format", of: [exportOptions], "string?",
            "The format: jsonl, json, csv, tsv, sqlite, lua or postgres. Default: from the file extension."
        ),
        .field(
            "schema", of: [importOptions, exportOptions, publishOptions], "string?",
            "The schema of a PostgreSQL database that holds the tables; public if not given."),
        .field(
            "replace", of: [exportOptions, publishOptions], "boolean?",
            "For PostgreSQL: drops existing tables of the classes. Default: existing tables are an error."
        ),
        .field(
            "columns", of: [exportOptions], "(string|string[])?",
            "The exported properties in order, each as \"name\" or as \"name=column\"; for results only."
        ),
        .field(
            "table", of: [exportOptions], "string?",
            "The table of a database; for results only. Default: the name of the class."),
        .field(
            "dates", of: [importOptions, exportOptions], "string?",
            "The encoding of dates in a SQLite database: text, seconds, milliseconds or julian."),
        .field(
            "separator", of: [exportOptions, importOptions, csvOptions], "string?",
            "The separator of CSV fields: one character. Default: a comma; a tab for .tsv. Reading detects ;, tab and |."
        ),
    ]

    private static let importFunction: [HelpEntry] = [
        .method(
            "import", of: [store], ["(path: string, options?: ImportOptions): ImportReport"],
            "Imports all rows of a file in one transaction; a value that its property cannot represent exactly is an error.",
            errors: [
                .invalidArgument, .duplicateKey, .typeMismatch, .missingValue, .unknownProperty,
                .readOnly, .closed,
            ],
            example: """
                store:export("zoo.jsonl")
                local copy = moonpool.open { in_memory = "copy" }
                print(copy:import("zoo.jsonl").created, copy:object("Dog", 1).owner.name)  --> 5 Ann
                """)
    ]

    private static let importOptionFields: [HelpEntry] = [
        .field(
            "class", of: [importOptions], "(string|table)?",
            "The class of all rows; for a database also a list of tables, or classes by table."),
        .field(
            "format", of: [importOptions], "string?",
            "The format: jsonl, json, geojson, csv, tsv, sqlite, lua, realm or postgres. Default: from the file extension."
        ),
        .field(
            "upsert", of: [importOptions, exportOptions], "boolean?",
            "Updates objects whose primary key already exists; in an export to PostgreSQL, rows."),
        .field(
            "table", of: [importOptions], "(string|string[])?",
            "For a database: imports only these tables or views."),
        .field(
            "encoding", of: [importOptions, csvOptions, jsonOptions], "string?",
            "The encoding of a text file, such as windows-1252. Default: UTF-8."),
        .field(
            "keep_empty", of: [importOptions], "boolean?",
            "With upsert, keeps the old value where a CSV field is empty, instead of setting nil."),
        .field(
            "map", of: [importOptions], "table<string, string>?",
            "The property of each field; an empty property omits the field."),
        .field(
            "types", of: [importOptions, csvOptions], "table<string, string>?",
            "The types of fields, as in a schema; a value that does not fit is an error."),
        .field(
            "all_text", of: [importOptions], "boolean?",
            "Keeps all CSV fields of a new class as text."),
        .field(
            "sample", of: [importOptions], "integer?",
            "Infers types from the first rows only. Default: all rows."),
        .field(
            "link", of: [importOptions], "table<string, string>?",
            "The class of a field's nested objects, or in CSV of the primary keys in it."),
        .field(
            "records", of: [importOptions, jsonOptions], "string?",
            "The path to the list of rows in a JSON text, such as data.items."),
        .field(
            "skip_bad", of: [importOptions], "string?",
            "Skips invalid rows and writes them unchanged to this file; the reasons go to FILE.reasons.jsonl."
        ),
        .field(
            "batch", of: [importOptions], "integer?", "Commits after each batch of this many rows."),
        .field(
            "round", of: [importOptions], "boolean?",
            "Rounds values with more digits than their type allows, and counts them, instead of failing."
        ),
        .field("dry_run", of: [importOptions], "boolean?", "Does everything except the commit."),
        .field(
            "quote", of: [importOptions, csvOptions], "(string|false)?",
            "The quote of CSV fields; false to treat quotes as text."),
        .field(
            "no_header", of: [importOptions, csvOptions], "boolean?",
            "Whether the first CSV record is data; the fields are called column_1, column_2 and so on."
        ),
        .field(
            "skip_lines", of: [importOptions, csvOptions], "integer?",
            "The number of lines to skip before the CSV header."),
        .field(
            "null", of: [importOptions, csvOptions], "(string|string[])?",
            "Unquoted CSV fields that are imported as nil, in addition to empty fields."),
        .field(
            "key", of: [importOptions], "(string|table<string, string>)?",
            "Key of a Realm file: 128 hexadecimal digits, Base64 or @FILE; for PostgreSQL, the column that identifies objects."
        ),
        .field(
            "rescue", of: [importOptions], "boolean?",
            "Reads the readable part of a damaged Realm file; the notes list the rest."),
        .field(
            "dotnet_guids", of: [importOptions], "boolean?",
            "Swaps the byte order of UUIDs that .NET wrote to a Realm file until 2022."),
    ]

    private static let importReportFields: [HelpEntry] = [
        .field("rows", of: [importReport], "integer", "The number of rows that were read."),
        .field("created", of: [importReport], "integer", "The number of objects created."),
        .field("updated", of: [importReport], "integer", "The number of objects updated."),
        .field("rejected", of: [importReport], "integer", "The number of rows skipped."),
        .field(
            "changed", of: [importReport], "integer",
            "The number of values that the option `round` has rounded."),
        .field(
            "reasons", of: [importReport], "string[]",
            "Line and reason of the first ten skipped rows."),
        .field("new_classes", of: [importReport], "string[]", "The classes that were created."),
        .field(
            "schema", of: [importReport], "table<string, table<string, string>>",
            "The properties of the classes that were created, in the form of a schema."),
        .field(
            "notes", of: [importReport], "string[]",
            "Unexpected conversions, and features that a store does not have."),
    ]

    private static let jsonFunctions: [HelpEntry] = [
        .function(
            "encode", of: json, ["(value: any): string"],
            "Writes a value as JSON; NaN and infinities become \"NaN\", \"Infinity\" and \"-Infinity\".",
            errors: [.invalidArgument],
            example: """
                print(moonpool.json.encode { 1, 2.5, "x" })  --> [1,2.5,"x"]
                """),
        .function(
            "decode", of: json, ["(text: string): any"],
            "Parses JSON; null becomes moonpool.null, and a number that neither an int64 nor a double represents becomes a decimal.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.json.decode('{"a": [1, 2]}').a[2])  --> 2
                """),
        .function(
            "rows", of: json, ["(path: string, options?: JSONOptions): fun(): any"],
            "Iterates over the values of a JSON Lines file, or the rows of a JSON text, in constant memory.",
            errors: [.invalidArgument],
            example: """
                store:objects("Toy"):export("toys.jsonl")
                for toy in moonpool.json.rows("toys.jsonl") do print(toy.name) break end  --> ball
                """),
        .field(
            "empty_object", of: [json], "table",
            "A value that encode writes as {}. Empty objects from decode are equal to it.",
            example: """
                print(moonpool.json.encode { a = moonpool.json.empty_object, b = {} })  --> {"a":{},"b":[]}
                print(moonpool.json.decode("{}") == moonpool.json.empty_object)  --> true
                """),
        .field(
            "format", of: [jsonOptions], "string?",
            "The format: jsonl, json or geojson. Default: from the file extension, otherwise jsonl."
        ),
    ]

    private static let csvFunctions: [HelpEntry] = [
        .function(
            "read", of: csv,
            ["(path: string, options?: CSVOptions): table<string, any>[], string[]"],
            "Reads a CSV file; returns its rows as tables keyed by column name, and the column names.",
            errors: [.invalidArgument],
            example: """
                moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } })
                local rows, names = moonpool.csv.read("toys.csv")
                print(rows[1].name, #names)  --> ball 2
                """),
        .function(
            "rows", of: csv,
            ["(path: string, options?: CSVOptions): fun(): table<string, any>"],
            "Iterates over the rows of a CSV file in constant memory.",
            errors: [.invalidArgument],
            example: """
                moonpool.csv.write("toys.csv", { { name = "ball", price = 3 }, { name = "rope" } })
                for row in moonpool.csv.rows("toys.csv") do print(row.name, row.price) end
                --> ball 3
                --> rope nil
                """),
        .function(
            "write", of: csv,
            ["(path: string, rows: table[], names?: string[], options?: {separator: string})"],
            "Writes rows to a CSV file; without names, those of all rows in alphabetical order.",
            errors: [.invalidArgument, .diskFull],
            example: """
                moonpool.csv.write("toys.csv", { { name = "ball", price = 3 } }, { "price", "name" })
                print(io.open("toys.csv"):read("l"):match("[%a,]+"))  --> price,name
                """),
    ]
}

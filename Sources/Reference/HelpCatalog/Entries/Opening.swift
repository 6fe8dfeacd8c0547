extension HelpCatalog {
    /// The function `moonpool.open`, its options, and the options of a property in the long form.
    static let opening: [HelpEntry] = [
        .function(
            "open", of: moonpool, ["(path: string): Store", "(options: OpenOptions): Store"],
            "Opens a store. Returns the open store if this script has already opened the same file.",
            errors: [
                .invalidArgument, .invalidSchema, .migrationNeeded, .versionTooLow, .fileCorrupt,
                .fileFormatTooNew, .diskFull, .duplicateKey, .missingValue,
            ],
            example: """
                local zoo <close> = moonpool.open {
                  path = "zoo.moonpool",
                  schema = { Dog = { id = "int primary", name = "string" } },
                }
                print(zoo.path)  --> zoo.moonpool
                """),
        .function(
            "default", of: moonpool, ["(): Store"],
            "Opens the default store, which moonpool.default_configuration describes; without one, the file "
                + "`default.moonpool` in the working directory. Returns the open store until it is closed or configured in "
                + "another way.",
            errors: [
                .invalidArgument, .invalidSchema, .migrationNeeded, .versionTooLow, .fileCorrupt,
                .fileFormatTooNew, .diskFull,
            ],
            example: """
                moonpool.default_configuration = { in_memory = "notes", schema = { Note = { text = "string" } } }
                local notes <close> = moonpool.default()
                notes:write(function() notes:create("Note", { text = "feed Rex" }) end)
                print(#moonpool.default():objects "Note")  --> 1
                """),
        .field(
            "default_configuration", of: [moonpool], "(OpenOptions|string)?",
            "Set this to the argument of moonpool.open with which moonpool.default opens the store. Each worker has its own.",
            isWritable: true,
            example: """
                moonpool.default_configuration = { path = "mine.moonpool", schema = {} }
                print(moonpool.default().path)  --> mine.moonpool
                moonpool.default():close()
                moonpool.default_configuration = nil
                """),
        .field(
            "path", of: [openOptions], "string?",
            "The path of the store's file. Pass either path or in_memory."),
        .field(
            "in_memory", of: [openOptions], "string?",
            "The name of an in-memory store, shared by name within the process."),
        .field(
            "schema", of: [openOptions], "table<string, table>?",
            "The classes to create, or to check against the file."),
        .field(
            "schema_version", of: [openOptions], "integer?",
            "The version of the schema (default 0). Raise it to run the migration."),
        .field(
            "migration", of: [openOptions], "(fun(m: Migration))?",
            "Migrates a file that has a lower schema version."),
        .field(
            "drops", of: [openOptions], "string[]?",
            "Data that the migration can lose: properties as Class.property, and names of classes."),
        .field(
            "migrations", of: [openOptions], "string?",
            "The folder of numbered migrations that are applied before the store is opened."),
        .field(
            "read_only", of: [openOptions], "boolean?",
            "Opens the store without write access (default false). Declared classes that the file does not have are empty; options "
                + "that change the file are refused."),
        .field(
            "durability", of: [openOptions], "(\"full\"|\"async\"|\"memory\")?",
            "When a commit reaches the disk: before write returns (full), shortly after (async), or never (memory)."
        ),
        .field(
            "history", of: [openOptions], "integer?",
            "The number of versions whose changes the file keeps (default 100; 0 for none)."),
        .field(
            "max_size", of: [openOptions], "integer?", "The maximum file size in bytes."),
        .field(
            "max_live_versions", of: [openOptions], "integer?",
            "The maximum number of versions in use. Beyond it, writes raise too_many_versions instead of growing the file."
        ),
        .field(
            "delete_if_migration_needed", of: [openOptions], "boolean?",
            "Deletes all data instead of requiring a migration (default false)."),
        .field(
            "should_compact", of: [openOptions],
            "(fun(total_bytes: integer, used_bytes: integer): boolean)?",
            "Returns true to compact the file before it is opened."),
        .field(
            "type", of: [propertyOptions], "string",
            "The type with its modifiers, as in the short form."),
        .field(
            "primary", of: [propertyOptions], "boolean?",
            "Whether the property is the primary key of its class."),
        .field(
            "indexed", of: [propertyOptions], "boolean?", "Whether the property has an index."
        ),
        .field(
            "fulltext", of: [propertyOptions], "boolean?",
            "Whether the property has a full-text index."),
        .field(
            "default", of: [propertyOptions], "any",
            "The default value, or a function that returns it."),
        .field(
            "ignored", of: [propertyOptions], "boolean?",
            "Whether the property is not stored: each handle of an object keeps its own value, outside of transactions and "
                + "queries. A mixed one takes every value of Lua.",
            example: """
                store:define { Dog = { "...", draft = { type = "string", default = "", ignored = true } } }
                rex.draft = "Good boy"
                print(rex.draft, dogs[1].draft == "")  --> Good boy true
                """),
        .field(
            "map_to", of: [propertyOptions], "string?", "The name of the property in the file."),
    ]
}

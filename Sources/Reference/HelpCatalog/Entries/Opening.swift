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
            "min", of: [propertyOptions], "any",
            "The least value of a number or a date; in a collection, of each element. All rules are checked when a write "
                + "commits; nil passes them.",
            errors: [.invalidValue],
            example: """
                store:define { Dog = { "...", age = { type = "int?", min = 0, max = 40 } } }
                local ok, err = pcall(store.write, store, function() rex.age = -3 end)
                print(err.message)  --> 'Dog.age' is -3 (id = 1); the minimum is 0
                """),
        .field(
            "max", of: [propertyOptions], "any", "The greatest value of a number or a date."),
        .field(
            "enum", of: [propertyOptions], "any[]?", "The only allowed values.",
            errors: [.invalidValue],
            example: """
                store:define { Dog = { "...", breed = { type = "string", default = "mutt", enum = { "mutt", "boxer" } } } }
                local ok, err = pcall(store.write, store, function() rex.breed = "cat" end)
                print(err.code, rex.breed)  --> invalid_value mutt
                """),
        .field(
            "pattern", of: [propertyOptions], "string?",
            "A Lua pattern that a text matches. It has no captures.",
            errors: [.invalidValue],
            example: """
                store:define { Dog = { "...", name = { type = "string", pattern = "^%u%l+$" } } }
                print((pcall(store.write, store, function() rex.name = "rex" end)))  --> false
                """),
        .field(
            "unique", of: [propertyOptions], "boolean?",
            "Whether no two objects of the class may have the same value. The values are indexed; objects with nil are exempt.",
            errors: [.duplicateKey],
            example: """
                store:define { Dog = { "...", name = { type = "string", unique = true } } }
                local ok, err = pcall(store.write, store, function() rex.name = "Max" end)
                print(err.code)  --> duplicate_key
                """),
        .field(
            "owns", of: [propertyOptions], "boolean?",
            "Whether a link, or a list, set or map of links, owns its objects: deleting an object also deletes those that no "
                + "remaining object links to.",
            example: """
                store:define { Dog = { "...", toys = { type = "Toy[]", owns = true } } }
                store:write(function() store:delete(rex) end)
                print(#store:objects "Toy")  --> 0
                """),
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

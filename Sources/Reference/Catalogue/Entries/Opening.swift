extension Catalogue {
    /// `moonpool.open` and its options, and the long form of a property.
    static let opening: [CatalogueEntry] = [
        .function(
            "open", of: moonpool, ["(path: string): Store", "(options: OpenOptions): Store"],
            "Opens a store, or gives the one that this script has open at the same place.",
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
        .field("path", of: [openOptions], "string?", "The store's file; either this or in_memory."),
        .field(
            "in_memory", of: [openOptions], "string?",
            "The name of a store in memory, shared by that name in the process."),
        .field(
            "schema", of: [openOptions], "table<string, table>?",
            "The classes that are made, or checked against the file."),
        .field(
            "schema_version", of: [openOptions], "integer?", "The number that migrations count; 0."),
        .field(
            "migration", of: [openOptions], "(fun(m: Migration))?",
            "Changes a file whose schema version is lower."),
        .field(
            "drops", of: [openOptions], "string[]?",
            "What the migration may lose: properties as Class.property, and names of classes."),
        .field(
            "migrations", of: [openOptions], "string?",
            "The folder of numbered migrations that are applied before the store is opened."),
        .field(
            "read_only", of: [openOptions], "boolean?", "Refuses every change; false."),
        .field(
            "durability", of: [openOptions], "(\"full\"|\"async\"|\"memory\")?",
            "When a commit is on the disk: before write returns (full), soon after, or never."),
        .field(
            "history", of: [openOptions], "integer?",
            "For how many versions the file knows what changed; 100, and 0 for none."),
        .field(
            "max_size", of: [openOptions], "integer?", "The largest size of the file in bytes."),
        .field(
            "max_live_versions", of: [openOptions], "integer?",
            "An error instead of a growing file when so many versions are held."),
        .field(
            "delete_if_migration_needed", of: [openOptions], "boolean?",
            "Starts with an empty file where a migration would be needed; false."),
        .field(
            "should_compact", of: [openOptions],
            "(fun(total_bytes: integer, used_bytes: integer): boolean)?",
            "Decides whether the file is compacted before it is opened."),
        .field(
            "type", of: [propertyOptions], "string",
            "The type with its modifiers, as in the short form."),
        .field(
            "primary", of: [propertyOptions], "boolean?",
            "Whether the property identifies the objects of its class."),
        .field(
            "indexed", of: [propertyOptions], "boolean?", "Whether the values are kept in an index."
        ),
        .field(
            "fulltext", of: [propertyOptions], "boolean?",
            "Whether the words are kept in a full-text index."),
        .field(
            "default", of: [propertyOptions], "any",
            "A value, or a function that makes one, for objects created without."),
        .field(
            "map_to", of: [propertyOptions], "string?", "What the file calls the property."),
    ]
}

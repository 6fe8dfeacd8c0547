extension Catalogue {
    /// What a store tells of itself, its schema, its end.
    static let storeLife: [CatalogueEntry] = [
        .method(
            "objects", of: [store], ["(class: `T`): Results<T>"],
            "Gives all objects of a class: lazy and live.", errors: [.unknownClass, .closed],
            example: """
                print(#store:objects "Dog")  --> 2
                for dog in store:objects("Dog"):each() do print(dog.name) end
                --> Rex
                --> Max
                """),
        .method(
            "object", of: [store], ["(class: `T`, key: any): T?"],
            "Gives the object with a primary key, or nil.",
            errors: [.unknownClass, .typeMismatch, .invalidArgument, .closed],
            example: """
                print(store:object("Dog", 1).name, store:object("Dog", 99))  --> Rex nil
                """),
        .method(
            "schema", of: [store], ["(): table<string, table>", "(class: string): table"],
            "Gives the schema, or one class, in the form that define takes.",
            errors: [.unknownClass, .closed],
            example: """
                print(store:schema("Dog").age)  --> int?
                """),
        .method(
            "define", of: [store],
            [
                "(schema: table<string, table>, options?: {force: boolean})",
                "(schema: table<string, table>, migration: fun(m: Migration))",
            ],
            "Creates or changes classes now; what would lose data is to be forced, or migrated.",
            errors: [.invalidSchema, .migrationNeeded, .alreadyInWrite, .readOnly, .closed],
            example: """
                store:define { Cat = { name = "string", lives = "int" } }
                print(#store:objects "Cat")  --> 0
                """),
        .method(
            "close", of: [store], ["()"],
            "Ends the store: an open write is rolled back, observers end.",
            example: """
                local other = moonpool.open { in_memory = "other" }
                other:close()
                print(other.is_closed)  --> true
                """),
        .field("path", of: [store], "string?", "The file's path; nil in memory."),
        .field("version", of: [store], "integer", "The version that reads see."),
        .field("schema_version", of: [store], "integer", "The number that migrations count."),
        .field("is_in_write", of: [store], "boolean", "Whether a write transaction is open."),
        .field("is_frozen", of: [store], "boolean", "Whether it shows one version for ever."),
        .field("is_read_only", of: [store], "boolean", "Whether changes are refused."),
        .field("is_closed", of: [store], "boolean", "Whether it was closed."),
        .field(
            "autorefresh", of: [store], "boolean",
            "Whether the store follows other writers by itself, between chunks of the script.",
            isWritable: true, errors: [.typeMismatch],
            example: """
                store.autorefresh = false
                print(store.autorefresh)  --> false
                """),
    ]
}

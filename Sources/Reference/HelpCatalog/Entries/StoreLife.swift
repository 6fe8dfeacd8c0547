extension HelpCatalog {
    /// The members of stores for classes, schema, state and closing.
    static let storeLife: [HelpEntry] = [
        .method(
            "objects", of: [store], ["(class: `T`): Results<T>"],
            "Returns all objects of a class. Lazy and live.", errors: [.unknownClass, .closed],
            example: """
                print(#store:objects "Dog")  --> 2
                for dog in store:objects("Dog"):each() do print(dog.name) end
                --> Rex
                --> Max
                """),
        .method(
            "new", of: [store], ["(class: `T`, values?: table): T"],
            "Creates an object that is not in the store and has the defaults of its class; store:add adds it.",
            errors: [.unknownClass, .unknownProperty, .invalidArgument, .closed],
            example: """
                local cleo = store:new("Dog", { id = 3, name = "Cleo" })
                print(cleo.breed, #cleo.toys, #dogs)  --> mutt 0 2
                store:write(function() store:add(cleo) end)
                print(cleo.store == store, #dogs)  --> true 3
                """),
        .method(
            "object", of: [store], ["(class: `T`, key: any): T?"],
            "Returns the object with a primary key, or nil.",
            errors: [.unknownClass, .typeMismatch, .invalidArgument, .closed],
            example: """
                print(store:object("Dog", 1).name, store:object("Dog", 99))  --> Rex nil
                """),
        .method(
            "schema", of: [store],
            ["(): table<string, table>", "(class: string?, options?: {ordered: boolean}): table"],
            "Returns the schema, or one class, in the form that define takes; with ordered, as arrays in declared order.",
            errors: [.unknownClass, .invalidArgument, .closed],
            example: """
                print(store:schema("Dog").age)  --> int?
                print(store:schema("Dog", { ordered = true })[1][1])  --> id
                """),
        .method(
            "migration_since", of: [store],
            ["(version: integer, options?: {dir: string?, name: string?}): table?"],
            """
            Writes the changes that this script made with `store:define` since a version as the next numbered file of a folder, \
            by default `migrations`. Rehearses the file on a copy of that version, and records it as applied. Returns `files`, \
            `rehearsal` and `recorded`; nil if the schema has not changed. A function has a file of its own if another function \
            precedes it.
            """,
            errors: [.outOfRange, .migrationNeeded, .invalidArgument, .invalidSchema, .closed],
            example: """
                local version = store.version
                store:define { Cat = { name = "string" } }
                local report = store:migration_since(version, { dir = "cats", name = "add_cats" })
                print(#report.files, #report.rehearsal.applied)  --> 2 1
                """),
        .method(
            "define", of: [store],
            [
                "(schema: table<string, table>, options?: {force: boolean})",
                "(schema: table<string, table>, migration: fun(m: Migration))",
            ],
            "Creates or changes classes. `\"...\"` as the first element of a class means its other properties. Data loss "
                + "requires `force = true` or a migration function.",
            errors: [.invalidSchema, .migrationNeeded, .alreadyInWrite, .readOnly, .closed],
            example: """
                store:define { Cat = { name = "string", lives = "int" } }
                store:define { Cat = { "...", age = "int?" } }
                print(#store:objects "Cat", store:schema("Cat").age)  --> 0 int?
                """),
        .method(
            "close", of: [store], ["()"],
            "Closes the store. Rolls back an open write transaction and invalidates its observers.",
            example: """
                local other = moonpool.open { in_memory = "other" }
                other:close()
                print(other.is_closed)  --> true
                """),
        .field("path", of: [store], "string?", "The path of the file; nil for an in-memory store."),
        .field("version", of: [store], "integer", "The version that the store reads."),
        .field("schema_version", of: [store], "integer", "The version of the schema."),
        .field("is_in_write", of: [store], "boolean", "Whether a write transaction is open."),
        .field("is_frozen", of: [store], "boolean", "Whether the store is frozen at one version."),
        .field("is_read_only", of: [store], "boolean", "Whether the store was opened read-only."),
        .field("is_closed", of: [store], "boolean", "Whether the store is closed."),
        .field(
            "autorefresh", of: [store], "boolean",
            "Whether the store refreshes automatically when other writers commit.",
            isWritable: true, errors: [.typeMismatch],
            example: """
                store.autorefresh = false
                print(store.autorefresh)  --> false
                """),
    ]
}

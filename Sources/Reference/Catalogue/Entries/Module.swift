extension Catalogue {
    /// The rest of the module: values of stores, objects in no store, looking at values.
    static let module: [CatalogueEntry] = [
        .function(
            "new", of: moonpool, ["(class: `T`, values?: table): T"],
            "Makes an object that is in no store yet; store:add stores it.",
            errors: [.invalidArgument],
            example: """
                local cleo = moonpool.new("Dog", { id = 3, name = "Cleo" })
                store:write(function() store:add(cleo) end)
                print(cleo.breed, #dogs)  --> mutt 3
                """),
        .function(
            "date", of: moonpool,
            [
                "(): Date", "(text: string): Date", "(seconds: number): Date",
                "(fields: table): Date",
            ],
            "Makes a moment: now, or from text, from seconds since 1970, or from calendar fields.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.date("2026-11-20T10:00:00Z"))  --> 2026-11-20T10:00:00Z
                print(moonpool.date(0))  --> 1970-01-01T00:00:00Z
                print(moonpool.date { year = 2026, month = 2, day = 28 })  --> 2026-02-28T00:00:00Z
                """),
        .function(
            "uuid", of: moonpool, ["(text?: string): UUID"],
            "Makes a UUID; a random one without an argument.", errors: [.invalidArgument],
            example: """
                print(moonpool.uuid("01234567-89ab-cdef-0123-456789abcdef"))  --> 01234567-89ab-cdef-0123-456789abcdef
                """),
        .function(
            "object_id", of: moonpool, ["(text?: string): ObjectID"],
            "Makes an object id; a new one without an argument.", errors: [.invalidArgument],
            example: """
                print(moonpool.object_id("0123456789abcdef01234567"))  --> 0123456789abcdef01234567
                """),
        .function(
            "decimal", of: moonpool, ["(value: string|number): Decimal"],
            "Makes a decimal number of 34 digits.", errors: [.invalidArgument],
            example: """
                print(moonpool.decimal("0.1") + moonpool.decimal("0.2"))  --> 0.3
                """),
        .function(
            "data", of: moonpool, ["(bytes: string): Data"],
            "Marks bytes as data where no property says so, as in an argument of a query.",
            errors: [.invalidArgument],
            example: """
                print(#moonpool.data("\\0\\255"))  --> 2
                """),
        .field(
            "null", of: [moonpool], "Null", "Sets nil where a key must be present.",
            example: """
                store:write(function() rex:update { age = moonpool.null } end)
                print(rex.age)  --> nil
                """),
        .field(
            "version", of: [moonpool], "string", "Moonpool's version: major.minor.patch.",
            example: """
                print(moonpool.version:match("^%d+%.%d+%.%d+$") ~= nil)  --> true
                """),
        .function(
            "class_of", of: moonpool, ["(object: Object): string"],
            "Gives the name of an object's class, also where a property is called class.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.class_of(rex))  --> Dog
                """),
        .function(
            "store_of", of: moonpool, ["(value: Object|Results|List|Set|Map): Store"],
            "Gives the store that an object or a collection comes from.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.store_of(dogs) == store)  --> true
                """),
        .function(
            "inspect", of: moonpool,
            [
                "(value: any, options?: {depth: integer?, items: integer?, rows: integer?, string: integer?, width: integer?}): string"
            ],
            "Gives what the prompt shows of a value: nested tables with sorted keys, objects, Results as tables.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.inspect { b = { 1, 2 }, a = "text" })  --> { a = "text", b = { 1, 2 } }
                print(moonpool.inspect({ 1, 2, 3 }, { items = 2 }))  --> { 1, 2, … 1 more }
                """),
        .field(
            "on_error", of: [moonpool], "(fun(err: any, token?: Token))?",
            "Set it to take the errors of observers, timers and queued writes.",
            isWritable: true,
            example: """
                moonpool.on_error = function(err, token) print(token.name, err) end
                local token <close> = rex:observe(function() error("no", 0) end, { name = "mine" })
                store:write(function() rex.age = 8 end)
                store:refresh()  --> mine no
                moonpool.on_error = nil
                """),
    ]
}

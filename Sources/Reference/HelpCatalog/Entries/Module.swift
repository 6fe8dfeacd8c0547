extension HelpCatalog {
    /// The functions of the module for values, unmanaged objects and inspection.
    static let module: [HelpEntry] = [
        .function(
            "new", of: moonpool, ["(class: `T`, values?: table): T"],
            "Creates an unmanaged object. store:add adds it to a store.",
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
            "Creates a date: the current time, or from ISO 8601 text, seconds since 1970 (integers are exact), calendar "
                + "fields, or `{ microseconds = n }`. Text with digits below the microsecond is an error.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.date("2026-11-20T10:00:00Z"))  --> 2026-11-20T10:00:00Z
                print(moonpool.date(0))  --> 1970-01-01T00:00:00Z
                print(moonpool.date { year = 2026, month = 2, day = 28 })  --> 2026-02-28T00:00:00Z
                """),
        .function(
            "uuid", of: moonpool, ["(text?: string): UUID"],
            "Creates a UUID from text, or a random one without an argument.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.uuid("01234567-89ab-cdef-0123-456789abcdef"))  --> 01234567-89ab-cdef-0123-456789abcdef
                """),
        .function(
            "object_id", of: moonpool, ["(text?: string): ObjectID"],
            "Creates an object id from text, or a new one without an argument.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.object_id("0123456789abcdef01234567"))  --> 0123456789abcdef01234567
                """),
        .function(
            "decimal", of: moonpool, ["(value: string|number): Decimal"],
            "Creates a decimal number with 34 significant digits.", errors: [.invalidArgument],
            example: """
                print(moonpool.decimal("0.1") + moonpool.decimal("0.2"))  --> 0.3
                """),
        .function(
            "data", of: moonpool, ["(bytes: string): Data"],
            "Creates a data value from bytes, for values without a declared type such as query arguments.",
            errors: [.invalidArgument],
            example: """
                print(#moonpool.data("\\0\\255"))  --> 2
                """),
        .function(
            "float", of: moonpool, ["(number: number): Float"],
            "Creates a single-precision number, to store one in a mixed value.",
            errors: [.invalidArgument],
            example: """
                store:write(function() rex.extra = moonpool.float(0.1) end)
                print(moonpool.type_of(rex, "extra"), rex.extra == 0.1)  --> float false
                """),
        .function(
            "type_of", of: moonpool,
            [
                "(object: Object, property: string): string",
                "(list: List|Set|Values|MixedList, index: integer): string?",
                "(map: Map|MixedMap, key: string): string?",
            ],
            "Returns the type of a stored value: nil, bool, int, float, double, string, data, date, uuid, object_id, "
                + "decimal, object, list, set, map or backlinks. It distinguishes values that look the same in Lua, such as data and "
                + "strings. Returns nil for an index or key that does not exist.",
            errors: [.unknownProperty, .invalidObject, .invalidArgument],
            example: """
                store:write(function() rex.extra = { moonpool.data("a"), "a", 1, 1.0, moonpool.json.empty_object, {} } end)
                local types = {}
                for i = 1, #rex.extra do types[i] = moonpool.type_of(rex.extra, i) end
                print(table.concat(types, " "))  --> data string int double map list
                """),
        .field(
            "null", of: [moonpool], "Null",
            "Represents nil in tables, where a nil value would remove the key.",
            example: """
                store:write(function() rex:update { age = moonpool.null } end)
                print(rex.age)  --> nil
                """),
        .field(
            "version", of: [moonpool], "string", "The version of Moonpool: major.minor.patch.",
            example: """
                print(moonpool.version:match("^%d+%.%d+%.%d+$") ~= nil)  --> true
                """),
        .function(
            "class_of", of: moonpool, ["(object: Object): string"],
            "Returns the class name of an object, even if it has a property named class.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.class_of(rex))  --> Dog
                """),
        .function(
            "id_of", of: moonpool, ["(object: Object): integer"],
            "Returns the number of an object within its class, which never changes; objects are created in ascending order.",
            errors: [.invalidArgument],
            example: """
                local first = store:objects("Dog")[1]
                print(moonpool.id_of(first) < moonpool.id_of(store:objects("Dog")[2]))  --> true
                """),
        .function(
            "store_of", of: moonpool,
            ["(value: Object|Results|List|Set|Map|Values|MixedList|MixedMap): Store"],
            "Returns the store of an object or a collection.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.store_of(dogs) == store)  --> true
                """),
        .function(
            "inspect", of: moonpool,
            [
                "(value: any, options?: {depth: integer?, items: integer?, rows: integer?, string: integer?, width: integer?}): string"
            ],
            "Returns the text that the prompt prints for a value: nested tables with sorted keys, objects, Results as tables.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.inspect { b = { 1, 2 }, a = "text" })  --> { a = "text", b = { 1, 2 } }
                print(moonpool.inspect({ 1, 2, 3 }, { items = 2 }))  --> { 1, 2, … 1 more }
                """),
        .field(
            "on_error", of: [moonpool], "(fun(err: any, token?: Token))?",
            "Set this function to receive the errors of observers, timers and queued writes.",
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

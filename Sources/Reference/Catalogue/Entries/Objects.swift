extension Catalogue {
    /// Objects.
    static let objects: [CatalogueEntry] = [
        .method(
            "update", of: [object, results, list, set], ["(values: table): self"],
            "Sets several properties, of one object or of every object of a collection.",
            errors: [
                .notInWrite, .unknownProperty, .typeMismatch, .missingValue, .invalidObject,
                .frozen,
            ],
            example: """
                store:write(function()
                  rex:update { name = "Rexy", age = 8 }
                  dogs:where("age > 5"):update { breed = "old" }
                end)
                print(rex.name, rex.breed)  --> Rexy old
                """),
        .method(
            "is_valid",
            of: [
                object, results, list, set, map, valuesType, sectionsType, mixedList, mixedMap,
            ], ["(): boolean"],
            "Tells whether there is still something to read: the object, or the collection's owner, exists.",
            example: """
                store:write(function() store:delete(max) end)
                print(max:is_valid(), rex:is_valid())  --> false true
                """),
        .method(
            "is_frozen",
            of: [
                object, results, list, set, map, valuesType, sectionsType, mixedList, mixedMap,
            ], ["(): boolean"], "Tells whether it shows one version for ever.",
            example: """
                print(rex:is_frozen(), rex:freeze():is_frozen())  --> false true
                """),
        .method(
            "freeze", of: [object, results, list, set, map, valuesType, sectionsType], ["(): self"],
            "Gives it as it is now, for ever; in a write transaction as it was before that.",
            errors: [.invalidObject, .alreadyInWrite, .closed],
            example: """
                local before = rex:freeze()
                store:write(function() rex.age = 8 end)
                print(before.age, rex.age)  --> 7 8
                """),
        .method(
            "thaw", of: [object, results, list, set, map, valuesType], ["(): self?"],
            "Gives the live form of something frozen; nil if it is gone.", errors: [.closed],
            example: """
                print(rex:freeze():thaw() == rex)  --> true
                """),
        .method(
            "to_table",
            of: [object, results, list, set, map, valuesType, mixedList, mixedMap, date],
            ["(depth?: integer): table"],
            "Makes a plain copy; links of objects are followed down to a depth.",
            errors: [.invalidObject],
            example: """
                local copy = rex:to_table()
                print(copy.name, #copy.marks)  --> Rex 3
                print(table.concat(rex.tags:to_table(), " "))  --> big calm
                """),
        .field(
            "store", of: [object], "Store",
            "The store of the object; moonpool.store_of(object) where a property has that name."),
        .field(
            "class", of: [object], "string",
            "The class of the object; moonpool.class_of(object) where a property has that name."),
        .method(
            "observe_value", of: [object],
            ["(property: string, body: fun(new: any, old: any), options?: ObserveOptions): Token"],
            "Calls a function when one property changes.",
            errors: [.unknownProperty, .alreadyInWrite, .frozen, .invalidObject, .invalidArgument],
            example: """
                local token <close> = rex:observe_value("age", function(new, old) print(old, new) end)
                store:write(function() rex.age = 8 end)
                store:refresh()  --> 7 8
                """),
    ]
}

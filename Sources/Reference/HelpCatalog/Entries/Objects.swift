extension HelpCatalog {
    /// The members of objects.
    static let objects: [HelpEntry] = [
        .method(
            "update", of: [object, results, list, set], ["(values: table): self"],
            "Sets several properties of an object, or of every object in a collection.",
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
                projection, projectedResults,
            ], ["(): boolean"],
            "Returns whether the object, or the owner of the collection, still exists.",
            example: """
                store:write(function() store:delete(max) end)
                print(max:is_valid(), rex:is_valid())  --> false true
                """),
        .method(
            "is_frozen",
            of: [
                object, results, list, set, map, valuesType, sectionsType, mixedList, mixedMap,
                projection, projectedResults,
            ], ["(): boolean"], "Returns whether the value is frozen at one version.",
            example: """
                print(rex:is_frozen(), rex:freeze():is_frozen())  --> false true
                """),
        .method(
            "freeze",
            of: [
                object, results, list, set, map, valuesType, sectionsType, mixedList, mixedMap,
                projection, projectedResults,
            ], ["(): self"],
            "Returns a frozen copy at the current version, without the changes of an open write transaction.",
            errors: [.invalidObject, .alreadyInWrite, .closed],
            example: """
                local before = rex:freeze()
                store:write(function() rex.age = 8 end)
                print(before.age, rex.age)  --> 7 8
                """),
        .method(
            "thaw",
            of: [object, results, list, set, map, valuesType, mixedList, mixedMap, projection],
            ["(): self?"],
            "Returns the live object or collection of a frozen one; nil if it no longer exists.",
            errors: [.closed],
            example: """
                print(rex:freeze():thaw() == rex)  --> true
                """),
        .method(
            "to_table",
            of: [object, results, list, set, map, valuesType, mixedList, mixedMap, date],
            ["(depth?: integer): table"],
            "Returns a plain table copy. Follows links to other objects down to a depth. Nil elements are moonpool.null.",
            errors: [.invalidObject],
            example: """
                local copy = rex:to_table()
                print(copy.name, #copy.marks)  --> Rex 3
                print(table.concat(rex.tags:to_table(), " "))  --> big calm
                """),
        .field(
            "store", of: [object], "Store",
            "The store of the object. If a property has this name, use moonpool.store_of(object)."),
        .field(
            "class", of: [object], "string",
            "The class name of the object. If a property has this name, use moonpool.class_of(object)."
        ),
        .method(
            "get", of: [object], ["(path: string): any"],
            "Returns the value of a path that comes as text: a value, a collection, or a table if the path leads to several "
                + "values.",
            errors: [.unknownProperty, .invalidQuery, .invalidObject],
            example: """
                print(rex:get "owner.name", rex:get "owner.dogs.@max.age")  --> Ann 7
                """),
        .method(
            "observe_value", of: [object],
            [
                "(path: string, body: fun(new: any, old: any, is_prior: boolean?), options?: ObserveOptions): Token"
            ],
            "Registers a function that is called when one property, or the value of a path such as `owner.name` or "
                + "`toys.@max.price`, changes. `invalidated` becomes true when the object is deleted.",
            errors: [
                .unknownProperty, .invalidQuery, .alreadyInWrite, .frozen, .invalidObject,
                .invalidArgument,
            ],
            example: """
                local token <close> = rex:observe_value("age", function(new, old) print(old, new) end)
                store:write(function() rex.age = 8 end)
                store:refresh()  --> 7 8
                """),
        .method(
            "observe_value", of: [list, set, map],
            [
                "(path: \"invalidated\", body: fun(new: boolean, old: boolean, is_prior: boolean?), options?: ObserveOptions): Token"
            ],
            "Registers a function that is called when the object that owns the collection is deleted.",
            errors: [.alreadyInWrite, .frozen, .invalidObject, .invalidArgument],
            example: """
                local token <close> = rex.toys:observe_value("invalidated", print, { initial = true })
                store:refresh()  --> false nil
                store:write(function() store:delete(rex) end)
                store:refresh()  --> true false
                """),
    ]
}

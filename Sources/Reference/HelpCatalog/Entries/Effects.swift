extension HelpCatalog {
    /// The functions for effects, computed values and observed aggregates.
    static let effects: [HelpEntry] = [
        .function(
            "effect", of: moonpool,
            ["(body: fun(): (fun()?), options?: {name: string?}): Token"],
            "Runs a function immediately, and again after each commit that changes data that it has read: properties, collections, "
                + "results, aggregates. The effect ends with dispose or with the script. If the function returns a cleanup function, "
                + "that runs before the next run and at the end.",
            errors: [.alreadyInWrite, .invalidArgument],
            example: """
                local effect <close> = moonpool.effect(function()
                  print(dogs:count(), dogs:sum "age", rex.name)
                end)  --> 2 10 Rex
                store:write(function() rex.age = 8 rex.name = "Rexi" end)
                store:refresh()  --> 2 11 Rexi
                store:write(function() max.breed = "pug" end)
                store:refresh()
                """),
        .function(
            "computed", of: moonpool, ["(body: fun(): any): Computed"],
            "Creates a value that is computed when it is read and cached until data that the function has read changes.",
            errors: [.invalidArgument],
            example: """
                local old = moonpool.computed(function() return dogs:where("age > 5"):count() end)
                local effect <close> = moonpool.effect(function() print("old dogs:", old()) end)  --> old dogs: 1
                store:write(function() rex.age = 8 end)
                store:refresh()
                store:write(function() max.age = 9 end)
                store:refresh()  --> old dogs: 2
                """),
        .function(
            "untracked", of: moonpool, ["(body: fun(...): any, ...: any): any"],
            "Calls a function inside an effect without making the effect depend on the values that the function reads.",
            errors: [.invalidArgument],
            example: """
                local effect <close> = moonpool.effect(function()
                  print(rex.name, moonpool.untracked(function() return max.age end))
                end)  --> Rex 3
                store:write(function() max.age = 4 end)
                store:refresh()
                store:write(function() rex.name = "Rexi" end)
                store:refresh()  --> Rexi 4
                """),
        .method(
            "observe_aggregate", of: [results, list, set, map],
            [
                "(aggregate: \"sum\"|\"min\"|\"max\"|\"average\"|\"count\", property: string, "
                    + "body: fun(new: any, old: any), options?: {name: string?, once: boolean?}): Token",
                "(aggregate: \"count\", body: fun(new: integer, old: integer?), options?: {name: string?, once: boolean?}): Token",
            ],
            "Calls a function with a count, sum, minimum, maximum or average, first with nil as the old value, and then whenever "
                + "it changes. The cost of a commit depends only on the changed objects.",
            errors: [
                .alreadyInWrite, .frozen, .unknownProperty, .invalidQuery, .typeMismatch,
                .invalidArgument,
            ],
            example: """
                local token <close> = dogs:observe_aggregate("sum", "age", function(new, old) print(new, old) end)
                store:refresh()  --> 10 nil
                store:write(function() rex.age = 8 end)
                store:refresh()  --> 11 10
                """),
        .method(
            "observe_aggregate", of: [sectionsType],
            [
                "(aggregate: \"sum\"|\"min\"|\"max\"|\"average\"|\"count\", property: string, "
                    + "body: fun(groups: table<any, {new: any, old: any}>), options?: {name: string?, once: boolean?}): Token",
                "(aggregate: \"count\", body: fun(groups: table<any, {new: any, old: any}>), "
                    + "options?: {name: string?, once: boolean?}): Token",
            ],
            "Calls a function with the sections whose count, sum, minimum, maximum or average changed, by their keys "
                + "(`moonpool.null` for objects without a value).",
            errors: [
                .alreadyInWrite, .frozen, .unknownProperty, .invalidQuery, .invalidArgument,
            ],
            example: """
                local old = dogs:where("age > 5")
                local token <close> = old:group_by("breed"):observe_aggregate("sum", "age", function(groups)
                  for breed, age in pairs(groups) do print(breed, age.old, age.new) end
                end)
                store:refresh()  --> mutt nil 7
                store:write(function() rex.age = 8 end)
                store:refresh()  --> mutt 7 8
                """),
        .method(
            "dispose", of: [token, computed], ["()"],
            "Ends an effect, an observer or a computed value, with the effects inside it.",
            example: """
                local effect = moonpool.effect(function() print(rex.age) end)  --> 7
                effect:dispose()
                store:write(function() rex.age = 8 end)
                store:refresh()
                print(effect.is_valid)  --> false
                """),
    ]
}

extension HelpCatalog {
    /// The members of projections.
    static let projections: [HelpEntry] = [
        .method(
            "project", of: [results, list, set],
            ["(paths: table<string, string>): ProjectedResults"],
            "Returns the objects as projections. A path is one of the predicate language, such as `owner.name`, `toys[1].name` or "
                + "`toys.@sum.price`.",
            errors: [.unknownProperty, .invalidQuery, .invalidArgument],
            example: """
                local cards = dogs:project { name = "name", master = "owner.name" }
                for card in cards:each() do print(card.name, card.master) end
                --> Rex Ann
                --> Max Ann
                """),
        .method(
            "project", of: [object], ["(paths: table<string, string>): Projection"],
            "Returns a projection of the object. Assigning a property of the object itself sets it in the object.",
            errors: [.unknownProperty, .invalidQuery, .invalidArgument],
            example: """
                local card = rex:project { name = "name", master = "owner.name" }
                store:write(function() card.name = "Rexy" end)
                print(rex.name, card.master)  --> Rexy Ann
                """),
        .method(
            "root", of: [projection], ["(): Object"], "Returns the projected object.",
            example: """
                print(rex:project({ n = "name" }):root() == rex)  --> true
                """),
        .method(
            "root", of: [projectedResults], ["(): Results"], "Returns the projected results.",
            example: """
                print(dogs:project({ n = "name" }):root():sum "age")  --> 10
                """),
        .method(
            "observe", of: [projection],
            ["(handler: fun(change: ObjectChange), options?: ObserveOptions): Token"],
            "Calls a function when a projected value changes. `keypaths` and the names in the change are projected names.",
            errors: [.alreadyInWrite, .unknownProperty, .frozen, .invalidObject],
            example: """
                local card = rex:project { name = "name", master = "owner.name", first_toy = "toys[1].name" }
                local token <close> = card:observe(function(change)
                  for _, property in ipairs(change.properties) do
                    print(property.name, property.old, property.new)
                  end
                end)
                store:write(function() rex.age = 8 rex.toys[1].name = "rope" rex.toys[2].name = "stick" end)
                store:refresh()  --> first_toy ball rope
                """),
        .method(
            "observe", of: [projectedResults],
            ["(handler: fun(change: Change), options?: ObserveOptions): Token"],
            "Calls a function with the rows that changed. A row counts as modified if a projected value differs.",
            errors: [.alreadyInWrite, .unknownProperty, .frozen],
            example: """
                local cards = dogs:project { name = "name", years = "age" }
                local token <close> = cards:observe(function(change)
                  for i in ipairs(change.modifications) do
                    local property = change:properties(i)[1]
                    print(property.name, property.old, property.new)
                  end
                end)
                store:refresh()
                store:write(function() rex.breed = "pug" max.age = 4 end)
                store:refresh()  --> years 3 4
                """),
        .method(
            "where", of: [projectedResults],
            ["(predicate: string|table, ...: any): ProjectedResults"],
            "Returns the projections of the objects that match a predicate over the class.",
            errors: [.invalidQuery, .typeMismatch],
            example: """
                local cards = dogs:project { n = "name" }
                print(#cards:where("age > 5"))  --> 1
                """),
        .method(
            "sorted", of: [projectedResults],
            ["(path: string|table, order?: \"asc\"|\"desc\"): ProjectedResults"],
            "Returns the projections, sorted by key paths of the class.",
            errors: [.unknownProperty, .invalidQuery],
            example: """
                print(dogs:project({ n = "name" }):sorted("age")[1].n)  --> Max
                """),
        .method(
            "distinct", of: [projectedResults], ["(...: string): ProjectedResults"],
            "Returns the projections of objects that differ in key paths of the class.",
            errors: [.unknownProperty, .invalidQuery],
            example: """
                print(#dogs:project({ n = "name" }):distinct("owner.name"))  --> 1
                """),
        .method(
            "limit", of: [projectedResults], ["(count: integer): ProjectedResults"],
            "Returns at most a number of projections.", errors: [.invalidArgument],
            example: """
                print(#dogs:project({ n = "name" }):limit(1))  --> 1
                """),
        .method(
            "count", of: [projectedResults], ["(): integer"], "Returns the number of projections.",
            example: """
                print(dogs:project({ n = "name" }):count())  --> 2
                """),
        .method(
            "first", of: [projectedResults], ["(): Projection?"],
            "Returns the first projection, or nil.",
            example: """
                print(dogs:project({ n = "name" }):first().n)  --> Rex
                """),
        .method(
            "last", of: [projectedResults], ["(): Projection?"],
            "Returns the last projection, or nil.",
            example: """
                print(dogs:project({ n = "name" }):last().n)  --> Max
                """),
        .method(
            "each", of: [projectedResults], ["(): fun(): Projection?"],
            "Iterates over the projections as of the start of the loop.",
            example: """
                for card in dogs:project({ n = "name" }):each() do print(card.n) end
                --> Rex
                --> Max
                """),
        .method(
            "to_table", of: [projection, projectedResults], ["(): table"],
            "Returns the projected values as plain tables.",
            example: """
                print(dogs:project({ n = "name", m = "owner.name" }):to_table()[2].m)  --> Ann
                """),
        .method(
            "export", of: [projectedResults], ["(path: string, format?: string): integer"],
            "Writes the projected values to a file as jsonl, json or csv, and returns the number of rows.",
            errors: [.invalidArgument],
            example: """
                print(dogs:project({ n = "name", master = "owner.name" }):export("cards.csv"))  --> 2
                """),
    ]
}

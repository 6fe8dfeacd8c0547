extension Catalogue {
    private static let collections4 = [results, list, set, map]

    /// What is asked of collections of objects, and some of values.
    static let queries: [CatalogueEntry] = [
        .method(
            "where", of: collections4,
            ["(predicate: string, ...: any): Results<T>", "(values: table): Results<T>"],
            "Gives the objects that match a predicate, whose arguments are $1, $2 …, or have these values; "
                + "of a collection of values, those, which the predicate calls SELF.",
            errors: [.invalidQuery, .typeMismatch, .invalidArgument],
            example: """
                print(#dogs:where("age >= $1 and owner.name beginswith[c] $2", 5, "a"))  --> 1
                print(dogs:where { name = "Max" }[1].age)  --> 3
                print(#rex.marks:where("SELF > $1", 2))  --> 1
                """),
        .method(
            "where", of: [valuesType], ["(predicate: string, ...: any): Values<T>"],
            "Gives the values that match a predicate, which calls them SELF.",
            errors: [.invalidQuery, .invalidArgument],
            example: """
                print(rex.marks:sorted():where("SELF < 3")[1])  --> 1
                """),
        .method(
            "sorted", of: collections4,
            [
                "(path: string, order?: \"asc\"|\"desc\"): Results<T>",
                "(keys: table): Results<T>",
            ], "Gives the objects in another order; of a collection of values, those in order.",
            errors: [.invalidQuery, .invalidArgument],
            example: """
                print(dogs:sorted("age")[1].name, dogs:sorted { { "owner.name" }, { "age", "desc" } }[1].name)  --> Max Rex
                print(rex.marks:sorted("desc")[1])  --> 3
                """),
        .method(
            "sorted", of: [valuesType], ["(order?: \"asc\"|\"desc\"): Values<T>"],
            "Gives the values in order.", errors: [.invalidArgument],
            example: """
                print(rex.marks:distinct():sorted()[1])  --> 1
                """),
        .method(
            "distinct", of: collections4, ["(...: string): Results<T>"],
            "Gives the first object of each value of a property; of a collection of values, each once.",
            errors: [.invalidQuery],
            example: """
                print(#dogs:distinct("breed"), #dogs:distinct("owner.name"))  --> 2 1
                """),
        .method(
            "distinct", of: [valuesType], ["(): Values<T>"], "Gives the first of each value.",
            example: """
                print(#rex.marks:sorted():distinct())  --> 3
                """),
        .method(
            "limit", of: collections4, ["(count: integer): Results<T>"],
            "Gives at most the first so many.", errors: [.invalidArgument],
            example: """
                print(#dogs:limit(1))  --> 1
                """),
        .method(
            "limit", of: [valuesType], ["(count: integer): Values<T>"],
            "Gives at most the first so many values.", errors: [.invalidArgument],
            example: """
                print(#rex.marks:sorted():limit(2))  --> 2
                """),
        .method(
            "group_by", of: collections4,
            ["(path: string, order?: \"asc\"|\"desc\"): Sections<T>"],
            "Gives the objects in sections that have a value in common.",
            errors: [.invalidQuery, .invalidArgument],
            example: """
                for _, section in ipairs(dogs:group_by("breed")) do print(section.key, #section.objects) end
                --> boxer 1
                --> mutt 1
                """),
        .method(
            "first", of: [results, list, set, valuesType], ["(): T?"],
            "Gives the first, or nil.",
            example: """
                print(dogs:first().name)  --> Rex
                """),
        .method(
            "last", of: [results, list, set, valuesType], ["(): T?"], "Gives the last, or nil.",
            example: """
                print(dogs:last().name)  --> Max
                """),
        .method(
            "each", of: [results, list, set, valuesType], ["(): fun(): T?"],
            "For loops: over the collection as it was when the loop began, so the loop may change it.",
            example: """
                store:write(function()
                  for dog in dogs:where("age > 2"):each() do dog.age = 1 end
                end)
                print(#dogs:where "age > 2")  --> 0
                """),
        .method(
            "filter", of: [results, list, set, valuesType],
            ["(test: fun(element: T): boolean): T[]"],
            "Makes a plain array of those for which a function gives true.",
            example: """
                print(#dogs:filter(function(dog) return #dog.name == 3 end))  --> 2
                """),
        .method(
            "map", of: [results, list, set, valuesType],
            ["(transform: fun(element: T): any): any[]"],
            "Makes a plain array of what a function gives for each.",
            example: """
                print(table.concat(dogs:map(function(dog) return dog.name end), " "))  --> Rex Max
                """),
        .method(
            "sum", of: collections4 + [valuesType], ["(property?: string): number"],
            "Adds a property up, or the values; nils do not count.",
            errors: [.invalidQuery],
            example: """
                print(dogs:sum "age", rex.marks:sorted():sum())  --> 10 6
                """),
        .method(
            "min", of: collections4 + [valuesType], ["(property?: string): any"],
            "Gives the smallest value, or nil.", errors: [.invalidQuery],
            example: """
                print(dogs:min "age")  --> 3
                """),
        .method(
            "max", of: collections4 + [valuesType], ["(property?: string): any"],
            "Gives the largest value, or nil.", errors: [.invalidQuery],
            example: """
                print(dogs:max "age")  --> 7
                """),
        .method(
            "average", of: collections4 + [valuesType], ["(property?: string): number?"],
            "Gives the average, or nil; nils do not count.",
            errors: [.invalidQuery],
            example: """
                print(dogs:average "age")  --> 5.0
                """),
        .method(
            "count", of: collections4 + [valuesType], ["(property?: string): integer"],
            "Counts the elements, or those with a value in a property.", errors: [.unknownProperty],
            example: """
                print(dogs:count(), dogs:count "age")  --> 2 2
                """),
        .method(
            "index_of", of: [results, list, set, mixedList], ["(element: T): integer?"],
            "Gives the position of an object or a value, or nil.",
            errors: [.typeMismatch, .invalidArgument],
            example: """
                print(dogs:index_of(max), rex.marks:index_of(1))  --> 2 2
                """),
        .method(
            "contains", of: [results, list, set, mixedList], ["(element: T): boolean"],
            "Tells whether an object or a value is in the collection.",
            errors: [.typeMismatch, .invalidArgument],
            example: """
                print(dogs:contains(rex), rex.tags:contains("calm"))  --> true true
                """),
        .method(
            "histogram", of: [results], ["(property: string, bars?: integer): table[]"],
            "Counts how often values occur: an array of { from, to, count } that prints as bars.",
            errors: [.unknownProperty, .typeMismatch, .invalidArgument],
            example: """
                local bars = dogs:histogram("age", 2)
                print(#bars, bars[1].count)  --> 2 1
                """),
        .method(
            "explain", of: [results, valuesType], ["(): string"],
            "Tells how the query is run, and what observing it costs.",
            example: """
                print(dogs:where("breed == 'boxer'"):explain():match("index") ~= nil)  --> true
                """),
    ]
}

extension HelpCatalog {
    private static let collections4 = [results, list, set, map]
    private static let plainValues = [valuesType, mixedList, mixedMap]

    /// The queries and aggregates of collections.
    static let queries: [HelpEntry] = [
        .method(
            "where", of: collections4,
            ["(predicate: string, ...: any): Results<T>", "(values: table): Results<T>"],
            "Returns the objects that match a predicate with the arguments $1, $2 …, or that have the given values. "
                + "In a collection of values, SELF is the value.",
            errors: [.invalidQuery, .unknownProperty, .typeMismatch, .invalidArgument],
            example: """
                print(#dogs:where("age >= $1 and owner.name beginswith[c] $2", 5, "a"))  --> 1
                print(dogs:where { name = "Max" }[1].age)  --> 3
                print(#rex.marks:where("SELF > $1", 2))  --> 1
                """),
        .method(
            "where", of: plainValues, ["(predicate: string, ...: any): Values<T>"],
            "Returns the values that match a predicate, in which SELF is the value.",
            errors: [.invalidQuery, .invalidArgument],
            example: """
                print(rex.marks:sorted():where("SELF < 3")[1])  --> 1
                store:write(function() rex.extra = { 5, "a", { 7 } } end)
                print(#rex.extra:where("SELF == 5"))  --> 1
                """),
        .method(
            "sorted", of: collections4,
            [
                "(path: string, order?: \"asc\"|\"desc\"): Results<T>",
                "(keys: table): Results<T>",
            ],
            "Returns the elements sorted by one or more key paths; values are sorted by themselves.",
            errors: [.invalidQuery, .unknownProperty, .invalidArgument],
            example: """
                print(dogs:sorted("age")[1].name, dogs:sorted { { "owner.name" }, { "age", "desc" } }[1].name)  --> Max Rex
                print(rex.marks:sorted("desc")[1])  --> 3
                """),
        .method(
            "sorted", of: plainValues, ["(order?: \"asc\"|\"desc\"): Values<T>"],
            "Returns the values sorted.", errors: [.invalidArgument],
            example: """
                print(rex.marks:distinct():sorted()[1])  --> 1
                """),
        .method(
            "distinct", of: collections4, ["(...: string): Results<T>"],
            "Returns the first object for each value of the key paths; in a collection of values, each value once.",
            errors: [.invalidQuery, .unknownProperty],
            example: """
                print(#dogs:distinct("breed"), #dogs:distinct("owner.name"))  --> 2 1
                """),
        .method(
            "distinct", of: plainValues, ["(): Values<T>"], "Returns each value once.",
            example: """
                print(#rex.marks:sorted():distinct())  --> 3
                """),
        .method(
            "limit", of: collections4, ["(count: integer): Results<T>"],
            "Returns at most the first count elements.", errors: [.invalidArgument],
            example: """
                print(#dogs:limit(1))  --> 1
                """),
        .method(
            "limit", of: plainValues, ["(count: integer): Values<T>"],
            "Returns at most the first count values.", errors: [.invalidArgument],
            example: """
                print(#rex.marks:sorted():limit(2))  --> 2
                """),
        .method(
            "group_by", of: collections4,
            [
                "(path: string, order?: \"asc\"|\"desc\"): Sections<T>",
                "(paths: (string|string[])[]): Sections<T>",
            ],
            "Groups the objects into sections with the same value. With several paths, written as for `sorted`, a key is "
                + "an array with the value of each path.",
            errors: [.invalidQuery, .unknownProperty, .invalidArgument],
            example: """
                for _, section in ipairs(dogs:group_by("breed")) do print(section.key, #section.objects) end
                --> boxer 1
                --> mutt 1
                for _, section in ipairs(dogs:group_by { "breed", { "age", "desc" } }) do
                  print(section.key[1], section.key[2])
                end
                --> boxer 3
                --> mutt 7
                """),
        .method(
            "first", of: [results, list, set, valuesType, mixedList], ["(): T?"],
            "Returns the first element, or nil.",
            example: """
                print(dogs:first().name)  --> Rex
                """),
        .method(
            "last", of: [results, list, set, valuesType, mixedList], ["(): T?"],
            "Returns the last element, or nil.",
            example: """
                print(dogs:last().name)  --> Max
                """),
        .method(
            "each", of: [results, list, set, valuesType, mixedList], ["(): fun(): T?"],
            "Iterates over a snapshot of the collection, so the loop may modify it. Nil elements are moonpool.null.",
            example: """
                store:write(function()
                  for dog in dogs:where("age > 2"):each() do dog.age = 1 end
                end)
                print(#dogs:where "age > 2")  --> 0
                """),
        .method(
            "filter", of: [results, list, set, valuesType, mixedList],
            ["(test: fun(element: T): boolean): T[]"],
            "Returns a plain array of the elements for which a function returns true.",
            example: """
                print(#dogs:filter(function(dog) return #dog.name == 3 end))  --> 2
                """),
        .method(
            "map", of: [results, list, set, valuesType, mixedList],
            ["(transform: fun(element: T): any): any[]"],
            "Returns a plain array of the results of a function for each element. Nil results are moonpool.null.",
            example: """
                print(table.concat(dogs:map(function(dog) return dog.name end), " "))  --> Rex Max
                """),
        .method(
            "sum", of: collections4 + plainValues, ["(property?: string): number"],
            "Returns the sum of a property or of the values. Ignores nil. The sum of integers is exact; if it needs more than 64 "
                + "bits, it is the nearest float.",
            errors: [.invalidQuery, .unknownProperty],
            example: """
                print(dogs:sum "age", rex.marks:sorted():sum())  --> 10 6
                """),
        .method(
            "min", of: collections4 + plainValues, ["(property?: string): any"],
            "Returns the smallest value, or nil.", errors: [.invalidQuery, .unknownProperty],
            example: """
                print(dogs:min "age")  --> 3
                """),
        .method(
            "max", of: collections4 + plainValues, ["(property?: string): any"],
            "Returns the largest value, or nil.", errors: [.invalidQuery, .unknownProperty],
            example: """
                print(dogs:max "age")  --> 7
                """),
        .method(
            "average", of: collections4 + plainValues, ["(property?: string): number?"],
            "Returns the average, or nil. Ignores nil.",
            errors: [.invalidQuery, .unknownProperty],
            example: """
                print(dogs:average "age")  --> 5.0
                """),
        .method(
            "count", of: collections4 + plainValues, ["(property?: string): integer"],
            "Returns the number of elements, or of those with a value in a property.",
            errors: [.unknownProperty],
            example: """
                print(dogs:count(), dogs:count "age")  --> 2 2
                """),
        .method(
            "index_of", of: [results, list, set, mixedList], ["(element: T): integer?"],
            "Returns the index of an object or a value, or nil.",
            errors: [.typeMismatch, .invalidArgument],
            example: """
                print(dogs:index_of(max), rex.marks:index_of(1))  --> 2 2
                """),
        .method(
            "contains", of: [results, list, set, mixedList], ["(element: T): boolean"],
            "Returns whether the collection contains an object or a value.",
            errors: [.typeMismatch, .invalidArgument],
            example: """
                print(dogs:contains(rex), rex.tags:contains("calm"))  --> true true
                """),
        .method(
            "histogram", of: [results], ["(property: string, bars?: integer): table[]"],
            "Counts values: returns an array of { from, to, count } that prints as bars.",
            errors: [.unknownProperty, .typeMismatch, .invalidArgument],
            example: """
                local bars = dogs:histogram("age", 2)
                print(#bars, bars[1].count)  --> 2 1
                """),
        .method(
            "plot", of: [results], ["(x: string, y: string, options?: PlotOptions): Plot"],
            "Draws two properties against each other: numbers, dates, strings or booleans on each axis.",
            errors: [.unknownProperty, .invalidQuery, .invalidArgument],
            example: """
                local plot = dogs:plot("id", "age")
                print(plot:svg():match("^<svg") ~= nil)  --> true
                """),
        .field(
            "by", of: [plotOptions], "string?",
            "A property whose values divide the objects into series of different colors."),
        .field(
            "lines", of: [plotOptions], "boolean?", "Connects the points of a series with lines."),
        .field("title", of: [plotOptions], "string?", "The title above the plot."),
        .method(
            "svg", of: [plotType], ["(): string"], "Returns the plot as an SVG document.",
            example: """
                local file <close> = assert(io.open("ages.svg", "w"))
                file:write(dogs:plot("id", "age", { by = "breed" }):svg())
                """),
        .function(
            "svg", of: moonpool, ["(chart: any): string"],
            "Returns a plot, a histogram or sections as an SVG document.",
            errors: [.invalidArgument],
            example: """
                local document = moonpool.svg(dogs:group_by("breed"))
                print(document:find("boxer") ~= nil)  --> true
                """),
        .method(
            "explain", of: [results, valuesType], ["(): string"],
            "Describes how the query runs and what observing it costs.",
            example: """
                print(dogs:where("breed == 'boxer'"):explain():match("index") ~= nil)  --> true
                """),
    ]
}

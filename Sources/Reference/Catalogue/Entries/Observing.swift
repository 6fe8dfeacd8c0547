extension Catalogue {
    /// Observers, their options and their tokens.
    static let observing: [CatalogueEntry] = [
        .method(
            "observe", of: [results, list, set, map, valuesType],
            ["(body: fun(change: Change<T>), options?: ObserveOptions): Token"],
            "Calls a function with the collection, and then whenever it changes.",
            errors: [.alreadyInWrite, .frozen, .invalidQuery, .invalidArgument],
            example: """
                local token <close> = dogs:where("age > 2"):observe(function(change)
                  print(change.type, #change.insertions, #change.deletions)
                end)
                store:refresh()  --> initial 0 0
                store:write(function() store:create("Dog", { id = 3, name = "Cleo", age = 5 }) end)
                store:refresh()  --> update 1 0
                """),
        .method(
            "observe", of: [object],
            ["(body: fun(change: ObjectChange), options?: ObserveOptions): Token"],
            "Calls a function when the object changes or is deleted.",
            errors: [.alreadyInWrite, .frozen, .invalidObject, .invalidQuery, .invalidArgument],
            example: """
                local token <close> = rex:observe(function(change) print(change.type) end)
                store:write(function() rex.age = 8 end)
                store:refresh()  --> change
                """),
        .method(
            "observe", of: [store],
            [
                "(body: fun(type: \"did_change\"|\"refresh_required\", store: Store), "
                    + "options?: ObserveOptions): Token"
            ], "Calls a function after every commit that the store sees.",
            errors: [.frozen, .invalidArgument, .closed],
            example: """
                local token <close> = store:observe(function(type) print(type) end)
                store:write(function() rex.age = 8 end)  --> did_change
                """),
        .method(
            "observe", of: [sectionsType],
            ["(body: fun(change: SectionChange), options?: ObserveOptions): Token"],
            "Calls a function with the sections, and then whenever they change.",
            errors: [.alreadyInWrite, .frozen, .invalidArgument],
            example: """
                local token <close> = dogs:group_by("breed"):observe(function(change) print(change.type) end)
                store:refresh()  --> initial
                """),
        .field(
            "keypaths", of: [observeOptions], "string[]|string|nil",
            "Only changes of these count; without them all, four levels deep."),
        .field("name", of: [observeOptions], "string?", "What reports call the observer."),
        .field(
            "debounce", of: [observeOptions], "number?",
            "Calls when so many seconds have gone by without a change."),
        .field(
            "throttle", of: [observeOptions], "number?", "Calls at most once in so many seconds."),
        .field(
            "on", of: [observeOptions], "Worker?",
            "Calls the function, which captures no locals, on this worker's event loop."),
        .method(
            "invalidate", of: [token], ["()"], "Ends the observation.",
            example: """
                local token = dogs:observe(function() end)
                token:invalidate()
                print(token.is_valid)  --> false
                """),
        .method(
            "why", of: [token], ["(): table?"],
            "Tells what the last call was for: version, transaction, objects (those that are gone are counted only), "
                + "properties, key path. Stays when the observation has ended.",
            example: """
                local token <close> = rex:observe(function() end)
                store:write(function() rex.age = 8 end)
                store:refresh()
                print(token:why().properties[1])  --> age
                """),
        .method(
            "stats", of: [token], ["(): table"],
            """
            Tells calls, coalesced commits, microseconds, where it was registered, and its cost. `last_us`, `mean_us` and \
            `max_us` are what the function took, `find_last_us`, `find_mean_us` and `find_max_us` what the store took before \
            it to find out what a commit had done, `findings` how often it did.
            """,
            example: """
                local token <close> = dogs:observe(function() end)
                store:refresh()
                print(token:stats().calls)  --> 1
                store:write(function() rex.age = 8 end)
                store:refresh()
                print(token:stats().findings)  --> 1
                """),
        .field("is_valid", of: [token], "boolean", "Whether the function may still be called."),
        .field("name", of: [token], "string?", "The name that was given for reports."),
    ]
}

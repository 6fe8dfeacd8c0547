extension HelpCatalog {
    /// The functions for observers, their options, and the members of tokens.
    static let observing: [HelpEntry] = [
        .method(
            "observe", of: [results, list, set, map, valuesType, mixedList, mixedMap],
            ["(body: fun(change: Change<T>), options?: ObserveOptions): Token"],
            "Registers a function that is called with the initial collection and after each change.",
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
            "Registers a function that is called when the object changes or is deleted.",
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
            ], "Registers a function that is called after every commit that the store receives.",
            errors: [.frozen, .invalidArgument, .closed],
            example: """
                local token <close> = store:observe(function(type) print(type) end)
                store:write(function() rex.age = 8 end)  --> did_change
                """),
        .method(
            "observe", of: [sectionsType],
            ["(body: fun(change: SectionChange), options?: ObserveOptions): Token"],
            "Registers a function that is called with the initial sections and after each change.",
            errors: [.alreadyInWrite, .frozen, .invalidArgument],
            example: """
                local token <close> = dogs:group_by("breed"):observe(function(change) print(change.type) end)
                store:refresh()  --> initial
                """),
        .field(
            "keypaths", of: [observeOptions], "string[]|string|nil",
            "Notifies only for changes of these key paths. Default: all properties, four levels of links deep."
        ),
        .field("name", of: [observeOptions], "string?", "The name of the observer in reports."),
        .field(
            "debounce", of: [observeOptions], "number?",
            "Debounces: notifies once no change has occurred for this many seconds."),
        .field(
            "throttle", of: [observeOptions], "number?",
            "Throttles: notifies at most once during this number of seconds."),
        .field(
            "once", of: [observeOptions], "boolean?",
            "Ends the observation with the first call that reports a change. The initial call does not count."
        ),
        .field(
            "on", of: [observeOptions], "Worker?",
            "Calls the function on the event loop of this worker. The function must not capture locals."
        ),
        .field(
            "initial", of: [observeOptions], "boolean?",
            "For observe_value: calls the function at the next delivery, with the present value and nil."
        ),
        .field(
            "prior", of: [observeOptions], "boolean?",
            "For observe_value: calls the function also before the store moves to a change, with nil, the old value and "
                + "true. The store still shows the old values and cannot be changed; before the commit of an own write, it "
                + "shows the new ones."),
        .method(
            "invalidate", of: [token], ["()"], "Unregisters the observer.",
            example: """
                local token = dogs:observe(function() end)
                token:invalidate()
                print(token.is_valid)  --> false
                """),
        .method(
            "why", of: [token], ["(): table?"],
            """
            Returns the cause of the last call: `version`, `previous_version`, `transaction`, `keypath`, and the changed \
            objects with their changed `properties`. These may be objects that a key path or condition leads to. `objects` \
            lists those that still exist, `count` counts all, and `causes` has `class`, `object` and `properties` of each. \
            Also works after the observer has ended.
            """,
            example: """
                local token <close> = rex:observe(function() end)
                store:write(function() rex.age = 8 end)
                store:refresh()
                print(token:why().properties[1])  --> age
                """),
        .method(
            "stats", of: [token], ["(): table"],
            """
            Returns the number of calls and of coalesced commits, times in microseconds, and the source location of the \
            registration. `last_us`, `mean_us` and `max_us` measure the function; `find_last_us`, `find_mean_us` and \
            `find_max_us` measure how long the store took to compute the changes, and `findings` counts these computations.
            """,
            example: """
                local token <close> = dogs:observe(function() end)
                store:refresh()
                print(token:stats().calls)  --> 1
                store:write(function() rex.age = 8 end)
                store:refresh()
                print(token:stats().findings)  --> 1
                """),
        .field("is_valid", of: [token], "boolean", "Whether the observer is still registered."),
        .field("name", of: [token], "string?", "The name of the observer in reports."),
    ]
}

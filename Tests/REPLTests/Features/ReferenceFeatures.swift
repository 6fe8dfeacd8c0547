extension Feature {
    /// Help, schemas, plans and suggestions.
    static let looking: [Feature] = [
        Feature("help with signature, text and example") { trial in
            try trial.run("help(store.objects)", shows: "store:objects(", "-->")
        },
        Feature("inspection of a function: parameters, location, comment") { trial in
            try trial.run("function added(a, b) return a + b end")
            try trial.run("help(added)", shows: "function (a, b), from entry")
        },
        Feature("the schema with numbers of objects") { trial in
            try trial.run(".schema", shows: "Dog 3")
            try trial.run(".classes", shows: "Dog")
        },
        Feature("a tutorial") { trial in
            try trial.run(".tutorial", shows: "1/10")
            try trial.run("6 * 7", shows: "42", "2/10")
            try trial.run(".tutorial off", shows: "ended")
        },
        Feature("suggestions for misspelled names") { trial in
            try trial.run("store:objects 'Dgo'", shows: "did you mean 'Dog'?")
            try trial.run(".histroy", shows: "did you mean .history?")
        },
        Feature("the plan of a query") { trial in
            try trial.run(".explain Dog where age > 1", shows: "scans 3 objects")
        },
        Feature("a list of the keys") { trial in
            try trial.run(".help shortcuts", shows: "Ctrl-R")
        },
    ]
}

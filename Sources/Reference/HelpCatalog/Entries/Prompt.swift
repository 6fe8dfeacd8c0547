extension HelpCatalog {
    /// The globals that exist only at the prompt.
    static let promptGlobals: [HelpEntry] = [
        .function(
            "help", of: prompt, ["(topic?: any)"],
            "Shows help on a name, a function, or a value.",
            example: """
                help "where"
                help(store.write)
                help(store)
                """),
        .field("_", of: [prompt], "any", "The last result. _1, _2 … are the results by number."),
    ]
}

extension Catalogue {
    /// What entries of the prompt can name and scripts cannot.
    static let promptGlobals: [CatalogueEntry] = [
        .function(
            "help", of: prompt, ["(topic?: any)"],
            "Shows what there is on a name, a function of the API, or a value.",
            example: """
                help "where"
                help(store.write)
                help(store)
                """),
        .field("_", of: [prompt], "any", "The last result; _1, _2 … are the numbered ones."),
    ]
}

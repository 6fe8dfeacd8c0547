extension HelpCatalog {
    /// The members of sections of results.
    static let sections: [HelpEntry] = [
        .method(
            "keys", of: [sectionsType], ["(): any[]"],
            "Returns the keys of the sections, in order.",
            example: """
                print(table.concat(dogs:group_by("breed"):keys(), " "))  --> boxer mutt
                """),
        .method(
            "objects", of: [sectionsType], ["(key: any): Results<T>"],
            "Returns the objects of a section as live results.", errors: [.typeMismatch],
            example: """
                print(dogs:group_by("breed"):objects("boxer")[1].name)  --> Max
                """),
        .method(
            "index_of", of: [sectionsType], ["(key: any): integer?"],
            "Returns the index of the section with a key, or nil.", errors: [.typeMismatch],
            example: """
                print(dogs:group_by("breed"):index_of("mutt"))  --> 2
                """),
    ]
}

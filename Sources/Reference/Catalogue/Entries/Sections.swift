extension Catalogue {
    /// Results in sections.
    static let sections: [CatalogueEntry] = [
        .method(
            "keys", of: [sectionsType], ["(): any[]"],
            "Gives the values of the sections, in order.",
            example: """
                print(table.concat(dogs:group_by("breed"):keys(), " "))  --> boxer mutt
                """),
        .method(
            "objects", of: [sectionsType], ["(key: any): Results<T>"],
            "Gives the objects that have a value, live.", errors: [.typeMismatch],
            example: """
                print(dogs:group_by("breed"):objects("boxer")[1].name)  --> Max
                """),
        .method(
            "index_of", of: [sectionsType], ["(key: any): integer?"],
            "Gives the position of a value's section, or nil.", errors: [.typeMismatch],
            example: """
                print(dogs:group_by("breed"):index_of("mutt"))  --> 2
                """),
    ]
}

extension Catalogue {
    /// The members of errors.
    static let errors: [CatalogueEntry] = [
        .field("code", of: [error], "string", "The error code, such as `not_in_write`."),
        .field("message", of: [error], "string", "What is wrong, and how to fix it."),
        .field(
            "where", of: [error], "string", "The file and line of the code that raised the error."),
    ]
}

extension Catalogue {
    /// What errors have.
    static let errors: [CatalogueEntry] = [
        .field("code", of: [error], "string", "What has happened, for programs: `not_in_write`."),
        .field("message", of: [error], "string", "What was wrong and what would be right."),
        .field("where", of: [error], "string", "File and line of the code that raised it."),
    ]
}

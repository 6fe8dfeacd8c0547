extension HelpCatalog {
    /// The members of errors.
    static let errors: [HelpEntry] = [
        .field("code", of: [error], "string", "The error code, such as `not_in_write`."),
        .field("message", of: [error], "string", "The cause of the error, and the solution."),
        .field(
            "where", of: [error], "string", "The file and line of the code that raised the error."),
    ]
}

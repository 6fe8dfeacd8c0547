import CPostgres

/// The library libpq, which is loaded when a program first connects to PostgreSQL.
enum PostgresLibrary {
    private struct Loaded: @unchecked Sendable {
        // The value is written once, before other threads can use it.
        let functions: PostgresFunctions?
    }

    private static let loaded: Loaded = {
        var functions = PostgresFunctions()
        return Loaded(functions: postgres_load(&functions) ? functions : nil)
    }()

    /// Whether the library is installed.
    static var isInstalled: Bool { loaded.functions != nil }

    /// Returns the functions of the library.
    ///
    /// Throws a `FormatError` with the name of the package to install.
    static func functions() throws -> PostgresFunctions {
        guard let functions = loaded.functions else {
            throw FormatError(
                "PostgreSQL needs the library libpq; install the Debian package libpq5, as in: "
                    + "apt-get install libpq5")
        }
        return functions
    }
}

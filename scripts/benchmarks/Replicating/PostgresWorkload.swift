import DataFormats
import Glibc
import ObjectStore
import PostgresConnections
import Transfer

/// W19: exports all people to PostgreSQL and imports them, beside the server's own `COPY` of the same rows through `psql`.
///
/// Without PostgreSQL its rows are missing.
enum PostgresWorkload {
    private static let exporting = perSecond("export to PostgreSQL", 333_000)
    private static let importing = perSecond("import from PostgreSQL", 333_000)
    private static let copyingIn = perSecond("COPY FROM by psql", nil)
    private static let copyingOut = perSecond("COPY TO by psql", nil)

    private static func perSecond(_ title: String, _ target: Double?) -> Row {
        Row(
            title: "W19 \(title), rows", unit: .perSecond,
            swift: target.map(Row.Target.atLeast))
    }

    private static let programs = (13...25).reversed().map { "/usr/lib/postgresql/\($0)/bin" }

    static func run(_ bench: Bench) throws {
        guard bench.options.includes(contestant: Report.swift),
            let postgres = ServerFolder.program(programs.map { "\($0)/postgres" }),
            PostgresConnection.isAvailable
        else { return }
        let folder = "\(bench.folder)/postgres"
        // The server refuses to run as root.
        let user = geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""
        let bin = postgres.dropLast("/postgres".count)
        let server = try ServerFolder(
            folder,
            """
            \(user) \(bin)/initdb -D data -U postgres -A trust --no-sync --locale=C.UTF-8 -E UTF8 || exit 1
            \(user) \(postgres) -D data -c listen_addresses= -k "$0" &
            """)
        defer { server.stop() }
        let address =
            "postgres://postgres@/postgres?host=\(folder.replacing("/", with: "%2F"))"
        let connection = try server.waitUntilReady { try PostgresConnection(address) }
        let full = try Store(
            StoreConfiguration(
                .file("\(bench.folder)/postgres-full.moonpool"), schema: SwiftContestant.schema,
                durability: .memory), scheduler: BenchmarkScheduler())
        defer { full.close() }
        try TransferWorkload.fill(full, bench.people)
        let count = bench.people.count
        func add(_ row: Row, _ step: (Int) throws -> Void) throws {
            try TransferWorkload.repeatEach(bench, row, of: Report.swift) { number in
                (try seconds { try step(number) }, count)
            }
        }
        try add(exporting) { _ in
            var options = ExportOptions()
            options.postgres.existingTables = .replace
            _ = try Exporter(.store(full), as: .postgres, options).write(to: address)
        }
        try add(importing) { number in
            let path = "\(bench.folder)/postgres-\(number).moonpool"
            let store = try Store(
                StoreConfiguration(.file(path)), scheduler: BenchmarkScheduler())
            _ = try Importer(into: store).read(address, as: .postgres)
            store.close()
        }
        let file = "\(folder)/people.copy"
        func psql(_ command: String) throws {
            let words = "psql -qX '\(address)' -c \"\(command)\""
            guard system(words) == 0 else { throw BenchmarkError("failed: \(words)") }
        }
        try add(copyingOut) { _ in
            try psql("\\copy \\\"Person\\\" to '\(file)' (format binary)")
        }
        try add(copyingIn) { _ in
            try connection.run(
                "DROP TABLE IF EXISTS copied; CREATE TABLE copied (LIKE \"Person\" INCLUDING ALL)")
            try psql("\\copy copied from '\(file)' (format binary)")
        }
    }
}

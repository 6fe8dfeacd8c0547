import Glibc
import OptionalProducts
import PostgresConnections
import Synchronization
import Testing
import Transfer

/// A PostgreSQL server for the tests of this process, on a socket in its own folder.
///
/// A shell ends the server when the process ends for any reason.
package final class PostgresServer: Sendable {
    /// Whether this program has PostgreSQL, and Debian's server and the client library are installed.
    package static let isInstalled: Bool = {
        OptionalProducts.register()
        return RowFormats.postgres.isAvailable && programs != nil && PostgresConnection.isAvailable
    }()

    package static let missing: Comment =
        "install postgresql and libpq5 to run this test: scripts/setup --servers"

    private static let programs: String? = {
        for version in stride(from: 25, through: 13, by: -1) {
            let folder = "/usr/lib/postgresql/\(version)/bin"
            if access("\(folder)/postgres", X_OK) == 0 { return folder }
        }
        return nil
    }()

    private static let shared = Mutex<PostgresServer?>(nil)
    private static let count = Mutex(0)

    private let folder: String
    private let control: Int32

    private init() throws {
        var template = Array("/tmp/moonpool-postgres-XXXXXX".utf8CString)
        folder = template.withUnsafeMutableBufferPointer {
            String(cString: mkdtemp($0.baseAddress!))
        }
        var prefix: [String] = []
        if geteuid() == 0, let user = getpwnam("postgres") {
            // The server refuses to run as root.
            chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
            prefix = [
                "setpriv", "--reuid=\(user.pointee.pw_uid)", "--regid=\(user.pointee.pw_gid)",
                "--clear-groups",
            ]
        }
        let script = """
            cd / && exec >"$1/out" 2>&1
            folder=$1 programs=$2; shift 2
            "$@" "$programs/initdb" -D "$folder/data" -U postgres -A trust --no-sync --locale=C.UTF-8 -E UTF8 || exit 1
            "$@" "$programs/postgres" -D "$folder/data" -c listen_addresses= -k "$folder" -F -c max_connections=60 &
            server=$!
            read -r line
            kill -QUIT "$server"; sleep 1; kill -KILL "$server"; wait "$server"
            rm -rf "$folder"
            """
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        control = ends[1]
        _ = fcntl(control, F_SETFD, FD_CLOEXEC)
        let words = ["sh", "-c", script, "sh", folder, Self.programs ?? ""] + prefix
        let arguments = (prefix.isEmpty ? words + ["env"] : words).map { strdup($0) } + [nil]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        var process: pid_t = 0
        var attributes = ServerProcess.attributes()
        posix_spawnp(&process, "sh", &actions, &attributes, arguments, environ)
        posix_spawnattr_destroy(&attributes)
        close(ends[0])
        try waitUntilReady()
    }

    private func waitUntilReady() throws {
        let start = ContinuousClock.now
        while true {
            do {
                _ = try PostgresConnection(address("postgres"))
                return
            } catch {
                guard ContinuousClock.now - start < .seconds(120) else { throw error }
                usleep(50_000)
            }
        }
    }

    private func address(_ database: String) -> String {
        "postgres://postgres@/\(database)?host=\(folder.replacing("/", with: "%2F"))"
    }

    /// Creates a database and returns its address.
    package static func makeDatabase() throws -> String {
        let server = try shared.withLock { shared in
            let server = try shared ?? PostgresServer()
            shared = server
            return server
        }
        let number = count.withLock { count in
            count += 1
            return count
        }
        try PostgresConnection(server.address("postgres")).run("CREATE DATABASE test_\(number)")
        return server.address("test_\(number)")
    }
}

/// A separate database for one test.
package struct PostgresWorld {
    package let address: String
    package let server: PostgresConnection

    package init(_ statements: String = "") throws {
        address = try PostgresServer.makeDatabase()
        server = try PostgresConnection(address)
        if !statements.isEmpty { try server.run(statements) }
    }

    /// Returns the rows of a query, with `|` between the columns.
    package func query(_ sql: String) throws -> [String] {
        try server.rows(sql).map { row in row.map { $0 ?? "NULL" }.joined(separator: "|") }
    }
}

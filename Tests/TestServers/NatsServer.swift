import Glibc
import OptionalProducts
import Replication
import Testing

/// A NATS server with JetStream for one test, on a loopback port and with its own folder.
///
/// A shell ends the server when the process ends for any reason.
package final class NatsServer {
    /// Whether this program has NATS, and Debian's server and the client library are installed.
    package static let isInstalled: Bool = {
        OptionalProducts.register()
        return CommitSinks.nats.isAvailable && program != nil && hasLibrary
    }()

    package static let missing: Comment =
        "install nats-server and libnats3.4 to run this test: scripts/setup --servers"

    private static let program: String? = {
        for path in ["/usr/sbin/nats-server", "/usr/bin/nats-server"] where access(path, X_OK) == 0
        {
            return path
        }
        return nil
    }()

    private static let hasLibrary: Bool = {
        for name in ["libnats.so.3.4", "libnats.so.3.7", "libnats.so.3.8", "libnats.so"] {
            if let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) {
                dlclose(library)
                return true
            }
        }
        return false
    }()

    /// The port that the server listens on.
    package private(set) var port: UInt16 = 0
    private let folder: String
    private let configuration: String
    private var control: Int32 = -1
    private var shell: pid_t = 0

    /// The address of the server.
    package var address: String { "nats://127.0.0.1:\(port)" }

    /// Starts a server and waits until it replies.
    ///
    /// `configuration` is in the form of a configuration file.
    package init(_ configuration: String = "") throws {
        self.configuration = configuration
        var template = Array("/tmp/moonpool-nats-XXXXXX".utf8CString)
        folder = template.withUnsafeMutableBufferPointer {
            String(cString: mkdtemp($0.baseAddress!))
        }
        // A free port may be taken by another test before the server listens on it.
        for attempt in 1... {
            port = Self.freePort()
            do {
                try start()
                return
            } catch let error as NotStarted {
                stop()
                guard error.isPortTaken, attempt < 20 else { throw error }
            }
        }
    }

    deinit {
        stop()
        _ = Self.spawn(["rm", "-rf", folder], input: 0).map { waitpid($0, nil, 0) }
    }

    /// Starts the server with its stored data.
    package func start() throws {
        // The shell reads from a pipe that closes with this process.
        let script = """
            "$@" >"$0/out" 2>&1 &
            server=$!
            read -r line
            kill -KILL "$server"; wait "$server"
            """
        unlink(folder + "/out")  // of the server before
        let file = folder + "/server.conf"
        guard let output = fopen(file, "w") else { throw NotStarted(isPortTaken: false, log: file) }
        fputs(configuration, output)
        fclose(output)
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        control = ends[1]
        _ = fcntl(control, F_SETFD, FD_CLOEXEC)
        shell =
            Self.spawn(
                [
                    "sh", "-c", script, folder, Self.program ?? "", "-c", file, "-js", "-sd",
                    folder + "/data", "-a", "127.0.0.1", "-p", "\(port)",
                ], input: ends[0]) ?? 0
        close(ends[0])
        let deadline = ContinuousClock.now + .seconds(300)
        while true {
            let log = Self.contents(of: folder + "/out")
            if log.contains("Server is ready") { return }
            let isPortTaken = log.contains("address already in use")
            // The server's output contains the reason for its end.
            guard !isPortTaken, !log.contains("[FTL]"), ContinuousClock.now < deadline else {
                throw NotStarted(isPortTaken: isPortTaken, log: log)
            }
            usleep(20_000)
        }
    }

    private struct NotStarted: Error {
        let isPortTaken: Bool
        let log: String
    }

    private static func contents(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Ends the server with SIGKILL.
    package func stop() {
        guard control >= 0 else { return }
        close(control)
        control = -1
        waitpid(shell, nil, 0)
    }

    static func spawn(_ words: [String], input: Int32) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        var process: pid_t = 0
        let arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var attributes = ServerProcess.attributes()
        defer { posix_spawnattr_destroy(&attributes) }
        return posix_spawnp(&process, words[0], &actions, &attributes, arguments, environ) == 0
            ? process : nil
    }

    private static func freePort() -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length)
                getsockname(socket, $0, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
    }

    static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

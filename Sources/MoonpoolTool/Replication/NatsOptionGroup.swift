import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Replication
import SystemCalls

/// The options for connecting to NATS.
struct NatsOptionGroup: ParsableArguments {
    @Option(help: "The name of the stream.")
    var stream: String?

    @Flag(help: "Stop when no server can be reached, instead of trying again.")
    var failFast = false

    @Option(help: "A file with credentials: a user's JWT and seed.", completion: .file())
    var credentials: String?

    @Option(help: "A token, unless the address has one: nats://TOKEN@host.")
    var token: String?

    @Option(help: "The user, unless the address has one: nats://user:password@host.")
    var user: String?

    @Option(help: "Read the token from this file at each connection.", completion: .file())
    var tokenFile: String?

    @Option(help: "The password of --user; --password-file keeps it out of scripts.")
    var password: String?

    @Option(
        help: "Read the password of --user from this file at each connection.",
        completion: .file())
    var passwordFile: String?

    @Option(
        help: "A file with the certificates to trust, for TLS.", completion: .file())
    var tlsCa: String?

    @Option(help: "A file with the certificate of this client, for TLS.", completion: .file())
    var tlsCert: String?

    @Option(help: "A file with the key of --tls-cert.", completion: .file())
    var tlsKey: String?

    /// Returns the name of the stream.
    ///
    /// Throws `invalid_argument` if the option is missing.
    func streamName() throws -> String {
        guard let stream else {
            throw StoreError(.invalidArgument, "add --stream NAME")
        }
        return stream
    }

    /// Returns the connection options for servers, which are separated by commas.
    func options(_ servers: String) throws -> NatsOptions {
        guard (tlsCert == nil) == (tlsKey == nil) else {
            throw StoreError(.invalidArgument, "use --tls-cert and --tls-key together")
        }
        var options = NatsOptions(servers)
        options.credentials = credentials
        options.token = token
        options.user = user
        options.password = password
        options.passwordFile = passwordFile
        options.tokenFile = tokenFile
        options.authority = tlsCa
        if let tlsCert, let tlsKey { options.certificate = .init(tlsCert, key: tlsKey) }
        try options.check()
        return options
    }
}

/// Runs replication commands and reports their events.
enum ReplicationCommand {
    /// Reports an event on standard error.
    static func report(_ text: String) { ProcessServices.writeError("moonpool: \(text)\n") }

    /// Runs the work.
    ///
    /// After an error, prints a line on standard error and exits with code 1.
    static func shown(_ work: () throws -> Void) throws {
        do {
            try CommandFailure.shown(work)
        } catch let error as ReplicationError {
            report(error.description)
            throw ExitCode(1)
        }
    }
}

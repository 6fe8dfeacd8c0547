/// The options of a connection to NATS servers.
package struct NatsOptions: Sendable, Hashable {
    /// The addresses of the servers of one cluster: `nats://host:4222`, `tls://host:4222`.
    package var servers: [String]
    /// A file with credentials: a user's JWT and seed.
    package var credentials: String?
    /// A token, unless the address has one.
    package var token: String?
    /// The user, unless the address has one.
    package var user: String?
    /// The user's password.
    package var password: String?
    /// The files with the password and the token, which each connection reads.
    package var passwordFile: String?
    package var tokenFile: String?
    /// A file with trusted certificates; implies TLS.
    package var authority: String?
    /// Files with the client's certificate and key; implies TLS.
    package var certificate: Certificate?

    /// The files of a client's certificate and key.
    package struct Certificate: Sendable, Hashable {
        package let file: String
        package let key: String

        package init(_ file: String, key: String) {
            self.file = file
            self.key = key
        }
    }

    /// Throws `fatal` for a secret that is given twice, or a password without a user.
    package func check() throws {
        for (name, text, file) in [
            ("password", password, passwordFile), ("token", token, tokenFile),
        ] where text != nil && file != nil {
            throw ReplicationError.fatal("the \(name) is given twice: as text and as a file")
        }
        if password ?? passwordFile != nil, user == nil {
            throw ReplicationError.fatal("the password needs the option 'user'")
        }
    }

    /// The addresses without users and passwords.
    package var display: String {
        servers.map { address in
            guard let at = address.lastIndex(of: "@") else { return address }
            let scheme = address.prefix { $0 != "/" }
            return "\(scheme)//\(address[address.index(after: at)...])"
        }.joined(separator: ",")
    }

    /// Returns whether a text is the address of a NATS server.
    package static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("nats://") || text.hasPrefix("tls://")
    }

    /// Creates options from the addresses of servers in one text, separated by commas.
    ///
    /// The scheme of the first address applies to others without a scheme: `nats://a,b,c`.
    package init(_ addresses: String) {
        let scheme = addresses.hasPrefix("tls://") ? "tls://" : "nats://"
        servers = addresses.split(separator: ",").enumerated().map { index, address in
            index == 0 || address.contains("://") ? String(address) : scheme + address
        }
    }
}

/// The time limits of a publisher or follower.
package struct ConnectionLimits: Sendable {
    /// The time without a message, a heartbeat or an answer after which the connection counts as lost.
    package var silence = Duration.seconds(10)
    /// The time limit for a connection to one server, and for a request.
    package var request = Duration.seconds(5)
    /// The maximum pause between two attempts.
    package var pause = Duration.seconds(5)

    package init() {}

    /// The limits of a cluster whose lease has a duration.
    ///
    /// Several attempts fit into the duration, so that a member which has lost its server, or asks while the servers elect
    /// a leader, is a candidate soon after another server responds.
    package init(lease span: Duration) {
        silence = span
        request = span / 6
        pause = span / 6
    }
}

/// The options of a publisher.
package struct PublisherOptions: Sendable {
    /// How a store that is not the stream's publisher becomes it.
    package enum Takeover: Sendable {
        /// The store follows the stream, and has its last commit.
        case promotion
        /// The stream loses its commits that the store does not have.
        case adoption
    }

    /// Make the store the stream's publisher; nil if it is.
    package var takeover: Takeover?
    /// The number of servers that store the stream, if the publisher creates it.
    package var replicas = 1
    /// Stop if no server can be reached, instead of trying again.
    package var failsFast = false
    /// Stop after all commits have been published.
    package var stopsAtEnd = false
    /// The number of commits between two snapshots.
    package var snapshotInterval = 100_000
    /// The number of the lease of the cluster's writer; nil outside of a cluster.
    package var lease: UInt64?
    package var limits = ConnectionLimits()

    package init() {}
}

/// The options of a follower.
package struct FollowerOptions: Sendable {
    /// Stop when no server can be reached, instead of trying again.
    package var failsFast = false
    /// Stop after the message that is the last one of the stream at the start.
    package var stopsAtEnd = false
    /// Replace a store that follows another stream or has another history.
    package var rebuilds = false
    /// Whether the store is a member of a cluster.
    package var isClustered = false
    package var limits = ConnectionLimits()

    package init() {}
}

/// The options of a member of a cluster.
package struct MemberOptions: Sendable {
    /// The number of servers that store the stream and the lease, if they are created; nil for 3 of 3 or more
    /// servers, otherwise 1.
    package var replicas: Int?
    /// The time without a renewal after which another member takes the lease.
    package var leaseDuration = Duration.seconds(3)
    /// The name of the member; nil for the names of the machine and the process.
    package var name: String?
    /// The number of commits between two snapshots.
    package var snapshotInterval = PublisherOptions().snapshotInterval

    package init() {}
}

/// The options of a publisher to a database.
package struct DatabaseOptions: Sendable {
    /// The schema of the database that holds the tables.
    package var schema = "public"
    /// Replace tables that already exist before the first step.
    package var replaces = false
    /// Write all objects again if the database has commits that the store does not have.
    package var adopts = false
    /// Stop if the database cannot be reached, instead of trying again.
    package var failsFast = false
    /// Stop after all commits have been published.
    package var stopsAtEnd = false

    package init() {}
}

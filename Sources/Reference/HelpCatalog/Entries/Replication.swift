extension HelpCatalog {
    /// The functions for publishing and following stores.
    static let replicating: [HelpEntry] =
        replicationMethods + replicationOptionFields + replicationFields

    private static let replicationMethods: [HelpEntry] = [
        .method(
            "publish", of: [store], ["(options: PublishOptions): Replication"],
            """
            Publishes the commits of the store to a stream of NATS JetStream, on a separate thread, until the store is \
            closed. Only a store in a file can be published, and by one process at a time.
            """,
            errors: [.invalidArgument, .alreadyInWrite, .readOnly, .closed],
            example: """
                local ok, err = pcall(store.publish, store, { url = "nats://localhost:4222", stream = "zoo" })
                print(err.code)  --> invalid_argument
                print(err.message:match("in%-memory"))  --> in-memory
                """),
        .method(
            "follow", of: [store], ["(options: FollowOptions): Replication"],
            """
            Makes the store follow a stream, on a separate thread, until the store is closed. Observers are notified of each \
            commit of the publisher; other writes to the store raise read_only. The store must not contain other objects.
            """,
            errors: [.invalidArgument, .alreadyInWrite, .readOnly, .closed],
            example: """
                local ok, err = pcall(store.follow, store, { url = "nats://localhost:4222", stream = "zoo" })
                print(err.code)  --> invalid_argument
                """),
        .field(
            "is_follower", of: [store], "boolean",
            "Whether the store follows a stream, so that only its follower can write."),
        .method(
            "stop", of: [replication], ["()"],
            "Stops publishing or following. A follower's store remains read-only.",
            example: """
                local function pause(replication)
                  replication:stop()
                  return replication.is_running
                end
                print(type(pause))  --> function
                """),
        .method(
            "wait", of: [replication], ["(seconds?: number): boolean"],
            """
            Waits until the stream contains all commits of the store, or the store has all commits of the stream. Returns false \
            if that takes longer than the given number of seconds, or 30.
            """,
            errors: [.closed],
            example: """
                local function sync(replication) return replication:wait(5) end
                print(type(sync))  --> function
                """),
    ]

    /// The option types for a connection to NATS.
    private static let connectionOptions = [
        publishOptions, followOptions, serveOptions, requestOptions,
    ]

    private static let replicationOptionFields: [HelpEntry] = [
        .field(
            "url", of: connectionOptions, "string",
            "The addresses of NATS servers, separated by commas: nats://host:4222 or tls://host:4222."
        ),
        .field(
            "stream", of: [publishOptions, followOptions], "string",
            "The name of the stream: letters, digits, '-' and '_'."),
        .field(
            "credentials", of: connectionOptions, "string?",
            "A file with a user's JWT and seed."),
        .field(
            "token", of: connectionOptions, "string?",
            "A token, unless the address has one."),
        .field(
            "user", of: connectionOptions, "string?",
            "The user, unless the address has one."),
        .field(
            "password", of: connectionOptions, "string?", "The user's password."),
        .field(
            "tls_ca", of: connectionOptions, "string?",
            "A file with trusted certificates, for TLS."),
        .field(
            "tls_cert", of: connectionOptions, "string?",
            "A file with the client's certificate, for TLS."),
        .field(
            "tls_key", of: connectionOptions, "string?",
            "A file with the key of tls_cert."),
        .field(
            "replicas", of: [publishOptions], "integer?",
            "The number of servers of a cluster that store the stream, if it is created. Default: 1."
        ),
        .field(
            "snapshot_every", of: [publishOptions], "integer?",
            "The number of commits after which another snapshot is published. Default: 100000."),
        .field(
            "acknowledged", of: [publishOptions], "boolean?",
            """
            Makes each write of the script wait until the stream contains it; after half a minute the write raises \
            limit_exceeded, and remains committed.
            """),
    ]

    private static let replicationFields: [HelpEntry] = [
        .field("role", of: [replication], "string", "The task: publisher or follower."),
        .field("stream", of: [replication], "string", "The stream that is published or followed."),
        .field(
            "is_running", of: [replication], "boolean",
            "Whether publishing or following continues; also true if no server can currently be reached."
        ),
        .field("is_connected", of: [replication], "boolean", "Whether a server is connected."),
        .field(
            "position", of: [replication], "integer",
            "The sequence number of the last message that the stream holds, or that was applied."),
        .field(
            "version", of: [replication], "integer",
            "The publisher's version after this message."),
        .field(
            "commits", of: [replication], "integer",
            "The number of commits and snapshots that were published or applied."),
        .field(
            "lag", of: [replication], "integer",
            "The number of versions that are not published, or of messages that are not applied."),
        .field("rate", of: [replication], "number", "Commits per second, over the last seconds."),
        .field(
            "last_error", of: [replication], "string?", "The last error; nil if there was none."),
    ]
}

import Replication

/// NATS as an optional sink of commits, and as a network for requests.
package struct NatsSink: CommitSink, RequestNetwork {
    package init() {}

    package func open(
        _ job: NatsJob, _ path: String, _ status: ReplicationStatus,
        report: @escaping (String) -> Void
    ) throws -> any ReplicationWork {
        switch job {
        case .publish(let servers, let stream, let options):
            try Publisher(
                path, servers, stream: stream, options: options, status: status, report: report)
        case .follow(let servers, let stream, let options):
            try Follower(
                path, servers, stream: stream, options: options, status: status, report: report)
        case .join(let servers, let stream, let options):
            try ClusterMember(
                path, servers, stream: stream, options: options, status: status, report: report)
        }
    }

    package func client(_ servers: NatsOptions) -> any RequestClient {
        NatsRequestClient(servers)
    }

    package func serve(
        _ servers: NatsOptions, subject: String, report: @escaping @Sendable (String) -> Void,
        handler: @escaping @Sendable (any ReceivedRequest) -> Void
    ) throws -> any RequestServer {
        try NatsRequestServer(servers, subject: subject, report: report, handler: handler)
    }
}

import ObjectStore

/// The stream that a store publishes or follows, and its progress, readable by any process.
package struct ReplicationReport: Sendable {
    /// Whether the store publishes or follows.
    package let role: ReplicationRole
    /// The name of the stream.
    package let stream: String
    /// The addresses of the servers, without passwords; empty if not known.
    package let servers: String
    /// `connected`, `disconnected` or `not running`.
    package let state: String
    /// The process that publishes or follows; 0 for none.
    package let process: UInt64
    /// The sequence number of the last message.
    package let sequence: UInt64
    /// The publisher's version after this message.
    package let version: UInt64
    /// The number of unpublished versions or unapplied messages; nil if unknown.
    package let lag: UInt64?
    /// Commits per second.
    package let rate: Double
    /// The number of messages that were ignored.
    package let skipped: UInt64
    /// The last error; nil if there was none.
    package let lastError: ReplicationStatus.Failure?
    /// The lease of the writer of the store's cluster; nil outside of a cluster.
    package let lease: ReplicationStatus.Lease?

    /// Returns the report of a store; nil for a store without replication.
    ///
    /// Reads one record of the store and one small file.
    package static func read(_ store: Store) throws -> ReplicationReport? {
        guard let record = try ReplicationRecord.read(store) else { return nil }
        let file = store.path.flatMap(StatusFile.read).flatMap {
            $0.text("role") == record.role.rawValue ? $0 : nil
        }
        let process = file?.number("process") ?? 0
        let isRunning =
            StatusFile.isRunning(process) && file.map { $0.text("state") != "ended" } ?? false
        let isFollower = record.role == .follower
        let version = isFollower ? record.version : file?.number("version") ?? 0
        let lag: UInt64? =
            isFollower
            ? (isRunning ? file?.number("lag") : nil)
            : file.map { _ in store.version - min(store.version, version) }
        return ReplicationReport(
            role: record.role, stream: record.stream, servers: file?.text("servers") ?? "",
            state: isRunning ? file?.text("state") ?? "" : "not running",
            process: isRunning ? process : 0,
            sequence: isFollower ? record.sequence : file?.number("sequence") ?? 0,
            version: version, lag: lag,
            rate: isRunning ? Double(file?.number("milli_rate") ?? 0) / 1000 : 0,
            skipped: file?.number("skipped") ?? 0, lastError: file.flatMap(lastError),
            lease: lease(store, file))
    }

    private static func lease(
        _ store: Store, _ file: JSONAnswer?
    ) -> ReplicationStatus.Lease? {
        switch store.writeAccess {
        case .everyStore, .follower: nil
        case .leaseHolder, .clusterFollower:
            ReplicationStatus.Lease(
                number: file?.number("lease") ?? 0, holder: file?.text("lease_holder") ?? "",
                isValid: store.hasLease)
        }
    }

    private static func lastError(_ file: JSONAnswer) -> ReplicationStatus.Failure? {
        let message = file.text("error")
        guard !message.isEmpty, let time = Timestamp(file.text("error_time")) else {
            return nil
        }
        return ReplicationStatus.Failure(
            message: message, time: time,
            recovery: Timestamp(file.text("error_recovery")))
    }

    /// The report as names and values.
    package var rows: [(name: String, value: String)] {
        let unit = role == .publisher ? "version" : "message"
        let target = servers.isEmpty ? stream : "\(stream) at \(servers)"
        let counted = lag.map { "\($0) \(unit)\($0 == 1 ? "" : "s")" }
        let tenths = Int((rate * 10).rounded())
        let member = lease.map { lease -> (String, String) in
            let holder = "lease \(lease.number) of '\(lease.holder)'"
            return ("cluster", lease.isValid ? "writer, \(holder)" : "not the writer; \(holder)")
        }
        return [
            (role == .publisher ? "publishes to" : "follows", target),
            ("state", process == 0 ? state : "\(state), process \(process)"), member,
            ("position", "version \(version), message \(sequence)"),
            ("lag", counted ?? "unknown"),
            ("rate", "\(tenths / 10).\(tenths % 10) commits/s"),
            ("skipped", "\(skipped) message\(skipped == 1 ? "" : "s")"),
            ("last error", lastError?.summary ?? "none"),
        ].compactMap { $0 }
    }
}

import DataFormats
import ObjectStore

/// The role of a store in replication.
package enum ReplicationRole: String, Sendable {
    case publisher, follower
}

/// The last commit that a stream or a database has.
struct StreamEnd {
    let lineage: String
    let version: UInt64
    /// The identity of the commit; empty if it is unknown.
    let commit: String
}

/// The file's record of the store's role in replication.
struct ReplicationRecord: Equatable {
    var role: ReplicationRole
    /// The identity of the data; all copies have the same one.
    var identity: String
    /// The identity of the sequence of versions that is published; each promotion begins a new one.
    var lineage: String
    var stream: String
    /// For a follower, and a publisher that was one: the last message that it has applied, and the publisher's version
    /// and commit after it.
    var sequence: UInt64 = 0
    var version: UInt64 = 0
    var commit = ""
    /// For a publisher that was promoted: the lineage that it followed before.
    var previousLineage = ""

    /// Reads the record of a store; nil for a store that has never been replicated.
    static func read(_ store: Store) throws -> ReplicationRecord? {
        guard let bytes = try store.replicationRecord(), !bytes.isEmpty else { return nil }
        let answer = try JetStream.Answer(bytes)
        guard let role = ReplicationRole(rawValue: answer.text("role")) else { return nil }
        return ReplicationRecord(
            role: role, identity: answer.text("identity"), lineage: answer.text("lineage"),
            stream: answer.text("stream"), sequence: answer.number("sequence"),
            version: answer.number("version"), commit: answer.text("commit"),
            previousLineage: answer.text("previous"))
    }

    /// Returns the record of a publishing store, and creates the record if it does not exist.
    ///
    /// Throws `ReplicationError.fatal` for a follower.
    static func publisher(
        _ store: Store, _ path: String, _ stream: String
    ) throws -> ReplicationRecord {
        if let record = try read(store) {
            guard record.role == .publisher else {
                throw ReplicationError.fatal(
                    "'\(path)' follows the stream '\(record.stream)'; make it the publisher with "
                        + "moonpool follow … --promote")
            }
            return record
        }
        let record = ReplicationRecord(
            role: .publisher, identity: UUIDValue.random().description,
            lineage: UUIDValue.random().description, stream: stream)
        try store.write { try record.write(to: store, changesRole: true) }
        return record
    }

    /// Returns whether a store has the last commit of a stream, of this lineage or of the one before it.
    ///
    /// A promoted follower has the commits up to the last message that it has applied. If the history of the store no
    /// longer contains the version, the store counts as having it in this lineage; followers then get a snapshot.
    func continues(_ last: StreamEnd, in store: Store) throws -> Bool {
        let own = try store.view.commitIdentity(of: last.version)
        if last.version <= store.version, own == last.commit, !own.isEmpty { return true }
        guard last.lineage == lineage else {
            return last.version < version || last.version == version && last.commit == commit
        }
        return last.version <= store.version && (own.isEmpty || last.commit.isEmpty)
    }

    /// The error for a target that has commits which the store does not have.
    static func secondHistory(_ target: String, _ last: StreamEnd) -> ReplicationError {
        .fatal(
            "\(target) has commits up to version \(last.version) that the store does not have: the store was restored from "
                + "an older copy, or is one; replace it by a follower, or drop these commits with moonpool publish … "
                + "--adopt, which begins a new lineage with all objects of the store")
    }

    /// Sets the record in the open write transaction.
    func write(to store: Store, changesRole: Bool) throws {
        var json = JSONWriter()
        json.beginObject()
        for (name, text) in [
            ("role", role.rawValue), ("identity", identity), ("lineage", lineage),
            ("stream", stream), ("commit", commit), ("previous", previousLineage),
        ] {
            json.key(name)
            json.string(text)
        }
        json.member("sequence", sequence)
        json.member("version", version)
        json.endObject()
        try store.setReplicationRecord(
            json.bytes, isFollower: role == .follower, changesRole: changesRole)
    }

    /// Ends replication in the open write transaction.
    static func remove(from store: Store) throws {
        try store.setReplicationRecord([], isFollower: false, changesRole: true)
    }
}

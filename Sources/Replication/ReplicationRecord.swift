import DataFormats
import ObjectStore

/// The role of a store in replication.
package enum ReplicationRole: String, Sendable {
    case publisher, follower
}

/// The file's record of the store's role in replication.
struct ReplicationRecord: Equatable {
    var role: ReplicationRole
    /// The identity of the data; all copies have the same one.
    var identity: String
    /// The identity of the sequence of versions that one file publishes; each promotion begins a new one.
    var lineage: String
    /// The location of the file when it began its lineage; a copy has another location.
    var origin: String
    var stream: String
    /// For a follower: the last message that it has applied, and the publisher's version after it.
    var sequence: UInt64 = 0
    var version: UInt64 = 0
    /// For a publisher that was promoted: the lineage that it followed before.
    var previousLineage = ""

    /// Reads the record of a store; nil for a store that has never been replicated.
    static func read(_ store: Store) throws -> ReplicationRecord? {
        guard let bytes = try store.replicationRecord(), !bytes.isEmpty else { return nil }
        let answer = try JetStream.Answer(bytes)
        guard let role = ReplicationRole(rawValue: answer.text("role")) else { return nil }
        return ReplicationRecord(
            role: role, identity: answer.text("identity"), lineage: answer.text("lineage"),
            origin: answer.text("origin"), stream: answer.text("stream"),
            sequence: answer.number("sequence"), version: answer.number("version"),
            previousLineage: answer.text("previous"))
    }

    /// Returns the record of a publishing store, and creates the record if it does not exist.
    ///
    /// Throws `ReplicationError.fatal` for a follower, and for a copy of a publishing store.
    static func publisher(
        _ store: Store, _ path: String, _ stream: String
    ) throws -> ReplicationRecord {
        let origin = FileOrigin.of(path)
        if let record = try read(store) {
            guard record.role == .publisher else {
                throw ReplicationError.fatal(
                    "'\(path)' follows the stream '\(record.stream)'; make it the publisher with "
                        + "moonpool follow … --promote")
            }
            guard record.origin == origin else {
                throw ReplicationError.fatal(
                    "'\(path)' is a copy of a store that publishes, and may differ from it; use "
                        + "moonpool publish … --new-lineage if the original no longer publishes")
            }
            return record
        }
        let record = ReplicationRecord(
            role: .publisher, identity: UUIDValue.random().description,
            lineage: UUIDValue.random().description, origin: origin, stream: stream)
        try store.write { try record.write(to: store, changesRole: true) }
        return record
    }

    /// Sets the record in the open write transaction.
    func write(to store: Store, changesRole: Bool) throws {
        var json = JSONWriter()
        json.beginObject()
        for (name, text) in [
            ("role", role.rawValue), ("identity", identity), ("lineage", lineage),
            ("origin", origin), ("stream", stream), ("previous", previousLineage),
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

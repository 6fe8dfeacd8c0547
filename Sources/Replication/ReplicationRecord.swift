import DataFormats
import ObjectStore

/// The role of a store in replication.
package enum ReplicationRole: String, Sendable {
    case publisher, follower
}

/// The file's record of the store's role in replication.
package struct ReplicationRecord: Equatable {
    package var role: ReplicationRole
    /// The identity of the data; all copies have the same one.
    package var identity: String
    package var stream: String
    /// For a follower: the last message that it has applied, and the publisher's version and commit after it.
    ///
    /// The commit is empty if the message has none, because an older build has published it.
    package var sequence: UInt64 = 0
    package var version: UInt64 = 0
    package var commit = ""

    package init(
        role: ReplicationRole, identity: String, stream: String, sequence: UInt64 = 0,
        version: UInt64 = 0, commit: String = ""
    ) {
        self.role = role
        self.identity = identity
        self.stream = stream
        self.sequence = sequence
        self.version = version
        self.commit = commit
    }

    /// Reads the record of a store; nil for a store that has never been replicated.
    package static func read(_ store: Store) throws -> ReplicationRecord? {
        guard let bytes = try store.replicationRecord(), !bytes.isEmpty else { return nil }
        let answer = try JSONAnswer(bytes)
        guard let role = ReplicationRole(rawValue: answer.text("role")) else { return nil }
        return ReplicationRecord(
            role: role, identity: answer.text("identity"), stream: answer.text("stream"),
            sequence: answer.number("sequence"), version: answer.number("version"),
            commit: answer.text("commit"))
    }

    /// Returns the record of a publishing store, and creates the record if it does not exist.
    ///
    /// Afterward, the newest commit has an identity. Throws `ReplicationError.fatal` for a follower.
    package static func publisher(
        _ store: Store, _ path: String, _ stream: String, isClustered: Bool
    ) throws -> ReplicationRecord {
        let known = try read(store)
        guard known?.role != .follower else {
            throw ReplicationError.fatal(
                "'\(path)' follows the stream '\(known?.stream ?? "")'; make it the publisher with "
                    + "moonpool follow … --promote")
        }
        let record =
            known
            ?? ReplicationRecord(
                role: .publisher, identity: UUIDValue.random().description, stream: stream)
        if try known == nil || isClustered && store.writeAccess != .leaseHolder
            || store.view.commitIdentity(of: store.version).isEmpty
        {
            try store.write {
                try record.write(to: store, changesRole: true, isClustered: isClustered)
            }
        }
        return record
    }

    /// The error for a target whose last commit the store does not have.
    ///
    /// The commit is empty if an older build has published it.
    package static func secondHistory(
        _ target: String, _ version: UInt64, _ commit: String
    ) -> ReplicationError {
        guard !commit.isEmpty else {
            return .fatal(
                "an older build of Moonpool has published to \(target), without the identities of commits; if this store "
                    + "is its publisher, continue with all objects of the store: moonpool publish … --adopt"
            )
        }
        return .replaced(
            "\(target) has commits up to version \(version) that the store does not have: another copy of the store has "
                + "published them, or the store was restored from an older copy. Replace the store by a follower with moonpool "
                + "follow … --rebuild, or drop these commits with moonpool publish … --adopt")
    }

    /// Returns whether a follower has applied a version of the publisher with a commit.
    package func isAt(_ version: UInt64?, _ commit: String?) -> Bool {
        guard let commit, !commit.isEmpty, !self.commit.isEmpty else {
            return self.version == version
        }
        return self.commit == commit
    }

    /// Sets the record in the open write transaction.
    package func write(to store: Store, changesRole: Bool, isClustered: Bool) throws {
        var json = JSONWriter()
        json.beginObject()
        for (name, text) in [
            ("role", role.rawValue), ("identity", identity), ("stream", stream), ("commit", commit),
        ] {
            json.member(name, text)
        }
        json.member("sequence", sequence)
        json.member("version", version)
        json.endObject()
        try store.setReplicationRecord(
            json.bytes, Self.access(role, isClustered), changesRole: changesRole)
    }

    /// The stores that may write to a file with a role.
    package static func access(_ role: ReplicationRole, _ isClustered: Bool) -> WriteAccess {
        switch role {
        case .publisher: isClustered ? .leaseHolder : .everyStore
        case .follower: isClustered ? .clusterFollower : .follower
        }
    }

    /// Turns a follower into an ordinary store.
    package static func detach(_ path: String) throws {
        let store = try Store(StoreConfiguration(.file(path)), scheduler: ReplicationThread())
        defer { store.close() }
        guard
            try read(store)?.role == .follower
                || store.writeAccess == .leaseHolder
        else {
            throw ReplicationError.fatal("'\(path)' does not follow a stream")
        }
        store.isReplicating = true
        try store.write { try store.setReplicationRecord([], .everyStore, changesRole: true) }
        StatusFile.remove(path)
    }
}

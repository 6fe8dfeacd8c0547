import ColumnStorage
import SystemCalls

// The parts of a store for replication: changes since a version, objects with given keys, the schema with its table and
// column numbers, and a record of the source.

/// The stores that may write to a file.
package enum WriteAccess: UInt8, Sendable {
    /// Every store of every process.
    case everyStore = 0
    /// Only the store that applies the commits of a stream.
    case follower = 1
    /// Every store, while the cluster's lease belongs to the file.
    case leaseHolder = 2
    /// Only the store that applies the commits of a cluster's writer.
    case clusterFollower = 3
}

extension Store {
    /// Returns the changes since a version; nil if the history does not reach back that far.
    ///
    /// Only the newer version can be read, and ``VersionChange/older`` is the same version, in time proportional to the
    /// changes. With `readsOlder`, both can be read, which takes the time and has the errors of ``at(_:for:)``. Throws
    /// `closed`, `wrong_thread`, `file_corrupt`.
    package func replicatedChanges(
        since version: UInt64, readsOlder: Bool = false
    ) throws -> VersionChange? {
        try check()
        let newer = try frozenView()
        guard version <= newer.version else { return nil }
        let changes = try StoreError.wrapping(
            view.snapshot.changes(from: version, to: newer.version))
        guard let changes else { return nil }
        let older = readsOlder ? try at(version) : newer
        return VersionChange(VersionStep(from: older, to: newer, changes: changes))
    }

    // MARK: Record

    private static var recordName: String { "replication" }
    /// The name of the metadata that marks a file as a follower of a stream.
    private static var followerName: String { "follower" }

    /// Returns the record of replication; nil for a store that has never been replicated.
    package func replicationRecord() throws -> [UInt8]? {
        try check()
        return try StoreError.wrapping(view.snapshot.metadata(Self.recordName))
    }

    /// Sets the record of replication in the open write transaction.
    ///
    /// `changesRole` makes other stores of the file check again whether they may write, because only the replicating
    /// store of a follower may write.
    package func setReplicationRecord(
        _ bytes: [UInt8], _ access: WriteAccess, changesRole: Bool
    ) throws {
        try requireNoTransition()
        let session = try writer(changing: "the replication record").session
        try StoreError.wrapping { () throws(StorageError) in
            try session.setMetadata(Self.recordName, bytes, effect: .none)
            if access == .everyStore || access == .leaseHolder { try session.keepIdentities() }
            if changesRole {
                try session.setMetadata(
                    Self.followerName, access == .everyStore ? [] : [access.rawValue],
                    effect: .reload)
            }
        }
        if changesRole { writeAccess = access }
    }

    /// Returns the newest version with the commit of an identity; nil if the store does not have the commit.
    ///
    /// A version of a follower has the identity of the publisher's commit. Takes time in proportion to the later commits.
    /// Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func version(ofCommit identity: String) throws -> UInt64? {
        try check()
        guard let wanted = CommitIdentity(identity) else { return nil }
        var found: UInt64?
        try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.forEachIdentity { version, identity in
                if identity == wanted { found = version }
                return found == nil
            }
        }
        return found
    }

    /// Returns the identity for a commit that is published before it is committed.
    package static func newCommitIdentity() -> String { CommitIdentity.random().description }

    /// Gives the commit of the open write transaction an identity, instead of a new one.
    ///
    /// Ignores a text that is not an identity. Throws `not_in_write`, `closed`, `wrong_thread`.
    package func setCommitIdentity(_ identity: String) throws {
        try requireWrite("the identity of the commit").givenIdentity = CommitIdentity(identity)
    }

    /// Reads which stores may write to the file.
    func readRole() throws {
        let mark = try StoreError.wrapping(view.snapshot.metadata(Self.followerName))
        writeAccess = mark?.first.map { WriteAccess(rawValue: $0) ?? .follower } ?? .everyStore
    }

    /// Throws `read_only` or `not_writer` if another store writes to the file.
    func checkRole() throws {
        guard writeAccess != .everyStore, !isReplicating else { return }
        switch writeAccess {
        case .everyStore: return
        case .follower:
            throw StoreError(
                .readOnly,
                "\(title) follows a stream and cannot be written; write to the publisher, or end following with: "
                    + "moonpool follow STORE --detach")
        case .clusterFollower:
            throw StoreError(
                .notWriter,
                "another member of the cluster of \(title) is the writer; use store:remote_write, or end the membership "
                    + "with: moonpool follow STORE --detach")
        case .leaseHolder:
            guard !hasLease else { return }
            throw StoreError(
                .notWriter,
                "the lease of \(title) has ended, because its member of the cluster is not running or does not reach the "
                    + "servers; try again, use store:remote_write, or end the membership with: moonpool follow STORE --detach"
            )
        }
    }

    /// Whether the file can be written now; false if another store must write.
    package var isWriter: Bool {
        switch writeAccess {
        case .everyStore: !isReadOnly
        case .leaseHolder: !isReadOnly && hasLease
        case .follower, .clusterFollower: false
        }
    }

    /// Whether the lease of the file's cluster can be used for writing.
    package var hasLease: Bool { path.map { DeadlineFile.isPending(Self.leaseFile($0)) } ?? false }

    /// The path of the file that contains the end of the lease of a cluster's writer.
    package static func leaseFile(_ store: String) -> String { store + "-lease" }

    // MARK: Schema

    /// Returns the schema with the numbers of its tables and columns, which identify renamed ones.
    package func schemaCatalog() -> [UInt8] { SchemaCatalog.encode(view.schema) }

    /// Adopts the schema of another store in the open write transaction, with the same table and column numbers.
    ///
    /// Renamed classes and properties keep their values; values of removed ones are lost. Throws `file_format_too_new`,
    /// `file_corrupt`, and the errors of a write.
    package func adoptSchemaCatalog(_ bytes: [UInt8]) throws {
        let session = try writer(changing: "the schema").session
        let schema = try SchemaCatalog.decode(bytes, of: view.snapshot.file)
        let removed = view.schema.classes.filter { schema.find(table: $0.table) == nil }
        let tables = schema.classes.map { schema.tableDefinition(of: $0) }
        for table in tables where view.snapshot.definition(of: table.id) != table {
            try StoreError.wrapping(session.define(table))
        }
        adoptInWrite(schema)
        for classSchema in removed {
            try StoreError.wrapping(session.removeTable(classSchema.table))
        }
        try writeCatalog(bytes, session)
    }

    // MARK: Objects

    /// Whether any class has an object.
    package var hasObjects: Bool {
        get throws { try view.schema.classes.contains { try view.table($0).count > 0 } }
    }

    /// Creates an object with a given key, and returns false if the key exists.
    ///
    /// The values are in schema order. A missing value (nil) becomes zero, nil or an empty collection; defaults do not
    /// apply. With `replacingOthers`, an existing object gets the primary key, which the caller later takes from any other
    /// object. Throws `not_in_write`, `duplicate_key`, `type_mismatch`.
    package func create(
        _ classSchema: ClassSchema, at key: ObjectKey, positional values: [Value?],
        replacingOthers: Bool = false
    ) throws -> Bool {
        let writer = try writer(changing: "'\(classSchema.name)'")
        let primary = classSchema.primaryKeyPosition.flatMap { position in
            values[position].map { (classSchema.properties[position], $0) }
        }
        if let (_, value) = primary, !replacingOthers,
            let existing = try object(classSchema.name, primaryKey: value), existing.key != key
        {
            throw StoreError(
                .duplicateKey,
                "'\(classSchema.name)' already has an object with the primary key \(value.summary)")
        }
        let isNew = try StoreError.wrapping(writer.session.insert(classSchema.table, at: key))
        guard isNew else {
            if let (property, value) = primary, replacingOthers,
                try view.value(property, of: key, in: classSchema) != value
            {
                try writer.write(
                    ValueConversion.stored(value, property, classSchema), to: property, of: key,
                    in: classSchema)
            }
            return false
        }
        for (property, value) in zip(classSchema.properties, values) where !property.isBacklinks {
            var given = value
            if given == nil, property.isSingle, property.type != .object, property.type != .mixed {
                given = property.isOptional ? .null : property.type.zero
            }
            guard let given else { continue }
            try writer.write(
                ValueConversion.stored(given, property, classSchema), to: property, of: key,
                in: classSchema)
        }
        return true
    }
}

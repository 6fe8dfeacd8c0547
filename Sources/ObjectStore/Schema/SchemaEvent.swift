import ColumnStorage

/// A committed change of a store's schema, as every program receives it that has the store open.
///
///     let token = try store.observe { notification, store in
///         if notification == .schema { print(store.lastSchemaEvent?.version ?? 0) }
///     }
public struct SchemaEvent: Hashable, Sendable {
    /// The number of the migration that changed the schema; nil for a change without a numbered migration, and for the
    /// reversal of one.
    public let number: Int?
    /// The name of the migration; nil without a number.
    public let name: String?
    /// The schema version of the program after the change.
    public let version: UInt64
    /// What has happened.
    public let kind: Kind

    /// The kinds of changes of a schema.
    public enum Kind: String, Sendable {
        /// A migration has started; programs of the old version continue to work.
        case started
        /// All objects are converted, and programs of both versions can use the file.
        case both
        /// A started migration is complete, and the old version is gone.
        case completed
        /// A started migration was aborted, and the new version is gone.
        case aborted
        /// The schema has changed at once.
        case changed
    }

    /// Creates the event of the last change that a version received after the version `since`.
    init(
        _ view: StoreView, since: UInt64, from before: SchemaTransition?,
        to after: SchemaTransition?
    ) throws {
        version = view.schema.version
        if let started = after ?? before {
            number = started.number
            name = started.name
            kind =
                switch after {
                case let after?: after.isReady ? .both : .started
                case nil: started.new.version == version ? .completed : .aborted
                }
            return
        }
        kind = .changed
        let migration = try MigrationLog.read(view.snapshot).entries.last {
            $0.version > since && UInt64(max($0.number, 0)) == view.schema.version
        }
        number = migration?.number
        name = migration?.name
    }

    /// The origin of a change, for messages.
    var origin: String {
        number.map { "migration \($0) (\(name ?? ""))" } ?? "schema version \(version)"
    }
}

/// The names that a schema has lost while a store was open.
struct LostNames: Sendable {
    private var events: [String: SchemaEvent] = [:]

    /// Records the names that are not in a schema after an event.
    mutating func add(_ names: some Sequence<String>, _ event: SchemaEvent) {
        for name in names { events[name] = event }
    }

    /// Returns the words for a message that a name is unknown; empty for a name that the schema did not have.
    func since(_ name: String) -> String { events[name].map { " since \($0.origin)" } ?? "" }

    var isEmpty: Bool { events.isEmpty }
}

extension Schema {
    /// Returns the schema with a record of the names that another one has and this one lacks.
    func following(_ old: Schema, _ event: SchemaEvent) -> Schema {
        var lost = old.lost
        lost.add(old.classes.map(\.name).filter { find($0) == nil }, event)
        let followed = classes.map { classSchema in
            guard let before = old.find(table: classSchema.table) else { return classSchema }
            var lost = before.lost
            lost.add(
                before.properties.map(\.name).filter { classSchema.property(named: $0) == nil },
                event)
            return lost.isEmpty ? classSchema : classSchema.recording(lost)
        }
        return Schema(classes: followed, version: version, nextTable: nextTable, lost: lost)
    }
}

import ColumnStorage

/// The change from a file's schema to a requested one.
struct SchemaChange {
    /// The kinds of changes that are allowed.
    enum Allowance {
        /// New classes and indexes; all other changes need a new schema version.
        case sameVersion
        /// New classes, indexes and properties; a change that loses data is refused.
        case additive
        /// All changes; data that the new schema does not declare is dropped.
        case newVersion
    }

    /// The information about a migration that the two schemas do not contain.
    struct Circumstances {
        /// The renamed classes and properties.
        var renames = SchemaRenames()
        /// The old names of the removed classes.
        var removed: Set<String> = []
        /// Whether both schemas will be in use, so that a property with other nil values needs a column of its own.
        var isTransition = false
        /// The schema that the open migration has reached; its columns may already contain values.
        var interim: Schema?
    }

    /// The schema after the change.
    let schema: Schema
    /// The classes whose tables are new or changed.
    let changed: [ClassSchema]
    /// The differences, in the order of the classes.
    let differences: [SchemaDifference]
    /// Whether the schemas differ, including defaults.
    let isNeeded: Bool

    /// Computes the change.
    ///
    /// Classes of the file that are neither requested nor removed do not change. Throws `migration_needed` with every
    /// difference that is not allowed.
    init(
        from current: Schema, to wanted: [ClassSchema], version: UInt64, allowing: Allowance,
        _ circumstances: Circumstances = Circumstances()
    ) throws {
        try SchemaValidation.checkLimits(wanted)
        var planner = SchemaPlanner(from: current, circumstances)
        var classes: [ClassSchema] = []
        for classSchema in wanted.sorted(by: { $0.name < $1.name }) {
            try StoreError.step(1024)
            classes.append(planner.plan(classSchema))
        }
        classes += planner.planUnnamed(besides: wanted)
        differences = planner.differences
        let refused = differences.filter { difference in
            switch allowing {
            case .sameVersion: difference.needsNewVersion
            case .additive: !difference.isAdditive
            case .newVersion: false
            }
        }
        if !refused.isEmpty {
            // A wrong declaration, such as that of a misspelled type, is the better error.
            try SchemaValidation.check(classes)
            throw Self.refusal(refused, allowing)
        }
        try StoreLimits.check(classes, nextTable: planner.nextTable)
        schema = Schema(classes: classes, version: version, nextTable: planner.nextTable)
        changed = classes.filter { $0 != current.find(table: $0.table) }
        isNeeded =
            !changed.isEmpty || version != current.version
            || classes.count != current.classes.count
    }

    private static func refusal(
        _ refused: [SchemaDifference], _ allowance: Allowance
    ) -> StoreError {
        let list = refused.map { "- \($0)" }.joined(separator: "\n")
        let define =
            "define only adds classes, properties and indexes; pass { force = true } or a "
            + "migration function to allow data loss"
        return StoreError(
            .migrationNeeded, "the schema needs a migration",
            program: "open the store with a higher version to allow changes:\n\(list)",
            script: allowance == .additive
                ? "\(define):\n\(list)"
                : "open the store with a higher schema_version to allow changes:\n\(list)")
    }
}

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

    /// Creates the event of a change after the version `since` to a schema.
    init(
        _ schema: Schema, in snapshot: Snapshot, since: UInt64, from before: SchemaTransition?,
        to after: SchemaTransition?
    ) throws {
        version = schema.version
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
        let migration = try MigrationLog.read(snapshot).entries.last {
            $0.version > since && UInt64(max($0.number, 0)) == schema.version
        }
        number = migration?.number
        name = migration?.name
    }

    /// The origin of a change, for messages; `define` does not change the version.
    func origin(from before: UInt64) -> String {
        if let number { return "migration \(number) (\(name ?? ""))" }
        return version == before ? "the schema was changed" : "schema version \(version)"
    }
}

/// The names that a schema has lost while a store was open.
struct LostNames: Sendable {
    private var origins: [String: String] = [:]

    /// Records the names that are not in a schema after a change.
    mutating func add(_ names: some Sequence<String>, _ origin: String) {
        for name in names { origins[name] = origin }
    }

    /// Returns the words for a message that a name is unknown; empty for a name that the schema did not have.
    func since(_ name: String) -> String { origins[name].map { " since \($0)" } ?? "" }

    var isEmpty: Bool { origins.isEmpty }
}

extension Schema {
    /// Returns the schema with a record of the names that another one has and this one lacks.
    func following(_ old: Schema, _ event: SchemaEvent) -> Schema {
        let origin = event.origin(from: old.version)
        var lost = old.lost
        lost.add(old.classes.map(\.name).filter { find($0) == nil }, origin)
        let followed = classes.map { classSchema in
            guard let before = old.find(table: classSchema.table) else { return classSchema }
            var lost = before.lost
            lost.add(
                before.properties.map(\.name).filter { classSchema.property(named: $0) == nil },
                origin)
            return lost.isEmpty ? classSchema : classSchema.recording(lost)
        }
        return Schema(classes: followed, version: version, nextTable: nextTable, lost: lost)
    }
}

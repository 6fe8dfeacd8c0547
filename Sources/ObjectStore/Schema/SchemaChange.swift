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
        if !refused.isEmpty { throw Self.refusal(refused, allowing) }
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

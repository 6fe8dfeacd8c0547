import ColumnStorage

/// The checks at the end of a change of the schema.
struct MigrationCheck {
    private let store: Store
    private let session: WriteSession
    private let before: Schema
    private let isComplete: Bool

    /// Creates the checks; unless `isComplete` is true, they read only the classes that the session touched.
    init(_ store: Store, _ session: WriteSession, from before: Schema, isComplete: Bool) {
        self.isComplete = isComplete
        self.store = store
        self.session = session
        self.before = before
    }

    /// Throws if the data does not satisfy the new schema.
    ///
    /// The codes are `invalid_value` if a value breaks a new rule, `duplicate_key` if objects share a unique value, `missing_value` if an object has no value for a
    /// required property, and `invalid_object` if an object of a class that became embedded does not have exactly one
    /// parent. Deletes embedded objects whose parent lost the property that contained them.
    func check() throws {
        for classSchema in store.view.schema.classes where classSchema.isEmbedded {
            guard let old = before.find(table: classSchema.table) else { continue }
            if !old.isEmbedded {
                try checkParents(classSchema)
            } else if owners(of: old, before) != owners(of: classSchema, store.view.schema) {
                var orphans: [ObjectKey] = []
                try store.view.forEachKey(of: classSchema) { key in
                    if try store.view.linkCount(of: key, in: classSchema) == 0 {
                        orphans.append(key)
                    }
                }
                try store.delete(orphans, of: classSchema)
            }
        }
        for classSchema in store.view.schema.classesWithRules {
            try RuleCheck(store, session).checkAll(
                classSchema, since: before.find(table: classSchema.table))
        }
        for classSchema in store.view.schema.classes
        where isComplete || session.hasTouched(classSchema.table) {
            if let key = classSchema.primaryKey { try checkUnique(key, classSchema) }
            for property in classSchema.properties where wasOptional(property, classSchema) {
                try checkPresent(property, classSchema)
            }
        }
    }

    /// Returns the columns that can contain objects of a class.
    private func owners(of classSchema: ClassSchema, _ schema: Schema) -> Set<[Int]> {
        Set(
            schema.links(to: classSchema.table).map {
                [Int($0.classSchema.table.rawValue), $0.property.column.rawValue]
            })
    }

    private func checkParents(_ classSchema: ClassSchema) throws {
        let view = store.view
        let wrong = try view.objects(of: classSchema) {
            try view.linkCount(of: $0, in: classSchema) != 1
        }
        guard let first = wrong.first.first else { return }
        throw StoreError(
            .invalidObject,
            "'\(classSchema.name)' cannot become embedded: \(wrong.count) of its objects "
                + "\(wrong.count == 1 ? "does" : "do") not have exactly one parent "
                + "(object \(first.key.rawValue) has \(try view.linkCount(of: first.key, in: classSchema))); "
                + "delete or copy them in the "
                + "migration")
    }

    private func wasOptional(_ property: Property, _ classSchema: ClassSchema) -> Bool {
        guard property.isSingle, !property.isOptional else { return false }
        return before.find(table: classSchema.table)?.property(in: property.column)?.isOptional
            == true
    }

    private func checkUnique(_ key: Property, _ classSchema: ClassSchema) throws {
        let rows = try store.view.table(classSchema)
        let duplicate = try StoreError.wrapping(rows.firstDuplicate(key.column))
        var value: Value?
        if let duplicate {
            value = try store.view.value(key, of: duplicate.first, in: classSchema)
        } else if key.isOptional, try nulls(key, classSchema).count > 1 {
            value = .null
        }
        guard let value else { return }
        var names: [String] = []
        var count = 0
        try store.view.forEachKey(of: classSchema) { object in
            guard try store.view.value(key, of: object, in: classSchema) == value else { return }
            count += 1
            if names.count < 5 { names.append(try name(of: object, classSchema)) }
        }
        throw StoreError(
            .duplicateKey,
            "'\(classSchema.name).\(key.name)' cannot be the primary key: \(count) objects have the "
                + "value \(value.summary) (\(names.joined(separator: ", "))"
                + (count > names.count ? ", …" : "") + "); assign unique values in the migration")
    }

    /// Returns the name of an object in messages, with its old primary key if it still has one.
    private func name(of object: ObjectKey, _ classSchema: ClassSchema) throws -> String {
        guard let old = before.find(table: classSchema.table)?.primaryKey,
            let property = classSchema.property(in: old.column), !property.isPrimary
        else { return "object \(object.rawValue)" }
        let value = try store.view.value(property, of: object, in: classSchema)
        return "\(property.name) = \(value.summary)"
    }

    private func checkPresent(_ property: Property, _ classSchema: ClassSchema) throws {
        let found = try nulls(property, classSchema)
        guard found.count > 0 else { return }
        throw StoreError(
            .missingValue,
            "'\(classSchema.name).\(property.name)' is required now, and \(found.count) "
                + (found.count == 1 ? "object has" : "objects have")
                + " no value (\(found.names(in: store.view, 3))); "
                + "assign a value in the migration, or declare it \"\(property.typeName)?\"")
    }

    private func nulls(
        _ property: Property, _ classSchema: ClassSchema
    ) throws -> FoundObjects {
        let rows = try store.view.table(classSchema)
        return try store.view.objects(of: classSchema) { try rows.isNull(property.column, $0) }
    }
}

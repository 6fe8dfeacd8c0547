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
                let orphans = try parentCounts(classSchema).filter { $0.count == 0 }.map(\.key)
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

    /// Returns the number of links to each object.
    private func parentCounts(_ classSchema: ClassSchema) throws -> [(key: ObjectKey, count: Int)] {
        let sources = try store.view.schema.links(to: classSchema.table).map {
            try (rows: store.view.table($0.classSchema), column: $0.property.column)
        }
        let rows = try store.view.table(classSchema)
        var counts: [(key: ObjectKey, count: Int)] = []
        for cluster in 0..<rows.clusterCount {
            try rows.presence(cluster).forEachRow { row in
                let key = ObjectKey(rawValue: Int64(cluster * Cluster.rows + row))
                let count = try sources.reduce(0) {
                    try $0 + $1.rows.sourceCount(of: key, through: $1.column)
                }
                counts.append((key, count))
            }
        }
        return counts
    }

    private func checkParents(_ classSchema: ClassSchema) throws {
        let wrong = try parentCounts(classSchema).filter { $0.count != 1 }
        guard let first = wrong.first else { return }
        throw StoreError(
            .invalidObject,
            "'\(classSchema.name)' cannot become embedded: \(wrong.count) of its objects "
                + "\(wrong.count == 1 ? "does" : "do") not have exactly one parent "
                + "(object \(first.key.rawValue) has \(first.count)); delete or copy them in the "
                + "migration")
    }

    private func wasOptional(_ property: Property, _ classSchema: ClassSchema) -> Bool {
        guard property.isSingle, !property.isOptional else { return false }
        return before.find(table: classSchema.table)?.property(in: property.column)?.isOptional
            == true
    }

    private func checkUnique(_ key: Property, _ classSchema: ClassSchema) throws {
        let rows = try store.view.table(classSchema)
        let duplicate = try StoreError.wrapping { () throws(StorageError) in
            try rows.firstDuplicate(key.column)
        }
        var value: Value?
        if let duplicate {
            value = try store.view.value(key, of: duplicate.first, in: classSchema)
        } else if key.isOptional, try nulls(key, rows, limit: 2).found.count > 1 {
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
        let (count, found) = try nulls(property, store.view.table(classSchema), limit: 3)
        guard count > 0 else { return }
        let names = found.map {
            store.view.name(of: ObjectReference(table: classSchema.table, key: $0))
        }.joined(separator: ", ")
        throw StoreError(
            .missingValue,
            "'\(classSchema.name).\(property.name)' is required now, and \(count) "
                + (count == 1 ? "object has" : "objects have")
                + " no value (\(names)\(count > found.count ? ", …" : "")); "
                + "assign a value in the migration, or declare it \"\(property.typeName)?\"")
    }

    /// Returns the number of objects without a value, and the first of them.
    private func nulls(
        _ property: Property, _ rows: TableReader, limit: Int
    ) throws -> (count: Int, found: [ObjectKey]) {
        var count = 0
        var found: [ObjectKey] = []
        for cluster in 0..<rows.clusterCount {
            let bits = try rows.matches(
                property.column, cluster, .isNull, among: rows.presence(cluster))
            count += bits.rowCount
            guard found.count < limit else { continue }
            bits.forEachRow { row in
                if found.count < limit {
                    found.append(ObjectKey(rawValue: Int64(cluster * Cluster.rows + row)))
                }
            }
        }
        return (count, found)
    }
}

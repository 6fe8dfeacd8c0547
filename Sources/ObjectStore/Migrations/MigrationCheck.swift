import ColumnStorage

/// The checks at the end of a change of the schema.
struct MigrationCheck {
    private let store: Store
    private let session: WriteSession
    private let before: Schema

    /// Creates the checks, which read only the classes that the session touched.
    init(_ store: Store, _ session: WriteSession, from before: Schema) {
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
        where session.hasTouched(classSchema.table) {
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

extension Store {
    /// Copies a sample of the store to another file.
    ///
    /// The sample has `count` objects of each class, spread evenly over the class, and all objects that they link to.
    /// The file also receives the schema, its version and the record of migrations. Takes time proportional to the size
    /// of the sample. Throws the errors of creating a store and of writing to it.
    package func copySample(of count: Int, to path: String) throws {
        let frozen = try frozenView()
        defer { frozen.close() }
        try copy(frozen, of: count, schema: view.schema, to: path)
    }

    /// Copies a version of the store to another file, or only its schema if there is no version.
    ///
    /// With `count`, the copy has this number of objects of each class, and all objects that they link to.
    package func copy(
        _ version: StoreView?, of count: Int = .max, schema: Schema, to path: String
    ) throws {
        try check()
        var configuration = StoreConfiguration(.file(path))
        configuration.durability = .memory
        let copy = try Store(configuration, scheduler: scheduler)
        defer { copy.close() }
        let transaction = try copy.beginMigration()
        defer { transaction.end() }
        let change = try transaction.change(
            to: schema.classes.map(\.unplaced), version: schema.version)
        try change.apply()
        try change.commit(recording: migrationLog())
        guard let version else { return }
        try copy.write {
            try copy.createCopies(from: version) { copyObject in
                for classSchema in schema.classes where !classSchema.isEmbedded {
                    let total = try version.table(classSchema).count
                    let step = max(1, total / max(count, 1))
                    var index = 0
                    var copied = 0
                    try version.forEachKey(of: classSchema) { key in
                        defer { index += 1 }
                        guard index % step == 0, copied < count else { return }
                        copied += 1
                        try copyObject(LiveObject(.frozen(version), classSchema, key))
                    }
                }
            }
        }
    }
}

extension ClassSchema {
    /// The class as a schema declares it, without its table and column numbers.
    package var unplaced: ClassSchema {
        ClassSchema(
            name,
            properties.map(\.unplaced), isEmbedded: isEmbedded,
            indexes: indexes.map { CompositeIndex($0.properties, isUnique: $0.isUnique) })
    }
}

extension StoreView {
    /// Calls `body` with the key of every object of a class, in the order of their creation.
    func forEachKey(of classSchema: ClassSchema, _ body: (ObjectKey) throws -> Void) throws {
        let rows = try table(classSchema)
        for cluster in 0..<rows.clusterCount {
            let base = Int64(cluster * Cluster.rows)
            try rows.presence(cluster).forEachRow { row in
                try body(ObjectKey(rawValue: base + Int64(row)))
            }
        }
    }

    /// Returns the name of an object in messages: its primary key, or its object key.
    package func name(of object: ObjectReference) -> String {
        guard let classSchema = schema.find(table: object.table),
            let primary = classSchema.primaryKey,
            let value = try? value(primary, of: object.key, in: classSchema)
        else { return "object \(object.key.rawValue)" }
        return "\(primary.name) = \(value.summary)"
    }
}

/// The number of objects that a check found, and the first of them.
struct FoundObjects {
    private(set) var count = 0
    private(set) var first: [ObjectReference] = []
    private static let limit = 5

    mutating func add(_ key: ObjectKey, _ classSchema: ClassSchema) {
        assert(first.count == min(count, Self.limit), "the first of the found objects are known")
        count += 1
        guard first.count < Self.limit else { return }
        first.append(ObjectReference(table: classSchema.table, key: key))
    }

    /// Returns the names of the first objects, at most `limit` of them, for messages.
    func names(in view: StoreView, _ limit: Int = Self.limit) -> String {
        first.prefix(limit).map(view.name).joined(separator: ", ") + (count > limit ? ", …" : "")
    }
}

extension StoreView {
    /// Returns the objects of a class that satisfy a condition.
    func objects(
        of classSchema: ClassSchema, where isFound: (ObjectKey) throws -> Bool
    ) throws -> FoundObjects {
        var found = FoundObjects()
        try forEachKey(of: classSchema) { if try isFound($0) { found.add($0, classSchema) } }
        return found
    }

    /// Returns the number of links to an object.
    func linkCount(of key: ObjectKey, in classSchema: ClassSchema) throws -> Int {
        try schema.links(to: classSchema.table).reduce(0) {
            try $0 + table($1.classSchema).sourceCount(of: key, through: $1.property.column)
        }
    }
}

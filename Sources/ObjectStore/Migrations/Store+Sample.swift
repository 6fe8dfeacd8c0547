import ColumnStorage

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
            properties.map { property in
                var property = property
                property.column = .unassigned
                return property
            }, isEmbedded: isEmbedded,
            indexes: indexes.map { CompositeIndex($0.properties, isUnique: $0.isUnique) })
    }
}

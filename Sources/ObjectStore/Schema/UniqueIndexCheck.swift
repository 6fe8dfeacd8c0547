import ColumnStorage

/// Checks unique indexes over several properties at the end of a write.
///
/// The check runs at the end and not in each assignment, because the properties of an index change one after the other.
/// An object with nil in one of the properties is exempt, as in SQL.
struct UniqueIndexCheck {
    private let store: Store
    private let session: WriteSession

    init(_ store: Store, _ session: WriteSession) {
        self.store = store
        self.session = session
    }

    /// Checks the touched objects, with one index lookup for each.
    ///
    /// Throws `duplicate_key`, with both objects in its message.
    func check() throws {
        for classSchema in store.view.schema.classesWithUniqueIndexes
        where session.hasTouched(classSchema.table) {
            for index in classSchema.indexes where index.isUnique {
                let properties = index.properties.compactMap(classSchema.property(named:))
                let touched = try session.touchedKeys(classSchema.table, properties.map(\.column))
                guard !touched.isEmpty else { continue }
                // Above this fraction, comparing all objects takes less time than a lookup for each touched one.
                if touched.count > 1000,
                    try touched.count > store.view.table(classSchema).count / 10
                {
                    try checkAll(classSchema, index)
                } else {
                    try check(touched, of: classSchema, index: index, properties: properties)
                }
            }
        }
    }

    private func check(
        _ touched: KeySet, of classSchema: ClassSchema, index: CompositeIndex,
        properties: [Property]
    ) throws {
        let all = try store.objects(classSchema.name)
        for key in touched where try store.view.table(classSchema).isPresent(key) {
            guard let values = try values(of: key, classSchema, properties) else { continue }
            let same = try all.filtered(equal: zip(properties, values).map { ($0.name, $1) })
            guard try same.count() > 1 else { continue }
            let keys = try (0..<2).map { try same.object(at: $0).key }
            throw duplicate(keys, of: classSchema, index: index, values: values)
        }
    }

    /// Compares all objects of a class: for an index that has become unique, and for large writes.
    ///
    /// Throws `duplicate_key`, with both objects in its message.
    func checkAll(_ classSchema: ClassSchema, _ index: CompositeIndex) throws {
        let properties = index.properties.compactMap(classSchema.property(named:))
        var owners: [[Value]: ObjectKey] = [:]
        try store.view.forEachKey(of: classSchema) { key in
            guard let values = try values(of: key, classSchema, properties) else { return }
            if let owner = owners.updateValue(key, forKey: values) {
                throw duplicate([owner, key], of: classSchema, index: index, values: values)
            }
        }
    }

    /// Returns the values of the properties of an index; nil if one of them is nil.
    private func values(
        of key: ObjectKey, _ classSchema: ClassSchema, _ properties: [Property]
    ) throws -> [Value]? {
        let values = try properties.map { try store.view.value($0, of: key, in: classSchema) }
        return values.contains(.null) ? nil : values
    }

    private func duplicate(
        _ keys: [ObjectKey], of classSchema: ClassSchema, index: CompositeIndex, values: [Value]
    ) -> StoreError {
        let what = zip(index.properties, values).map { "\($0) = \($1.summary)" }
            .joined(separator: ", ")
        let objects = keys.map {
            store.view.name(of: ObjectReference(table: classSchema.table, key: $0))
        }.joined(separator: " and ")
        return StoreError(
            .duplicateKey,
            "two objects of '\(classSchema.name)' have \(what) (\(objects)), and its index "
                + "(\(index.properties.joined(separator: ", "))) is unique")
    }
}

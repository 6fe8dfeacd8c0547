import ColumnStorage

extension StoreView {
    /// Returns the object whose indexed property has a value.
    ///
    /// Uses the index, or a scan for null.
    func find(_ value: Value, in property: Property, of classSchema: ClassSchema) throws
        -> ObjectKey?
    {
        let rows = try table(classSchema)
        switch value.listElement {
        case .int(let number): return try rows.find(property.column, int: number)
        case .bytes(let bytes): return try rows.find(property.column, bytes: bytes)
        case .null: return try findNull(property.column, in: rows)
        case .float, .double: return nil
        }
    }

    /// Returns the object with a null primary key.
    ///
    /// A class has at most one such object. Indexes do not contain null.
    private func findNull(_ column: ColumnID, in rows: TableReader) throws -> ObjectKey? {
        for cluster in 0..<rows.clusterCount {
            let bits = try rows.matches(column, cluster, .isNull, among: rows.presence(cluster))
            for word in 0..<Cluster.words where bits[word] != 0 {
                let row = cluster * Cluster.rows + word * 64 + bits[word].trailingZeroBitCount
                return ObjectKey(rawValue: Int64(row))
            }
        }
        return nil
    }
}

extension StoreView {
    /// Returns a class by name and the key of its object with a primary key; nil if no object has it.
    ///
    /// Throws the errors of ``Store/object(_:primaryKey:)``.
    package func find(
        _ className: String, primaryKey value: Value
    ) throws -> (classSchema: ClassSchema, key: ObjectKey)? {
        try StoreError.evaluating {
            let classSchema = try schema.require(className)
            if let column = classSchema.intKeyColumn, case .int(let number) = value {
                return try table(classSchema).find(column, int: number).map { (classSchema, $0) }
            }
            guard let property = classSchema.primaryKey else {
                throw StoreError(
                    .invalidArgument,
                    "'\(className)' has no primary key to look up; query it with objects(\"\(className)\")"
                )
            }
            let key = try ValueConversion.stored(value, property, classSchema)
            return try find(key, in: property, of: classSchema).map { (classSchema, $0) }
        }
    }
}

extension Store {
    /// Returns the object with a primary key, or nil.
    ///
    /// Takes about half a microsecond.
    ///
    /// Throws `unknown_class`, `type_mismatch` for a key of another type, `invalid_argument` if the class has no
    /// primary key, `closed`, `wrong_thread`.
    public func object(_ className: String, primaryKey value: Value) throws -> LiveObject? {
        try check()
        let found = try view.find(className, primaryKey: value)
        if let reader, let table = view.schema.find(className)?.table {
            let lookup = StoreReads.Lookup(table: table, result: found?.key) { view in
                try view.find(className, primaryKey: value)?.key
            }
            reader.noteLookup(of: self, lookup, by: value)
        }
        return found.map { LiveObject(.store(self), $0.classSchema, $0.key) }
    }
}

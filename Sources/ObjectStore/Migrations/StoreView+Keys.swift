import ColumnStorage

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

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

/// The number of objects that a check found, and the first of them.
struct FoundObjects {
    private(set) var count = 0
    private(set) var first: [ObjectReference] = []
    private static let limit = 5

    mutating func add(_ key: ObjectKey, _ classSchema: ClassSchema) {
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

import ColumnStorage

extension ObjectWriter {
    /// Returns the number of objects around an embedded one; 0 for an object that is not embedded.
    ///
    /// Takes one index lookup for each of these objects. Stops counting beyond the allowed depth.
    func embeddingDepth(of key: ObjectKey, in classSchema: ClassSchema) throws -> Int {
        var object = ObjectReference(table: classSchema.table, key: key)
        var depth = 0
        while depth <= ObjectCreation.deepestNesting, let owner = try owner(of: object) {
            object = owner
            depth += 1
        }
        return depth
    }

    private func owner(of object: ObjectReference) throws -> ObjectReference? {
        let schema = store.view.schema
        guard let embedded = schema.find(table: object.table), embedded.isEmbedded else {
            return nil
        }
        for candidate in schema.classes {
            for property in schema.embeddingProperties(of: candidate.table)
            where property.target == embedded.name {
                let owners = try store.view.table(candidate)
                    .sources(of: object.key, through: property.column)
                if let owner = owners.first {
                    return ObjectReference(table: candidate.table, key: owner)
                }
            }
        }
        return nil
    }
}

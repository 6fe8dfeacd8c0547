import ColumnStorage

extension StoreView {
    /// Returns the object that contains an embedded one, and the column that leads there; nil for other objects.
    func owner(of embedded: ObjectReference) throws -> (object: ObjectReference, column: ColumnID)?
    {
        guard schema.find(table: embedded.table)?.isEmbedded == true else { return nil }
        for source in schema.links(to: embedded.table) {
            let owners = try table(source.classSchema)
                .sources(of: embedded.key, through: source.property.column)
            if let key = owners.first {
                let owner = ObjectReference(table: source.classSchema.table, key: key)
                return (owner, source.property.column)
            }
        }
        return nil
    }

    /// Returns the number of objects around an embedded one; 0 for an object that is not embedded.
    ///
    /// Takes one index lookup for each of these objects. Stops counting beyond the allowed depth.
    func embeddingDepth(of key: ObjectKey, in classSchema: ClassSchema) throws -> Int {
        var object = ObjectReference(table: classSchema.table, key: key)
        var depth = 0
        while depth <= ObjectCreation.deepestNesting, let owner = try owner(of: object) {
            object = owner.object
            depth += 1
        }
        return depth
    }
}

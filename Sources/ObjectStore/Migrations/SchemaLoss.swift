import ColumnStorage

/// Values that a change of the schema drops, counted in the stored data.
struct SchemaLoss {
    /// The qualified name of the values: `Class.property`, or the name of a class.
    let qualifiedName: String
    /// The objects that have such a value, or belong to the class.
    let found: FoundObjects
    var count: Int { found.count }

    /// Returns the stored values that the differences drop, without properties that have no values.
    ///
    /// `kept` returns the objects of a class that received another value for a property of the new schema.
    static func losses(
        _ differences: [SchemaDifference], in view: StoreView,
        kept: (_ className: String, _ property: String) -> KeySet = { _, _ in KeySet() }
    ) throws -> [SchemaLoss] {
        try differences.compactMap { difference -> SchemaLoss? in
            switch difference.loss {
            case .objects(let name):
                try view.schema.find(name).map {
                    SchemaLoss(
                        qualifiedName: name, found: try view.objects(of: $0) { _ in true })
                }
            case .values(let property, let name, let receiver):
                try ofProperty(
                    property, of: name, oldName: differences.oldName(ofClass: name), in: view,
                    except: receiver.map { kept(name, $0.name) } ?? KeySet())
            case nil: nil
            }
        }.filter { $0.count > 0 }
    }

    private static func ofProperty(
        _ property: Property, of name: String, oldName: String, in view: StoreView,
        except kept: KeySet
    ) throws -> SchemaLoss? {
        guard !property.isBacklinks, let classSchema = view.schema.find(oldName) else { return nil }
        let rows = try view.table(classSchema)
        // This is the usual end of a migration: every object received its value.
        if kept.count == rows.count { return nil }
        let found = try view.objects(of: classSchema) { key in
            if kept.contains(key) { return false }
            if !property.isSingle { return try rows.listCount(property.column, key) > 0 }
            return try !property.isOptional || !rows.isNull(property.column, key)
        }
        return SchemaLoss(qualifiedName: "\(name).\(property.name)", found: found)
    }
}

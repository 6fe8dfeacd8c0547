import ColumnStorage

extension Query {
    /// Returns the query in another schema.
    ///
    /// Throws the errors of ``check(in:)``, which describe a removed property better than errors of the query's text.
    func followed(to schema: Schema) throws -> Query {
        let query = (try? remade(for: schema)) ?? self
        try query.check(in: schema)
        return query
    }

    /// Throws `unknown_class` or `unknown_property` if the query reads a class or property that was removed or has
    /// another type now.
    func check(in schema: Schema) throws {
        guard let elements = schema.find(table: table) else {
            throw StoreError(.unknownClass, "the class of this collection was removed")
        }
        switch base {
        case .table: break
        case .list(let table, let column, _), .backlinks(let table, let column, _):
            guard schema.find(table: table)?.property(in: column) != nil else {
                throw StoreError(
                    .unknownProperty,
                    "the property that this collection of '\(elements.name)' comes from was removed or "
                        + "has another type")
            }
        }
        for component in dependencies.flatMap(\.components) {
            let source = schema.find(table: component.origin?.table ?? component.table)
            let column = component.origin?.column ?? component.property.column
            guard source?.property(in: column) != nil else {
                throw StoreError(
                    .unknownProperty,
                    "this collection of '\(elements.name)' depends on "
                        + "'\(component.className).\(component.property.name)', which was removed or has "
                        + "another type\(source?.lost.since(component.property.name) ?? ""); create the query "
                        + "again")
            }
        }
    }
}

import ColumnStorage

extension Query {
    /// Throws `unknown_class` or `unknown_property` if something that the query reads is no longer
    /// in the schema: it was removed, or got another type, since the query was made.
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
                    "the property that this collection of '\(elements.name)' comes from was removed"
                )
            }
        }
        for component in dependencies.flatMap(\.components) {
            let source = schema.find(table: component.origin?.table ?? component.table)
            let column = component.origin?.column ?? component.property.column
            guard source?.property(in: column) != nil else {
                throw StoreError(
                    .unknownProperty,
                    "this collection of '\(elements.name)' depends on "
                        + "'\(component.className).\(component.property.name)', which was removed or "
                        + "got another type; make the query again")
            }
        }
    }
}

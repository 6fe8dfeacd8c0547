import ColumnStorage

/// The key by which `distinct` compares objects: one value of each object.
package struct DistinctKey: Hashable, Sendable {
    /// The text of the key.
    package let description: String
    /// Every key path that the value depends on.
    package let dependencies: [PropertyPath]
    private let computed: ComputedValue?

    /// Parses a key of a class.
    ///
    /// The key is a key path, a path with an operation or an index such as `items.@count` and `items[1].price`, or a
    /// path into a mixed value. Throws `invalid_query` for a path with any number of values.
    package init(_ text: String, class classSchema: ClassSchema, schema: Schema) throws {
        guard ComputedValue.isMeant(by: text, class: classSchema, schema: schema) else {
            let path = try PropertyPath.parse(text, class: classSchema, schema: schema)
            try path.checkSingle(for: "distinct")
            self.init(path)
            return
        }
        do throws(QueryFault) {
            try self.init(
                try PredicateParser.parsePath(text), 0..<text.utf8.count, text, class: classSchema,
                schema: schema)
        } catch {
            throw error.rendered(in: text)
        }
    }

    private init(_ path: PropertyPath) {
        description = path.description
        dependencies = [path]
        computed = nil
    }

    /// Compiles a path that is more than names and dots.
    init(
        _ syntax: PathSyntax, _ range: Range<Int>, _ text: String, class classSchema: ClassSchema,
        schema: Schema
    ) throws(QueryFault) {
        let value = try ComputedValue(
            syntax, range, for: "distinct", class: classSchema, schema: schema)
        description = text
        dependencies = value.dependencies
        computed = value
    }

    /// Returns the key with the same meaning in another schema.
    func remade(class classSchema: ClassSchema, schema: Schema) throws -> DistinctKey {
        computed == nil
            ? self : try DistinctKey(description, class: classSchema, schema: schema)
    }

    /// Returns a function that reads the value of an object in a view; objects with equal values are duplicates.
    func reader(in view: StoreView) throws -> (ObjectKey) throws -> Scalar {
        let expression: any PredicateExpression
        var tables: [TableID] = []
        if let computed {
            (expression, tables) = (computed.expression, computed.tables)
        } else {
            expression = PathExpression(path: dependencies[0].compiled(&tables))
        }
        let bound = try BoundTables(tables, in: view)
        return { key in
            let value = try expression.value(bound, key)
            if case .nothing = value { return .null }
            return value
        }
    }

    /// Returns whether both keys distinguish objects in the same way.
    package static func == (left: DistinctKey, right: DistinctKey) -> Bool {
        left.description == right.description && left.dependencies == right.dependencies
    }

    /// Hashes the description.
    package func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

/// The key by which `distinct` compares objects: one value of each object.
package struct DistinctKey: Hashable, Sendable {
    private let value: ValuePath

    /// Parses a key of a class.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a path with any number of values.
    package init(_ text: String, class classSchema: ClassSchema, schema: Schema) throws {
        try self.init(ValuePath(text, class: classSchema, schema: schema))
    }

    /// Creates a key from a path.
    ///
    /// Throws `invalid_query` for a path with any number of values.
    init(_ value: ValuePath) throws(StoreError) {
        try value.requireOne(for: "distinct")
        self.value = value
    }

    /// The text of the key.
    package var description: String { value.text }
    /// Every key path that the value depends on.
    package var dependencies: [PropertyPath] { value.dependencies }

    /// Returns the key with the same meaning in another schema.
    func remade(class classSchema: ClassSchema, schema: Schema) throws -> DistinctKey {
        try DistinctKey(value.remade(class: classSchema, schema: schema))
    }

    /// Returns a function that reads the value of an object in a view; objects with equal values are duplicates.
    func reader(in view: StoreView) throws -> (ObjectKey) throws -> Scalar {
        let bound = try value.bound(to: view)
        return { try bound.value($0) }
    }
}

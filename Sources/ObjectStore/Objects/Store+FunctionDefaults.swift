extension Store {
    /// Makes a function give the value of a property for each object that this store creates without one; nil ends
    /// that.
    ///
    /// It is called inside the write, on the store's thread, once for each object, and goes before the default that
    /// the file knows. What it throws is thrown by who creates; nothing of the object is stored then. Other stores of
    /// the file do not know it. Throws `unknown_class`, `unknown_property`, `invalid_argument` for backlinks.
    public func setDefault(
        of name: String, in className: String, to function: (() throws -> Value)?
    ) throws {
        try check()
        let classSchema = try view.schema.require(className)
        let property = try classSchema.requireProperty(name)
        guard !property.isBacklinks else {
            throw StoreError(
                .invalidArgument,
                "'\(className).\(name)' follows links backwards and takes no default")
        }
        functionDefaults[classSchema.table, default: [:]][property.column] = function
        inserter = nil
    }
}

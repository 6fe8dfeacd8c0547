import ColumnStorage

extension Store {
    /// Makes a function give the value of a property for each object that this store creates without one; nil ends
    /// that.
    ///
    /// It is called inside the write, on the store's thread, once for each object, and goes before the default that
    /// the file knows. What it throws is thrown by who creates; nothing of the object is stored then. Other stores of
    /// the file do not know it. Throws `unknown_class`, `unknown_property`, `invalid_argument` for backlinks.
    package func setDefault(
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
        functionDefaults[classSchema.table, property.column] = function
        inserter = nil
    }
}

/// The functions that make the values of properties that were not given any.
final class DefaultFunctions {
    private var functions: [TableID: [ColumnID: () throws -> Value]] = [:]
    /// Whether there never was one.
    private(set) var isEmpty = true

    /// The function of a column.
    subscript(_ table: TableID, _ column: ColumnID) -> (() throws -> Value)? {
        get { isEmpty ? nil : functions[table]?[column] }
        set {
            functions[table, default: [:]][column] = newValue
            isEmpty = false
        }
    }
}

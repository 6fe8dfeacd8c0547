import ColumnStorage

extension Store {
    /// Sets the function that returns the value of a property for each object created without one; nil removes it.
    ///
    /// The function is called inside the write, on the store's thread, once for each object, and takes precedence over
    /// the default in the file. It can read, but it cannot change or close any store: such a call throws
    /// `already_in_write`. If the function throws, creation throws the same error and stores nothing. Other stores of
    /// the file do not know the function.
    ///
    /// Throws `unknown_class`, `unknown_property`, `invalid_argument` for backlinks.
    package func setDefault(
        of name: String, in className: String, to function: (() throws -> Value)?
    ) throws {
        try setDefault(of: name, in: className, to: function) { $0 }
    }

    /// Sets a default function whose results are converted after it has returned.
    ///
    /// Unlike the function, `convert` may create objects. Otherwise as ``setDefault(of:in:to:)``.
    package func setDefault<Result>(
        of name: String, in className: String, to function: (() throws -> Result)?,
        convert: @escaping (Result) throws -> Value
    ) throws {
        try check()
        let classSchema = try view.schema.require(className)
        let property = try classSchema.requireProperty(name)
        guard !property.isBacklinks else {
            throw StoreError(
                .invalidArgument,
                "'\(className).\(name)' is a backlinks property and cannot have a default")
        }
        let title = "the default function of '\(className).\(name)'"
        functionDefaults[classSchema.table, property.column] = function.map { function in
            { [unowned self] in
                let result = try ReadOnlySection.run(title, function)
                // A Swift function may have ignored that it cannot close the store.
                try check()
                return try convert(result)
            }
        }
        inserterCache.didChangeDefaults()
    }

    /// Whether a function gives new objects their value of a property.
    package func hasFunctionDefault(_ property: Property, _ classSchema: ClassSchema) -> Bool {
        functionDefaults[classSchema.table, property.column] != nil
    }
}

/// The default functions of a store's properties.
final class DefaultFunctions {
    private var functions: [TableID: [ColumnID: () throws -> Value]] = [:]
    /// Whether no function was ever set.
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

import ColumnStorage

extension Store {
    /// Sets the function that computes a property of objects created without a value for it; nil removes the function.
    ///
    /// The function is called inside the write, on the store's thread, once for each object, and takes precedence over
    /// the default in the file. The function can read, but an attempt to change or close a store throws
    /// `already_in_write`. If the function throws, the creation fails with the same error. The function applies to this
    /// store only, not to other stores of the file.
    ///
    /// Throws `unknown_class`, `unknown_property`, `invalid_argument` for backlinks.
    package func setDefault(
        of name: String, in className: String, to function: (() throws -> Value)?
    ) throws {
        try setDefault(of: name, in: className, to: function) { $0 }
    }

    /// Sets a default function with a separate conversion of its results.
    ///
    /// Unlike the function, `convert` may create objects. In all other respects, the effect is that of
    /// ``setDefault(of:in:to:)``.
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
                // A Swift function may have ignored the error of closing the store.
                try check()
                return try convert(result)
            }
        }
        inserterCache.didChangeDefaults()
    }

    /// Returns whether a function computes a property of new objects.
    package func hasFunctionDefault(_ property: Property, _ classSchema: ClassSchema) -> Bool {
        functionDefaults[classSchema.table, property.column] != nil
    }
}

/// The default functions of a store's properties.
final class DefaultFunctions {
    private var functions: [TableID: [ColumnID: () throws -> Value]] = [:]
    /// Whether no function was ever set.
    private(set) var isEmpty = true

    /// The default function of a column.
    subscript(_ table: TableID, _ column: ColumnID) -> (() throws -> Value)? {
        get { isEmpty ? nil : functions[table]?[column] }
        set {
            functions[table, default: [:]][column] = newValue
            isEmpty = false
        }
    }
}

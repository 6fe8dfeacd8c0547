/// Turns what somebody gives for a property into what the property stores.
enum ValueConversion {
    /// The value as the property stores it: numbers become the property's kind of number, to an int
    /// only whole ones; other types must match.
    ///
    /// Links and nested tables pass unchanged; they are resolved by who creates.
    ///
    /// Throws `type_mismatch`, or `missing_value` for nil where nil cannot be.
    static func stored(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        guard property.isList else { return try single(value, property, classSchema) }
        switch value {
        case .null: return .list([])
        case .list(let elements):
            return .list(try elements.map { try single($0, property, classSchema) })
        case .dictionary(let values) where values.isEmpty: return .list([])
        default: throw mismatch(value, property, classSchema)
        }
    }

    /// One value, or one element of a list.
    static func single(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        switch (property.type, value) {
        case (.mixed, _):
            try checkDepth(value, property, classSchema)
            return value
        case (_, .null):
            guard property.isOptional else { throw missing(property, classSchema) }
            return .null
        case (.bool, .bool), (.int, .int), (.float, .float), (.double, .double),
            (.string, .string), (.data, .data), (.date, .date), (.uuid, .uuid),
            (.objectID, .objectID), (.decimal, .decimal), (.object, .object),
            (.object, .dictionary), (.object, .list):
            return value
        case (.int, .double(let number)):
            guard let whole = Int64(exactly: number) else { break }
            return .int(whole)
        case (.double, .int(let number)): return .double(Double(number))
        case (.double, .float(let number)): return .double(Double(number))
        case (.float, .int(let number)): return .float(Float(number))
        case (.float, .double(let number)): return .float(Float(number))
        case (.decimal, .int(let number)): return .decimal(DecimalValue(number))
        case (.decimal, .float(let number)): return .decimal(DecimalValue(number))
        case (.decimal, .double(let number)): return .decimal(DecimalValue(number))
        case (.int, .decimal(let number)):
            guard let whole = number.exactInt else { break }
            return .int(whole)
        case (.double, .decimal(let number)): return .double(number.double)
        case (.float, .decimal(let number)): return .float(Float(number.double))
        default: break
        }
        throw mismatch(value, property, classSchema)
    }

    /// Throws `invalid_argument` for collections inside each other beyond what a mixed value holds.
    private static func checkDepth(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema, depth: Int = 0
    ) throws {
        let elements: [Value]
        switch value {
        case .list(let values): elements = values
        case .dictionary(let entries): elements = Array(entries.values)
        default: return
        }
        guard depth < MixedCoding.deepest else {
            throw StoreError(
                .invalidArgument,
                "property '\(property.name)' of '\(classSchema.name)' holds at most "
                    + "\(MixedCoding.deepest) lists and maps inside each other")
        }
        for element in elements { try checkDepth(element, property, classSchema, depth: depth + 1) }
    }

    /// The error for a value of the wrong type.
    static func mismatch(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) -> StoreError {
        let isElement: Bool
        if case .list = value { isElement = false } else { isElement = property.isList }
        let place = isElement ? "an element of" : "property"
        var text =
            "\(place) '\(property.name)' of '\(classSchema.name)' expects \(property.typeName), "
            + "got \(value.typeName)"
        if case .double(let number) = value, property.type == .int {
            text += " \(number), which is not whole"
        }
        if case .decimal(let number) = value, property.type == .int {
            text += " \(number), which is not a whole number of 64 bits"
        }
        return StoreError(.typeMismatch, text)
    }

    private static func missing(_ property: Property, _ classSchema: ClassSchema) -> StoreError {
        StoreError(
            .missingValue,
            "property '\(property.name)' of '\(classSchema.name)' is required and cannot be nil; "
                + "declare it \"\(property.typeName)?\" to allow nil")
    }
}

/// Converts a given value to the value that a property stores.
package enum ValueConversion {
    /// Returns the value in the form in which the property stores it.
    ///
    /// Numbers are converted to the property's type of number, to an int only if they are whole; other types must
    /// match. Links and nested dictionaries are returned unchanged, and sets are not ordered yet; the code that creates
    /// objects converts both.
    ///
    /// Throws `type_mismatch`, or `missing_value` for nil in a required property.
    package static func stored(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        guard let collection = property.collection else {
            return try single(value, property, classSchema)
        }
        switch (collection, value) {
        case (_, .null): return .empty(collection)
        case (.list, .list(let elements)), (.set, .list(let elements)):
            return .list(try elements.map { try single($0, property, classSchema) })
        case (.map, .dictionary(let entries)):
            for key in entries.keys { try checkKey(key, property, classSchema) }
            return .dictionary(try entries.mapValues { try single($0, property, classSchema) })
        // An empty dictionary is an empty list, set or map.
        case (_, .dictionary(let entries)) where entries.isEmpty: return .empty(collection)
        case (_, .list(let elements)) where elements.isEmpty: return .empty(collection)
        default: throw mismatch(value, property, classSchema, isElement: false)
        }
    }

    /// Converts one value, or one element of a collection.
    static func single(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        switch (property.type, value) {
        case (.mixed, _):
            if property.isSet, value.isCollection {
                throw StoreError(
                    .typeMismatch,
                    "an element of '\(property.name)' of '\(classSchema.name)' cannot be a "
                        + "\(value.typeName); a set of mixed values cannot contain collections")
            }
            try checkDepth(value, property, classSchema)
            try checkSize(value, property, classSchema)
            return value
        case (_, .null):
            guard property.isOptional else { throw missing(property, classSchema) }
            return .null
        case (.string, .string), (.data, .data):
            try checkSize(value, property, classSchema)
            return value
        case (.object, .dictionary), (.object, .list): return value
        case _ where value.type == property.type: return value
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

    /// Throws `invalid_argument` for collections that are nested more deeply than a mixed value allows.
    static func checkDepth(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema, depth: Int = 0
    ) throws {
        let elements: [Value]
        switch value {
        case .list(let values): elements = values
        case .dictionary(let entries): elements = Array(entries.values)
        default: return
        }
        guard depth < StoreLimits.nesting else {
            throw StoreError(
                .invalidArgument,
                "property '\(property.name)' of '\(classSchema.name)' can nest at most "
                    + "\(StoreLimits.nesting) lists and maps")
        }
        for element in elements { try checkDepth(element, property, classSchema, depth: depth + 1) }
    }

    /// Throws `limit_exceeded` for a map key that is too long.
    static func checkKey(
        _ key: String, _ property: Property, _ classSchema: ClassSchema
    ) throws {
        try StoreLimits.check(
            bytes: key.utf8.count, "a key of '\(classSchema.name).\(property.name)'")
    }

    /// Throws `limit_exceeded` for a mixed value with too many bytes.
    static func checkSize(
        of bytes: [UInt8], _ property: Property, _ classSchema: ClassSchema
    ) throws {
        try StoreLimits.check(
            bytes: bytes.count, "a value of '\(classSchema.name).\(property.name)'")
    }

    private static func checkSize(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws {
        try StoreLimits.check(
            bytes: size(of: value), "a value of '\(classSchema.name).\(property.name)'")
    }

    /// Returns the number of bytes of the strings and data in a value.
    private static func size(of value: Value) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        case .list(let elements): elements.reduce(0) { $0 + size(of: $1) }
        case .dictionary(let entries):
            entries.reduce(0) { $0 + $1.key.utf8.count + size(of: $1.value) }
        default: 0
        }
    }

    /// Returns the error for a value of the wrong type; for a collection, that of an element if `isElement` is true.
    static func mismatch(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema, isElement: Bool = true
    ) -> StoreError {
        let isElement = isElement && property.collection != nil
        let subject = isElement ? "an element of" : "property"
        let type = isElement ? property.elementTypeName : property.typeName
        var text =
            "\(subject) '\(property.name)' of '\(classSchema.name)' expects \(type), "
            + "got \(value.typeName)"
        switch (value, property.type) {
        case (.double(let number), .int):
            text += " \(number), which is not a whole number of 64 bits"
        case (.decimal(let number), .int):
            text += " \(number), which is not a whole number of 64 bits"
        case (.string, .date), (.string, .fixed), (.string, .decimal):
            text += "; create it with moonpool.\(property.type.rawValue)(\"…\")"
        default: break
        }
        return StoreError(.typeMismatch, text)
    }

    private static func missing(_ property: Property, _ classSchema: ClassSchema) -> StoreError {
        let mark = property.collection?.mark ?? ""
        let type = property.elementTypeName
        if property.type == .object {
            return StoreError(
                .missingValue,
                "an element of '\(property.name)' of '\(classSchema.name)' cannot be nil; "
                    + "pass a '\(type)'")
        }
        let subject = property.collection == nil ? "property" : "an element of"
        return StoreError(
            .missingValue,
            "\(subject) '\(property.name)' of '\(classSchema.name)' is required and cannot be nil; "
                + "declare it \"\(type)?\(mark)\" to allow nil")
    }
}

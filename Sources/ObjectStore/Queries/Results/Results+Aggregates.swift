import ColumnStorage

extension Results {
    /// Returns the sum of a property; nil values are ignored, and the sum without values is 0.
    ///
    /// In a mixed property, only numbers count for every aggregate. The sum is rounded once, so it does not depend on
    /// the order of the values. The sum of ints is an int, or the nearest double if it needs more than 64 bits.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a list or a type without a sum.
    public func sum(_ path: String) throws -> Value {
        if let value = try trackedAggregate(.sum, path) { return value }
        let (sum, type) = try aggregate(.sum, path)
        return Results.sum(sum, type)
    }

    /// Returns the smallest value of a property; nil if there is none.
    ///
    /// Throws the errors of ``sum(_:)``.
    public func minimum(_ path: String) throws -> Value {
        if let value = try trackedAggregate(.minimum, path) { return value }
        let (value, type) = try aggregate(.minimum, path)
        return value.value(of: type)
    }

    /// Returns the largest value of a property; nil if there is none.
    ///
    /// Throws the errors of ``sum(_:)``.
    public func maximum(_ path: String) throws -> Value {
        if let value = try trackedAggregate(.maximum, path) { return value }
        let (value, type) = try aggregate(.maximum, path)
        return value.value(of: type)
    }

    /// Returns the average of a property's values that are not nil; nil if there is none.
    ///
    /// Throws the errors of ``sum(_:)``.
    public func average(_ path: String) throws -> Value {
        if let value = try trackedAggregate(.average, path) { return value }
        let (average, _) = try aggregate(.average, path)
        return Results.average(average)
    }

    /// Returns the number of objects with a value that is not nil.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a list.
    public func count(of path: String) throws -> Int {
        try StoreError.evaluating {
            if case .int(let count)? = try trackedAggregate(.count, path) { return Int(count) }
            let values = try read(path, for: "count").values
            return try keys().count { try values.value($0) != .null }
        }
    }

    /// Converts a sum to a value of a property's type.
    static func sum(_ scalar: Scalar, _ type: PropertyType) -> Value {
        switch (scalar, type) {
        case (.int(let value), .int), (.int(let value), .mixed): .int(value)
        case (.decimal(let value), _): .decimal(value)
        case (.int(0), .decimal): .decimal(.zero)
        case (let value, _): .double(value.double ?? 0)
        }
    }

    /// Converts an average to a value.
    static func average(_ scalar: Scalar) -> Value {
        if case .decimal(let average) = scalar { return .decimal(average) }
        return scalar.double.map(Value.double) ?? .null
    }

    /// Compiles a path with one value for each object, and binds it to the current view.
    func read(
        _ text: String, for purpose: String
    ) throws -> (values: BoundPath, path: ValuePath) {
        let view = try source.openView()
        let path = try ValuePath(text, class: try classSchema(), schema: view.schema)
        try path.requireOne(for: purpose)
        return (try path.bound(to: view), path)
    }

    /// Throws `invalid_query` if values of a type do not have the aggregate; `what` describes the values in the
    /// message.
    static func checkAggregate(
        _ operation: AggregateOperation, of type: PropertyType, _ what: String
    ) throws {
        let isExtreme = operation == .minimum || operation == .maximum
        guard type.isNumeric || type == .mixed || (type == .date && isExtreme) else {
            throw StoreError(
                .invalidQuery,
                "\(what) is \(type.rawValue); \(operation.rawValue) requires a number"
                    + (isExtreme ? " or a date" : ""))
        }
    }

    private func aggregate(
        _ operation: AggregateOperation, _ path: String
    ) throws -> (Scalar, PropertyType) {
        try StoreError.evaluating {
            let (values, compiled) = try read(path, for: operation.rawValue)
            let type = compiled.type
            try Results.checkAggregate(operation, of: type, "'\(path)'")
            let keys = try keys()
            var aggregate = Aggregate(operation)
            if let column = values.ownColumn, type != .decimal, type != .mixed {
                let parts = try keys.scan(query.table, in: source.view) {
                    rows, _ in
                    { clusters in
                        var part = Aggregate(operation)
                        for (cluster, bits) in clusters {
                            try part.add(column, of: rows, cluster, bits)
                        }
                        return part
                    }
                }
                if let parts {
                    for part in parts { aggregate.add(part) }
                    return (aggregate.result, type)
                }
            }
            for key in keys {
                let value = try values.value(key)
                if type == .mixed, value.number == nil { continue }
                aggregate.add(value)
            }
            return (aggregate.result, type)
        }
    }
}

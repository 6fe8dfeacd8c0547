import ColumnStorage

/// Creates objects from values: defaults, upserts, and nested values that become linked objects.
///
/// All values of an object are converted before anything of it is stored.
struct ObjectCreation {
    private let writer: ObjectWriter
    private let mode: UpdateMode
    private let depth: Int

    /// How many objects are stored inside each other; whoever reads them goes as deep.
    static let deepestNesting = 100

    init(_ writer: ObjectWriter, mode: UpdateMode = .error, depth: Int = 0) {
        self.writer = writer
        self.mode = mode
        self.depth = depth
    }

    /// Creates or updates an object from values by name (`.dictionary`) or in schema order
    /// (`.list`, missing ones at the end take their defaults).
    func create(_ classSchema: ClassSchema, _ values: Value) throws -> ObjectKey {
        try create(classSchema, positional: given(values, classSchema))
    }

    /// Sets those values of an existing object that a table of values names.
    func update(_ key: ObjectKey, _ classSchema: ClassSchema, with values: Value) throws {
        try checkDepth()
        try update(key, classSchema, given(values, classSchema))
    }

    /// Values in schema order, nil for those not given.
    private func given(_ values: Value, _ classSchema: ClassSchema) throws -> [Value?] {
        var given = [Value?](repeating: nil, count: classSchema.properties.count)
        switch values {
        case .dictionary(let named):
            for (name, value) in named {
                guard let position = classSchema.position(of: name) else {
                    _ = try classSchema.requireProperty(name)
                    continue
                }
                given[position] = value
            }
        case .list(let ordered):
            guard ordered.count <= given.count else {
                throw StoreError(
                    .invalidArgument,
                    "'\(classSchema.name)' has \(given.count) properties, got \(ordered.count) "
                        + "values")
            }
            for (position, value) in ordered.enumerated() { given[position] = value }
        default:
            throw StoreError(
                .typeMismatch,
                "a '\(classSchema.name)' is made of a table of values, got \(values.typeName)")
        }
        return given
    }

    private func checkDepth() throws {
        guard depth <= Self.deepestNesting else {
            throw StoreError(
                .invalidArgument,
                "more than \(Self.deepestNesting) objects are nested in each other; "
                    + "create the inner ones first and link them")
        }
    }

    /// Creates or updates an object from values in schema order, nil for those not given.
    func create(_ classSchema: ClassSchema, positional given: [Value?]) throws -> ObjectKey {
        try checkDepth()
        if mode == .error || classSchema.primaryKeyPosition != nil,
            let key = writer.inserter(of: classSchema).create(given)
        {
            writer.created?.note(ObjectReference(table: classSchema.table, key: key))
            return key
        }
        return try createSlowly(classSchema, given)
    }

    /// The same for values of which the inserter has said that they need more than to be stored.
    func createSlowly(_ classSchema: ClassSchema, _ given: [Value?]) throws -> ObjectKey {
        try writer.undoingCreation { try with($0).createNoting(classSchema, given) }
    }

    private func with(_ writer: ObjectWriter) -> ObjectCreation {
        ObjectCreation(writer, mode: mode, depth: depth)
    }

    private func createNoting(_ classSchema: ClassSchema, _ given: [Value?]) throws -> ObjectKey {
        var given = given
        if let position = classSchema.primaryKeyPosition, given[position] == nil {
            // Once: it is needed to look for the object and to create it.
            given[position] = try functionValue(classSchema.properties[position], classSchema)
        }
        if let existing = try existing(classSchema, given) {
            guard mode != .error else { throw duplicate(classSchema, given) }
            try update(existing, classSchema, given)
            return existing
        }
        var values: [Value] = []
        values.reserveCapacity(given.count)
        for (property, value) in zip(classSchema.properties, given) {
            values.append(try initialValue(value, property, classSchema))
        }
        let owning = writer.store.view.schema.embeddingProperties(of: classSchema.table)
        for (position, property) in classSchema.properties.enumerated()
        where owning.isEmpty || !owning.contains(property) {
            values[position] = try resolveLinks(values[position], property, classSchema)
        }
        if !owning.isEmpty { try makeEmbedded(&values, classSchema) }
        let key = writer.session.insert(classSchema.table)
        writer.created?.note(ObjectReference(table: classSchema.table, key: key))
        for (property, value) in zip(classSchema.properties, values) where !property.isBacklinks {
            if property.collection != nil, value.isEmptyCollection { continue }
            try writer.write(value, property, key, classSchema)
        }
        return key
    }

    /// Makes the embedded objects of a new object.
    private func makeEmbedded(_ values: inout [Value], _ classSchema: ClassSchema) throws {
        for (position, property) in classSchema.properties.enumerated() {
            guard
                let embedded = EmbeddedWriter(
                    writer, property, classSchema, mode: mode, depth: depth)
            else { continue }
            if case .dictionary(let entries) = values[position], property.isMap {
                var children: [String: Value] = [:]
                for (key, value) in entries.sorted(by: { $0.key.precedesInBytes($1.key) }) {
                    children[key] =
                        try embedded.make(value).map { .object(embedded.reference(to: $0)) }
                        ?? .null
                }
                values[position] = .dictionary(children)
            } else if case .list(let elements) = values[position], property.isList {
                let keys = try embedded.make(elements) { _ in throw embedded.owned() }
                values[position] = .list(keys.map { .object(embedded.reference(to: $0)) })
            } else if let key = try embedded.make(values[position]) {
                values[position] = .object(embedded.reference(to: key))
            }
        }
    }

    private func initialValue(
        _ given: Value?, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        if property.isBacklinks {
            if given != nil { try writer.checkAssignable(property, classSchema) }
            return .null
        }
        let value = try given ?? functionValue(property, classSchema) ?? property.defaultValue
        if let value {
            return try ValueConversion.stored(value, property, classSchema)
        }
        if let collection = property.collection { return .empty(collection) }
        guard property.isOptional else {
            throw StoreError(
                .missingValue,
                "'\(classSchema.name).\(property.name)' is required and has no default; "
                    + "give it a value of type \(property.typeName)")
        }
        return .null
    }

    /// What the property's function gives for one more object; nil without a function.
    private func functionValue(
        _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value? {
        try writer.store.functionDefaults[classSchema.table, property.column]?()
    }

    /// Sets those values that were given on an existing object.
    ///
    /// All are converted, and all links that are not embedded led somewhere, before the first is set.
    func update(_ key: ObjectKey, _ classSchema: ClassSchema, _ given: [Value?]) throws {
        let writer = writer.alone
        var changes: [(Property, Value)] = []
        for (property, value) in zip(classSchema.properties, given) {
            guard let value, !property.isPrimary || writer.store.isMigrating else { continue }
            try writer.checkAssignable(property, classSchema)
            changes.append((property, try ValueConversion.stored(value, property, classSchema)))
        }
        let resolving = changes.contains { $0.0.type == .object }
        changes =
            try resolving
            ? writer.undoingCreation { try with($0).resolveLinks(changes, classSchema) }
            : resolveLinks(changes, classSchema)
        for (property, resolved) in changes {
            if writer.owns(property) {
                try writer.undoingCreation { writer in
                    try EmbeddedWriter(
                        writer, property, classSchema, of: key, mode: mode, depth: depth)?
                        .set(resolved, of: key)
                }
                continue
            }
            if mode == .modified {
                let stored = try writer.store.view.value(property, of: key, in: classSchema)
                if stored == resolved { continue }
                if case (.dictionary(let old), .dictionary(let new)) = (stored, resolved),
                    property.isMap
                {
                    // Keys that are not named keep their values.
                    try writer.merge(
                        new.filter { old[$0.key] != $0.value }, property, key, classSchema)
                    continue
                }
            }
            try writer.write(resolved, property, key, classSchema)
        }
    }

    private func resolveLinks(
        _ changes: [(Property, Value)], _ classSchema: ClassSchema
    ) throws -> [(Property, Value)] {
        try changes.map { property, value in
            if writer.owns(property) { return (property, value) }
            return (property, try resolveLinks(value, property, classSchema))
        }
    }

    /// The object that has the primary key among the values.
    private func existing(_ classSchema: ClassSchema, _ given: [Value?]) throws -> ObjectKey? {
        guard let position = classSchema.properties.firstIndex(where: \.isPrimary) else {
            // What is nested may have no key: it is made anew then.
            guard mode == .error || depth > 0 else {
                throw StoreError(
                    .invalidArgument,
                    "'\(classSchema.name)' has no primary key, so mode \"\(mode.rawValue)\" cannot "
                        + "find the object to update; declare one property \"int primary\"")
            }
            return nil
        }
        let property = classSchema.properties[position]
        let value = try initialValue(given[position], property, classSchema)
        return writer.store.view.find(value, in: property, of: classSchema)
    }

    private func duplicate(_ classSchema: ClassSchema, _ given: [Value?]) -> StoreError {
        let position = classSchema.properties.firstIndex(where: \.isPrimary) ?? 0
        let property = classSchema.properties[position]
        let value = given[position] ?? property.defaultValue ?? .null
        return StoreError(
            .duplicateKey,
            "'\(classSchema.name)' has an object with \(property.name) = \(value.summary) already; "
                + "pass the mode \"all\" or \"modified\" to update it")
    }

    /// Creates the objects that nested values describe, checks that links lead to the right class and to
    /// objects that exist, and puts sets in order.
    func resolveLinks(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        if property.type == .mixed { try checkLinks(value, property, classSchema) }
        guard property.type == .object || property.isSet else { return value }
        guard property.type == .object else { return try resolved(value, property, classSchema) }
        return try writer.undoingCreation {
            try with($0).resolved(value, property, classSchema)
        }
    }

    private func resolved(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        switch (property.collection, value) {
        case (.map, .dictionary(let entries)):
            // In the order of the keys, so that objects are created in an order that can be told.
            var resolved: [String: Value] = [:]
            for (name, element) in entries.sorted(by: { $0.key.precedesInBytes($1.key) }) {
                resolved[name] = try resolveElement(element, property, classSchema)
            }
            return .dictionary(resolved)
        case (.list, .list(let elements)):
            return .list(try elements.map { try resolveElement($0, property, classSchema) })
        case (.set, .list(let elements)):
            return .list(
                ElementOrder(property).normalized(
                    try elements.map { try resolveElement($0, property, classSchema) }))
        default: return try resolveElement(value, property, classSchema)
        }
    }

    /// The same for one link, or one element of a collection.
    func resolveElement(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        if property.type == .mixed { try checkLinks(value, property, classSchema) }
        guard property.type == .object, let target = writer.store.view.schema.target(of: property)
        else { return value }
        return try resolveLink(value, target, property, classSchema)
    }

    /// Checks that the links in a mixed value lead to objects that exist and belong to nobody.
    private func checkLinks(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws {
        switch value {
        case .object(let reference):
            let target = writer.store.view.schema.find(table: reference.table)
            let name = target?.name ?? "object"
            guard target?.isEmbedded != true else {
                throw StoreError(
                    .typeMismatch,
                    "property '\(property.name)' of '\(classSchema.name)' cannot link to a '\(name)': "
                        + "an embedded object belongs to one parent")
            }
            guard writer.store.view.isPresent(reference) else {
                throw StoreError(
                    .invalidObject,
                    "property '\(property.name)' of '\(classSchema.name)' cannot link to a '\(name)' "
                        + "that was deleted")
            }
        case .list(let elements):
            for element in elements { try checkLinks(element, property, classSchema) }
        case .dictionary(let entries):
            for element in entries.values { try checkLinks(element, property, classSchema) }
        default: break
        }
    }

    private func resolveLink(
        _ value: Value, _ target: ClassSchema, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        if let embedded = EmbeddedWriter(writer, property, classSchema, mode: mode, depth: depth) {
            return try embedded.make(value).map { .object(embedded.reference(to: $0)) } ?? .null
        }
        switch value {
        case .null: return .null
        case .object(let reference):
            guard reference.table == target.table else {
                let name = writer.store.view.schema.find(table: reference.table)?.name ?? "object"
                throw StoreError(
                    .typeMismatch,
                    "property '\(property.name)' of '\(classSchema.name)' links to "
                        + "\(target.name), got a '\(name)'")
            }
            guard writer.store.view.isPresent(reference) else {
                throw StoreError(
                    .invalidObject,
                    "property '\(property.name)' of '\(classSchema.name)' cannot link to a "
                        + "'\(target.name)' that was deleted")
            }
            return value
        default:
            let nested = ObjectCreation(writer, mode: mode, depth: depth + 1)
            let key = try nested.create(target, value)
            return .object(ObjectReference(table: target.table, key: key))
        }
    }
}

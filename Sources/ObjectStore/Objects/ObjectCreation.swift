import ColumnStorage

/// Creates and updates objects from values: defaults, upserts, and nested values that become linked objects.
///
/// Default functions are the only user code that runs here, and they cannot write (see ``ReadOnlySection``). A new
/// object is inserted with its primary key before the objects nested in its values are created, so that a nested value
/// with the same key refers to that object.
struct ObjectCreation {
    private let writer: ObjectWriter
    private let mode: UpdateMode
    private let nestedMode: UpdateMode
    private let depth: Int

    /// The maximum depth of nested objects.
    ///
    /// Readers recurse to the same depth.
    static let deepestNesting = StoreLimits.nesting

    /// Creates the state of an operation.
    ///
    /// `nestedMode` applies to the objects that nested values describe; by default it equals `mode`.
    init(
        _ writer: ObjectWriter, mode: UpdateMode = .error, nestedMode: UpdateMode? = nil,
        depth: Int = 0
    ) {
        self.writer = writer
        self.mode = mode
        self.nestedMode = nestedMode ?? mode
        self.depth = depth
    }

    /// Creates or updates an object from values by name (`.dictionary`) or in schema order (`.list`).
    ///
    /// A list may be shorter than the list of properties; the missing properties get their defaults.
    func create(_ classSchema: ClassSchema, _ values: Value) throws -> ObjectKey {
        try create(classSchema, positional: given(values, classSchema))
    }

    /// Sets the given values of an existing object.
    func update(_ key: ObjectKey, _ classSchema: ClassSchema, with values: Value) throws {
        try checkDepth()
        defer { writer.store.view.recordChange() }
        try update(key, classSchema, given(values, classSchema))
    }

    /// Returns the values in schema order, nil for missing ones.
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
                "expected a table of values for a '\(classSchema.name)', got \(values.typeName)")
        }
        return given
    }

    private func checkDepth() throws {
        guard depth <= Self.deepestNesting else {
            throw StoreError(
                .invalidArgument,
                "more than \(Self.deepestNesting) objects are nested in each other; "
                    + "create the inner ones first and link to them")
        }
    }

    /// Creates or updates an object from values in schema order, nil for missing ones.
    func create(_ classSchema: ClassSchema, positional given: [Value?]) throws -> ObjectKey {
        try checkDepth()
        if writer.usesStoreSchema, mode == .error || classSchema.primaryKeyPosition != nil,
            let key = try writer.inserter(of: classSchema).create(given)
        {
            writer.store.view.recordChange(of: key, in: classSchema.table)
            writer.store.operation?.didCreate(
                ObjectReference(table: classSchema.table, key: key))
            return key
        }
        return try createSlowly(classSchema, given)
    }

    /// Creates or updates an object whose values the inserter cannot store directly.
    func createSlowly(_ classSchema: ClassSchema, _ given: [Value?]) throws -> ObjectKey {
        // A default function may have read results in the meantime.
        defer { writer.store.view.recordChange() }
        return try writer.atomically { try createWithLinks(classSchema, given) }
    }

    private func createWithLinks(_ classSchema: ClassSchema, _ given: [Value?]) throws -> ObjectKey
    {
        var given = given
        if let position = classSchema.primaryKeyPosition, given[position] == nil {
            // The default is evaluated once, because the lookup and the creation need the same value.
            given[position] = try functionValue(classSchema.properties[position], classSchema)
        }
        if let existing = try updateExisting(classSchema, given) { return existing }
        var values: [Value] = []
        values.reserveCapacity(given.count)
        for (property, value) in zip(classSchema.properties, given) {
            values.append(try initialValue(value, property, classSchema))
        }
        // A default function may have returned an unmanaged object with this key, which was then stored.
        if !writer.store.functionDefaults.isEmpty,
            let existing = try updateExisting(classSchema, given)
        {
            return existing
        }
        let key = writer.session.insert(classSchema.table)
        writer.store.operation?.didCreate(ObjectReference(table: classSchema.table, key: key))
        try fill(key, classSchema, values, given: given)
        return key
    }

    /// Sets the values of a new object.
    ///
    /// The primary key and the defaults come first. Nested values may then find the object by its key and update it;
    /// the explicit values of the object itself are set last and take precedence.
    private func fill(
        _ key: ObjectKey, _ classSchema: ClassSchema, _ values: [Value], given: [Value?]
    ) throws {
        let owning = writer.view.schema.embeddingProperties(of: classSchema.table)
        var pending: [(Property, Value)] = []
        for (position, property) in classSchema.properties.enumerated()
        where !property.isBacklinks {
            let value = values[position]
            let isDefault =
                given[position] == nil
                && (value == .null || Self.isEmpty(value, property) || !property.canHoldLinks)
            if property.isPrimary || isDefault {
                try writeInitial(
                    resolveLinks(value, property, classSchema), to: property, of: key,
                    in: classSchema)
            } else {
                pending.append((property, value))
            }
        }
        for index in pending.indices where owning.isEmpty || !owning.contains(pending[index].0) {
            let (property, value) = pending[index]
            pending[index].1 = try resolveLinks(value, property, classSchema)
        }
        for (property, value) in pending {
            guard !owning.isEmpty, owning.contains(property) else {
                try writeInitial(value, to: property, of: key, in: classSchema)
                continue
            }
            if value == .null || Self.isEmpty(value, property) { continue }
            try EmbeddedWriter(writer, property, classSchema, mode: nestedMode, depth: depth)?
                .set(value, of: key)
        }
    }

    private func writeInitial(
        _ value: Value, to property: Property, of key: ObjectKey, in classSchema: ClassSchema
    ) throws {
        if Self.isEmpty(value, property) { return }
        try writer.write(value, to: property, of: key, in: classSchema)
    }

    /// Returns whether a value is an empty collection, and not an object without values.
    private static func isEmpty(_ value: Value, _ property: Property) -> Bool {
        property.collection != nil && value.isEmptyCollection
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
                    + "pass a value of type \(property.typeName)")
        }
        return .null
    }

    /// Returns the result of the property's default function; nil without a function.
    private func functionValue(
        _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value? {
        try writer.store.functionDefaults[classSchema.table, property.column]?()
    }

    /// Sets the given values of an existing object.
    ///
    /// All values are converted, and all links except embedded ones are resolved, before the first value is set.
    func update(_ key: ObjectKey, _ classSchema: ClassSchema, _ given: [Value?]) throws {
        var changes: [(Property, Value)] = []
        for (property, value) in zip(classSchema.properties, given) {
            guard let value, !property.isPrimary || writer.store.isMigrating else { continue }
            try writer.checkAssignable(property, classSchema)
            changes.append((property, try ValueConversion.stored(value, property, classSchema)))
        }
        let isPart = writer.store.operation != nil
        guard isPart || changes.contains(where: { $0.0.type == .object }) else {
            return try set(resolveLinks(changes, classSchema), of: key, classSchema)
        }
        try writer.atomically {
            let resolved = try resolveLinks(changes, classSchema)
            // Only embedded objects are still created, which can fail.
            if isPart || resolved.count > 1 && resolved.contains(where: { writer.owns($0.0) }) {
                try writer.store.operation?.willChange(
                    ObjectReference(table: classSchema.table, key: key))
            }
            try set(resolved, of: key, classSchema)
        }
    }

    private func set(
        _ changes: [(Property, Value)], of key: ObjectKey, _ classSchema: ClassSchema
    ) throws {
        for (property, resolved) in changes {
            // A nested value may have updated the owner of an embedded object and thereby deleted that object.
            if classSchema.isEmbedded { try writer.checkPresent(key, in: classSchema) }
            if writer.owns(property) {
                try EmbeddedWriter(
                    writer, property, classSchema, of: key, mode: nestedMode, depth: depth)?
                    .set(resolved, of: key)
                continue
            }
            if mode == .modified {
                let stored = try writer.store.view.value(property, of: key, in: classSchema)
                if stored == resolved, !writer.isExact || stored.hasSameForm(as: resolved) {
                    continue
                }
                if case (.dictionary(let old), .dictionary(let new)) = (stored, resolved),
                    property.isMap, !writer.isExact
                {
                    // Entries whose keys are not in the new values are kept.
                    try writer.merge(
                        new.filter { old[$0.key] != $0.value }, into: property, of: key,
                        in: classSchema)
                    continue
                }
            }
            try writer.write(resolved, to: property, of: key, in: classSchema)
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

    /// Updates the object with the primary key in the values; nil if no object has this key.
    ///
    /// Throws `duplicate_key` if the mode does not allow updates.
    private func updateExisting(
        _ classSchema: ClassSchema, _ given: [Value?]
    ) throws -> ObjectKey? {
        guard let existing = try existing(classSchema, given) else { return nil }
        guard mode != .error else { throw duplicate(classSchema, given) }
        try update(existing, classSchema, given)
        return existing
    }

    /// Returns the object with the primary key in the values; nil if no object has this key.
    private func existing(_ classSchema: ClassSchema, _ given: [Value?]) throws -> ObjectKey? {
        guard let position = classSchema.primaryKeyPosition else {
            // A nested object without a key is always created.
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
        return try writer.store.view.find(value, in: property, of: classSchema)
    }

    private func duplicate(_ classSchema: ClassSchema, _ given: [Value?]) -> StoreError {
        let position = classSchema.primaryKeyPosition ?? 0
        let property = classSchema.properties[position]
        let value = given[position] ?? property.defaultValue ?? .null
        return StoreError(
            .duplicateKey,
            "'\(classSchema.name)' already has an object with \(property.name) = \(value.summary)",
            program: "insert it with the mode .updating to update it",
            script: "pass the mode \"all\" or \"modified\" to update it")
    }

    /// Creates the objects that nested values describe, checks that links lead to existing objects of the right class,
    /// and sorts sets.
    func resolveLinks(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        if property.type == .mixed { try checkLinks(value, property, classSchema) }
        guard property.type == .object || property.isSet else { return value }
        guard property.type == .object else { return try resolved(value, property, classSchema) }
        return try writer.atomically { try resolved(value, property, classSchema) }
    }

    private func resolved(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        switch (property.collection, value) {
        case (.map, .dictionary(let entries)):
            // Entries are resolved in key order, so the order of creation is defined.
            var resolved: ValueMap = [:]
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

    /// Resolves one link, or one element of a collection.
    func resolveElement(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws -> Value {
        if property.type == .mixed { try checkLinks(value, property, classSchema) }
        guard property.type == .object, let target = writer.view.schema.target(of: property)
        else { return value }
        return try resolveLink(value, to: target, in: property, of: classSchema)
    }

    /// Checks that the links in a mixed value lead to existing objects that are not embedded.
    func checkLinks(
        _ value: Value, _ property: Property, _ classSchema: ClassSchema
    ) throws {
        switch value {
        case .object(let reference):
            let target = writer.view.schema.find(table: reference.table)
            let name = target?.name ?? "object"
            guard target?.isEmbedded != true else {
                throw StoreError(
                    .typeMismatch,
                    "property '\(property.name)' of '\(classSchema.name)' cannot link to a '\(name)': "
                        + "an embedded object belongs to one parent")
            }
            try requirePresent(reference, className: name, property, classSchema)
        case .list(let elements):
            for element in elements { try checkLinks(element, property, classSchema) }
        case .dictionary(let entries):
            for element in entries.values { try checkLinks(element, property, classSchema) }
        default: break
        }
    }

    /// Throws `invalid_object` for a link to a deleted object.
    private func requirePresent(
        _ target: ObjectReference, className: String, _ property: Property,
        _ classSchema: ClassSchema
    ) throws {
        guard try !writer.view.isPresent(target) else { return }
        throw StoreError(
            .invalidObject,
            "property '\(property.name)' of '\(classSchema.name)' cannot link to a deleted "
                + "'\(className)'")
    }

    private func resolveLink(
        _ value: Value, to target: ClassSchema, in property: Property, of classSchema: ClassSchema
    ) throws -> Value {
        if let embedded = try EmbeddedWriter(
            writer, property, classSchema, mode: nestedMode, depth: depth)
        {
            return try embedded.make(value).map { .object(embedded.reference(to: $0)) } ?? .null
        }
        switch value {
        case .null: return .null
        case .object(let reference):
            guard reference.table == target.table else {
                let name = writer.view.schema.find(table: reference.table)?.name ?? "object"
                throw StoreError(
                    .typeMismatch,
                    "property '\(property.name)' of '\(classSchema.name)' links to "
                        + "\(target.name), got a '\(name)'")
            }
            try requirePresent(reference, className: target.name, property, classSchema)
            return value
        default:
            let nested = ObjectCreation(writer, mode: nestedMode, depth: depth + 1)
            let key = try nested.create(target, value)
            return .object(ObjectReference(table: target.table, key: key))
        }
    }
}

/// Objects outside of a store that refer to each other, possibly in circles.
package protocol ObjectGraph<Node> {
    /// The identity of an object in the graph.
    associatedtype Node: Hashable

    /// Returns the class that the object of a node gets in the store.
    func classSchema(of node: Node) throws -> ClassSchema
    /// Returns the nodes to which a node links, directly or through embedded objects and collections.
    func links(of node: Node) throws -> [Node]
    /// Returns the values of the properties that can hold links, or those of all others, by name or in schema order.
    ///
    /// When the former are requested, all objects of the graph exist.
    func values(of node: Node, in classSchema: ClassSchema, holdingLinks: Bool) throws -> Value
}

/// The creation of a graph of objects: creates each, nearest to the root first, with the values that hold no links, and
/// then sets the links.
///
/// The creation can continue with other roots, whose graphs may share nodes.
package final class GraphCreation<Node: Hashable> {
    private let writer: ObjectWriter
    private let mode: UpdateMode
    /// The objects that were created or updated.
    package private(set) var references: [Node: ObjectReference] = [:]

    init(_ writer: ObjectWriter, _ mode: UpdateMode) {
        self.writer = writer
        self.mode = mode
    }

    /// Prepares a creation in the open write; throws `not_in_write` outside of one.
    package init(in store: Store, _ mode: UpdateMode) throws {
        writer = try store.writer(changing: "the store")
        self.mode = mode
    }

    /// Creates or updates the object of a root and those to which it leads.
    ///
    /// A linked object without a primary key is always created; so is the root if it `isNew`. Throws the errors of
    /// ``Store/create(_:_:mode:)``.
    package func create(
        _ root: Node, as classSchema: ClassSchema, isNew: Bool = false,
        in graph: some ObjectGraph<Node>
    ) throws -> ObjectReference {
        if !isNew { try writer.store.checkTopLevel(classSchema) }
        var members = [(node: root, classSchema: classSchema)]
        var found: Set = [root]
        var next = 0
        while next < members.count {
            let (node, classSchema) = members[next]
            let isUpdatable = next == 0 && !isNew || classSchema.primaryKeyPosition != nil
            let key = try ObjectCreation(writer, mode: isUpdatable ? mode : .error).create(
                classSchema, graph.values(of: node, in: classSchema, holdingLinks: false))
            references[node] = ObjectReference(table: classSchema.table, key: key)
            for linked in try graph.links(of: node)
            where references[linked] == nil && found.insert(linked).inserted {
                members.append((linked, try graph.classSchema(of: linked)))
            }
            next += 1
        }
        assert(
            members.allSatisfy { references[$0.node] != nil },
            "each node of the graph has an object")
        assert(found.count == members.count, "each node of the graph is a member once")
        let completion = ObjectCreation(writer, mode: mode == .error ? .all : mode)
        for member in members {
            let values = try graph.values(
                of: member.node, in: member.classSchema, holdingLinks: true)
            guard !values.isEmptyCollection, let created = references[member.node] else { continue }
            try completion.update(created.key, member.classSchema, with: values)
        }
        // because: the root is the first member.
        return references[root]!
    }
}

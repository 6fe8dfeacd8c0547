import ColumnStorage

/// A path from an object to what a projection shows: `name`, `owner.address.city`, `toys[1].name`, `toys.@sum.price`,
/// `notes['food']`, `toys`.
///
/// A path with one value yields the value; after a nil link and for a missing element it is null. A path to a collection
/// of one object yields the collection, and a path with several values a list of those that are not nil.
package struct ProjectedPath: Sendable {
    /// The property at the end of a path.
    private struct End: Sendable {
        let property: Property
        let classSchema: ClassSchema
        /// The path to the object that has the property; nil if it is the object at which the path begins.
        let owner: ValuePath?
    }

    /// The text of the path.
    package let text: String
    private let path: ValuePath
    private let schema: Schema
    /// The property at the end, unless several objects have it, or the path ends in an element or an operation.
    private let end: End?
    /// Whether the value may be null even if its property is required.
    ///
    /// This applies to values after a link, and to an element, a minimum, a maximum or an average.
    package let isOptional: Bool
    /// The key paths of the properties that determine the value, in the form that observers take.
    package let observed: [String]

    /// Parses a path of a class.
    ///
    /// Throws `unknown_property` and `invalid_query`.
    package init(_ text: String, class classSchema: ClassSchema, schema: Schema) throws {
        self.text = text
        self.schema = schema
        path = try ValuePath(text, class: classSchema, schema: schema)
        let syntax: PathSyntax
        do throws(QueryFault) { syntax = try PredicateParser.parsePath(text) } catch {
            throw error.rendered(in: text)
        }
        end = Self.end(syntax, path, class: classSchema, schema: schema)
        let operations = syntax.components.filter(\.isAggregate).map { $0.name.lowercased() }
        let isTotal = operations.contains { ["count", "size", "sum"].contains($0) }
        let links = path.plain?.components.dropLast() ?? []
        isOptional =
            end?.property.isSingle != false && !isTotal
            && (path.plain == nil
                || links.contains { $0.target.flatMap(schema.find(table:))?.isEmbedded == false })
        // A change of a collection in the middle of the path changes which values there are.
        let components = path.plain?.components ?? []
        observed =
            [text]
            + components.indices.dropLast().filter { components[$0].isToMany }.map { list in
                components[...list].map(\.property.name).joined(separator: ".")
            }
    }

    private static func end(
        _ syntax: PathSyntax, _ path: ValuePath, class classSchema: ClassSchema, schema: Schema
    ) -> End? {
        guard let last = syntax.components.last, !last.isAggregate, last.brackets.isEmpty else {
            return nil
        }
        var rest = syntax
        rest.components.removeLast()
        guard !rest.components.isEmpty else {
            return classSchema.property(named: last.name).map {
                End(property: $0, classSchema: classSchema, owner: nil)
            }
        }
        // Without an owner, the path goes through a map or a mixed value.
        guard
            let owner = try? ValuePath(
                rest, 0..<path.text.utf8.count, path.text, class: classSchema, schema: schema),
            !owner.isToMany, let owners = owner.target.flatMap(schema.find(table:)),
            let property = owners.property(named: last.name)
        else { return nil }
        return End(property: property, classSchema: owners, owner: owner)
    }

    /// The property that the path consists of; nil for a longer path.
    package var ownProperty: Property? {
        path.plain?.components.count == 1 ? path.plain?.components[0].property : nil
    }

    /// Throws `invalid_query`, with the fix in its message, unless each object has one value, possibly nil.
    package func requireOne(for purpose: String) throws { try path.requireOne(for: purpose) }

    /// Returns the path with the same text in another schema.
    ///
    /// Throws the errors of ``init(_:class:schema:)``.
    package func followed(to schema: Schema) throws -> ProjectedPath {
        guard schema !== self.schema, let table = path.dependencies.first?.components[0].table,
            let classSchema = schema.find(table: table)
        else { return self }
        return try ProjectedPath(text, class: classSchema, schema: schema)
    }

    /// Returns the path in the schema of a view; only links inside mixed values can lead to more classes.
    ///
    /// Throws `unknown_property` if the schema lacks a property of the path.
    private func current(in view: StoreView) throws -> ProjectedPath {
        guard view.schema !== schema else { return self }
        for path in path.dependencies {
            try path.check(in: view.schema, of: "projection", "the path '\(text)'")
        }
        return path.readsMixed ? try followed(to: view.schema) : self
    }

    /// Returns the property at the end of the path, and the object that has it; nil if several objects have it, after a
    /// nil link, and for elements and operations.
    package func end(
        of key: ObjectKey, in source: ObjectSource
    ) throws -> (property: Property, owner: LiveObject)? {
        let view = try source.openView()
        let path = try current(in: view)
        guard let end = path.end else { return nil }
        try path.record(key, source)
        return try path.ownerKey(of: end, key, in: view).map {
            (end.property, source.object(end.classSchema, $0))
        }
    }

    private func ownerKey(of end: End, _ key: ObjectKey, in view: StoreView) throws -> ObjectKey? {
        guard let owner = end.owner else { return key }
        guard case .object(let reference) = try owner.value(owner.bound(to: view).value(key)) else {
            return nil
        }
        return reference.key
    }

    /// Reads the value for one object, and records the reads if they are tracked.
    ///
    /// Throws `invalid_object` if the object was deleted, `closed`, and `unknown_property` if the schema lacks a property
    /// of the path.
    package func value(of key: ObjectKey, in source: ObjectSource) throws -> Value {
        let view = try source.openView()
        let current = try current(in: view)
        try current.record(key, source)
        return try current.value(of: key, in: view)
    }

    private func value(of key: ObjectKey, in view: StoreView) throws -> Value {
        try StoreError.evaluating {
            if let end, end.owner == nil || !end.property.isSingle {
                guard let owner = try ownerKey(of: end, key, in: view) else { return .null }
                return try view.value(end.property, of: owner, in: end.classSchema)
            }
            let bound = try path.bound(to: view)
            guard path.isToMany else { return path.value(try bound.value(key)) }
            return .list(try bound.values(key).map(path.value).filter { $0 != .null })
        }
    }

    /// Records a read of everything that determines the value, if reads are tracked.
    private func record(_ key: ObjectKey, _ source: ObjectSource) throws {
        guard let (store, reader) = source.tracked else { return }
        for path in path.dependencies {
            try store.recordReads(along: path.components[...], from: key, reader)
        }
    }
}

extension Store {
    /// Records that a property of an object is read; for backlinks, records a read of the linking objects.
    fileprivate func recordRead(
        of property: Property, _ owner: ClassSchema, _ key: ObjectKey, _ reader: ReadRecorder
    ) throws {
        let component = PropertyPath.Component(property, of: owner, in: view.schema)
        guard let origin = component.origin else {
            return reader.recordRead(of: self, owner.table, key, property.column)
        }
        try recordRead(of: Query(.backlinks(origin.table, origin.column, key), of: origin.table))
    }

    /// Records a read of all values to which a path leads from an object.
    fileprivate func recordReads(
        along path: ArraySlice<PropertyPath.Component>, from key: ObjectKey, _ reader: ReadRecorder
    ) throws {
        guard let component = path.first, let owner = view.schema.find(table: component.table),
            try view.isPresent(ObjectReference(table: component.table, key: key))
        else { return }
        try recordRead(of: component.property, owner, key, reader)
        guard path.count > 1 else { return }
        for reference in try view.value(component.property, of: key, in: owner).links
        where reference.table == component.target {
            try recordReads(along: path.dropFirst(), from: reference.key, reader)
        }
    }
}

extension Value {
    /// The objects that a link, or a collection of links, leads to.
    fileprivate var links: [ObjectReference] {
        switch self {
        case .object(let reference): [reference]
        case .list(let values): values.flatMap(\.links)
        case .dictionary(let values): values.values.flatMap(\.links)
        default: []
        }
    }
}

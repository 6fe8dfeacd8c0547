import ColumnStorage

/// A path from an object to a value: links, lists and backlinks, optionally followed by a property with a value.
///
/// Two paths are equal if they have the same properties of the same tables.
package struct PropertyPath: Hashable, Sendable {
    /// One property of a path.
    package struct Component: Hashable, Sendable {
        /// The class that has the property.
        package let className: String
        /// The table of that class.
        package let table: TableID
        /// The property: a link, list, backlinks, or at the end any value.
        ///
        /// For `@links.Person.dogs`, this is a backlinks property that no class declares.
        package let property: Property
        /// The table of the objects that the property leads to; nil for values.
        ///
        /// For a mixed property in the middle of a path, this is the table to which the path follows its links.
        package let target: TableID?

        /// The linking table and column of a backlinks property, nil for others.
        package let origin: Origin?

        /// The source of backlinks.
        package struct Origin: Hashable, Sendable {
            /// The table whose rows contain the links.
            package let table: TableID
            /// The column that contains the links.
            package let column: ColumnID
        }

        /// Whether the property leads to any number of values.
        package var isToMany: Bool { !property.isSingle }

        init(_ property: Property, of classSchema: ClassSchema, in schema: Schema) {
            className = classSchema.name
            table = classSchema.table
            self.property = property
            target = schema.target(of: property)?.table
            if let origin = property.origin, let source = schema.find(origin.className),
                let link = source.property(named: origin.property)
            {
                self.origin = Origin(table: source.table, column: link.column)
            } else {
                origin = nil
            }
        }

        private init(_ other: Component, target: TableID) {
            className = other.className
            table = other.table
            property = other.property
            origin = other.origin
            self.target = target
        }

        /// Returns the same mixed property, with its links followed to objects of one class.
        func leading(to classSchema: ClassSchema) -> Component {
            Component(self, target: classSchema.table)
        }

        /// Returns whether both are the same property of the same class, followed to the same class.
        package static func == (left: Component, right: Component) -> Bool {
            left.table == right.table && left.property.name == right.property.name
                && left.property.column == right.property.column && left.origin == right.origin
                && left.target == right.target
        }

        /// Hashes the class and the property's name.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(table)
            hasher.combine(property.name)
        }
    }

    /// The properties from the first to the last; never empty.
    package let components: [Component]

    /// The maximum number of components; a longer path could exhaust the stack, because paths are followed recursively.
    static let maxComponents = 100

    init(_ components: [Component]) {
        assert(!components.isEmpty, "a path has at least one property")
        self.components = components
    }

    /// Throws `unknown_property` if a property of the path was removed or has another type.
    ///
    /// `subject` depends on the path, and is a part of `whole`, which the message tells to create again.
    func check(in schema: Schema, of whole: String, _ subject: String) throws(StoreError) {
        for component in components {
            let source = schema.find(table: component.origin?.table ?? component.table)
            let column = component.origin?.column ?? component.property.column
            guard source?.property(in: column) == nil else { continue }
            throw StoreError(
                .unknownProperty,
                "\(subject) depends on '\(component.className).\(component.property.name)', which was removed or "
                    + "has another type\(source?.lost.since(component.property.name) ?? ""); create the \(whole) "
                    + "again")
        }
    }

    /// The text of the path, such as `owner.name`.
    package var description: String { components.map(\.property.name).joined(separator: ".") }

    /// Returns whether a key path continues after a mixed property, or after a map of values, with a key.
    static func entersMixed(
        _ text: String, class classSchema: ClassSchema, schema: Schema
    ) -> Bool {
        var current = classSchema
        let names = text.split(separator: ".", omittingEmptySubsequences: false)
        for name in names.dropLast() {
            guard let property = current.property(named: String(name.prefix { $0 != "[" })) else {
                return false
            }
            if property.type == .mixed || property.collection == .map && property.type != .object {
                return true
            }
            guard let target = schema.target(of: property) else { return false }
            current = target
        }
        let last = names.last?.prefix { $0 != "[" }
        return last?.count != names.last?.count
            && last.flatMap { current.property(named: String($0)) }?.type == .mixed
    }

    /// Parses a key path that may continue through links inside mixed values.
    ///
    /// Returns one path for each class that has the next property; `*` means every property. Throws the errors of
    /// ``parse(_:class:schema:)``, and `invalid_query` for a text that matches more than 1,000 paths.
    static func parseAll(
        _ text: String, class classSchema: ClassSchema, schema: Schema
    ) throws -> [PropertyPath] {
        try checkLength(text)
        guard entersMixed(text, class: classSchema, schema: schema) else {
            return [try parse(text, class: classSchema, schema: schema)]
        }
        var open: [(components: [Component], current: ClassSchema?)] = [([], classSchema)]
        // Plain values that a star matches, if only stars follow.
        var ended: [PropertyPath] = []
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for (position, name) in names.enumerated() {
            let isLast = position == names.count - 1
            let endsInStars = names[position...].allSatisfy { $0 == "*" }
            var next: [(components: [Component], current: ClassSchema?)] = []
            for (components, current) in open {
                var owners: [(prefix: [Component], owner: ClassSchema)] = []
                if let current {
                    owners = [(components, current)]
                } else if let last = components.last, last.property.type == .mixed {
                    owners = schema.classes.filter { !$0.isEmbedded }
                        .map { (components.dropLast() + [last.leading(to: $0)], $0) }
                }
                for (prefix, owner) in owners {
                    let properties =
                        name == "*"
                        ? owner.properties : owner.property(named: name).map { [$0] } ?? []
                    for property in properties {
                        let path = prefix + [Component(property, of: owner, in: schema)]
                        if isLast || name != "*" || property.canHoldLinks || property.isBacklinks {
                            next.append((path, schema.target(of: property)))
                        } else if endsInStars {
                            ended.append(PropertyPath(path))
                        }
                    }
                }
            }
            guard !next.isEmpty || !ended.isEmpty else {
                throw StoreError(
                    .unknownProperty,
                    "unknown property '\(name)' in the key path '\(text)': no class that the path may lead to has it"
                )
            }
            guard next.count + ended.count <= 1000 else {
                throw StoreError(
                    .invalidQuery,
                    "the key path '\(text)' can go through links inside mixed values in too many ways"
                )
            }
            open = next
        }
        return ended + open.map { PropertyPath($0.components) }
    }

    private static func checkLength(_ text: String) throws {
        guard text.utf8.count(where: { $0 == UInt8(ascii: ".") }) < maxComponents else {
            throw StoreError(
                .invalidQuery,
                "the key path '\(text.prefix(40))…' is too long; at most \(maxComponents) steps are allowed"
            )
        }
    }

    /// Parses a key path such as `owner.name` of a class.
    ///
    /// Throws `unknown_property`, with the most similar known name, and `invalid_query` for an empty component, a value
    /// in the middle and more than 100 components.
    package static func parse(
        _ text: String, class classSchema: ClassSchema, schema: Schema
    ) throws -> PropertyPath {
        try checkLength(text)
        var components: [Component] = []
        var current: ClassSchema? = classSchema
        for name in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard !name.isEmpty else {
                throw StoreError(.invalidQuery, "the key path '\(text)' has an empty component")
            }
            guard let owner = current else {
                throw StoreError(
                    .invalidQuery,
                    "the key path '\(text)' continues after '\(components.last?.property.name ?? "")',"
                        + (components.last?.property.type == .mixed
                            ? " which is mixed"
                            : " which is not a link"))
            }
            guard let property = owner.property(named: String(name)) else {
                let hint = NearestName.hint(for: String(name), among: owner.properties.map(\.name))
                throw StoreError(
                    .unknownProperty,
                    "unknown property '\(name)' in '\(owner.name)'\(owner.lost.since(String(name))), in the key "
                        + "path '\(text)'" + hint)
            }
            components.append(Component(property, of: owner, in: schema))
            current = schema.target(of: property)
        }
        return PropertyPath(components)
    }
}

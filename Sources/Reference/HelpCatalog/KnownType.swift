import ObjectStore

/// The type of an expression, as far as its text determines the type, for the linter and for completion.
package struct KnownType {
    /// The kind of value.
    package let type: HelpType
    /// The schema of the store that the value comes from; nil if it is unknown.
    package var schema: Schema?
    /// The class of an object, or of the objects of a collection.
    package var element: ClassSchema?

    /// Creates a type.
    package init(type: HelpType, schema: Schema? = nil, element: ClassSchema? = nil) {
        self.type = type
        self.schema = schema
        self.element = element
    }

    private static let byAnnotation = Dictionary(
        HelpCatalog.types.map { ($0.annotation, $0) }, uniquingKeysWith: { first, _ in first })

    /// Returns the entry with a name, which the type can inherit from its parent.
    package func entry(_ name: String) -> HelpEntry? {
        HelpCatalog.entry(name, of: type.name)
    }

    /// All names of the type.
    var names: [String] {
        type.names(isMethod: true) + type.names(isMethod: false)
    }

    /// Returns the type of an annotation in a signature for this receiver.
    ///
    /// `named` is the class that an argument names.
    package func meaning(of annotation: String, named: ClassSchema? = nil) -> KnownType? {
        var text = annotation[...]
        if text.last == "?" { text = text.dropLast() }
        if text == "self" { return self }
        let element = named ?? element
        if text == "T" {
            guard element != nil || type == HelpCatalog.results else { return nil }
            return KnownType(type: HelpCatalog.object, schema: schema, element: element)
        }
        let isOfElement = text.hasSuffix("<T>")
        if isOfElement { text = text.dropLast(3) }
        guard let found = Self.byAnnotation[String(text)] else { return nil }
        return KnownType(type: found, schema: schema, element: isOfElement ? element : nil)
    }

    /// Returns the type of a property of an object with this type.
    package func value(of property: Property) -> KnownType? {
        if property.isBacklinks {
            return KnownType(
                type: HelpCatalog.results, schema: schema,
                element: property.target.flatMap { schema?.find($0) })
        }
        let target = schema?.target(of: property)
        switch property.collection {
        case .list: return KnownType(type: HelpCatalog.list, schema: schema, element: target)
        case .set: return KnownType(type: HelpCatalog.set, schema: schema, element: target)
        case .map: return KnownType(type: HelpCatalog.map, schema: schema, element: target)
        case nil: break
        }
        switch property.type {
        case .object:
            return target.map { KnownType(type: HelpCatalog.object, schema: schema, element: $0) }
        case .date: return KnownType(type: HelpCatalog.date)
        case .decimal: return KnownType(type: HelpCatalog.decimal)
        default: return nil
        }
    }

    /// The type of the elements of a collection of objects.
    package var elements: KnownType? {
        switch type {
        case HelpCatalog.results, HelpCatalog.list, HelpCatalog.set, HelpCatalog.map:
            meaning(of: "T")
        default: nil
        }
    }

    /// Whether the catalog lists all keys of the table, or all fields of the value.
    var isClosed: Bool {
        switch type {
        case HelpCatalog.object: element != nil
        // The keys of these types are data.
        case HelpCatalog.map, HelpCatalog.mixedMap, HelpCatalog.unmanaged, HelpCatalog.projection:
            false
        default: true
        }
    }
}

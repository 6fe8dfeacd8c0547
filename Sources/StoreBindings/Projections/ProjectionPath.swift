import ObjectStore

/// A path from the root object of a projection to a value: `owner.address.city`, `toys[1].name`, `notes['food']`,
/// `toys.@count`.
struct ProjectionPath {
    /// The selection of one element of a collection.
    enum Selector {
        /// An index, starting at 0.
        case index(Int)
        case first, last
        /// A key of a map.
        case key(String)
    }

    struct Step {
        let property: Property
        let selector: Selector?
    }

    /// The text of the path.
    let text: String
    let steps: [Step]
    /// Whether the path ends in `@count`.
    let isCount: Bool

    /// Parses a path that starts at a class.
    ///
    /// Throws `unknown_property` for unknown names and `invalid_query` for other errors.
    init(_ text: String, class classSchema: ClassSchema, schema: Schema) throws {
        self.text = text
        var steps: [Step] = []
        var isCount = false
        var current: ClassSchema? = classSchema
        let parts = Self.parts(of: text)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            if part == "@count", isLast, let last = steps.last, last.selector == nil,
                !last.property.isSingle
            {
                isCount = true
                break
            }
            guard let owner = current else {
                let before = steps.last?.property.name ?? ""
                throw Self.fault(text, "'\(before)' has no properties, so '\(part)' cannot follow")
            }
            let (name, inside) = try Self.split(part, text)
            let property = try owner.requireProperty(name)
            let selector = try inside.map { try Self.selector($0, property, text) }
            steps.append(Step(property: property, selector: selector))
            current =
                property.type == .object || property.isBacklinks ? schema.target(of: property) : nil
        }
        guard !steps.isEmpty else { throw Self.fault(text, "it is empty") }
        self.steps = steps
        self.isCount = isCount
    }

    /// Splits a path at the dots outside of brackets.
    private static func parts(of text: String) -> [String] {
        var parts: [String] = [""]
        var depth = 0
        for character in text {
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            if character == ".", depth == 0 {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts
    }

    private static func split(_ part: String, _ text: String) throws -> (String, String?) {
        guard let open = part.firstIndex(of: "[") else { return (part, nil) }
        guard part.last == "]" else { throw fault(text, "']' is missing after '\(part)'") }
        return (
            String(part[..<open]), String(part[part.index(after: open)...].dropLast())
        )
    }

    private static func selector(
        _ inside: String, _ property: Property, _ text: String
    ) throws -> Selector {
        guard !property.isSingle else {
            throw fault(text, "'\(property.name)' is \(property.typeName), not a collection")
        }
        if let quote = inside.first, quote == "'" || quote == "\"", inside.count > 1,
            inside.last == quote
        {
            guard property.collection == .map else {
                throw fault(text, "'\(property.name)' is not a map; use an index such as [1]")
            }
            return .key(String(inside.dropFirst().dropLast()))
        }
        guard property.collection != .map else {
            throw fault(text, "'\(property.name)' is a map; use a key such as ['name']")
        }
        switch inside {
        case "first": return .first
        case "last": return .last
        default:
            guard let position = Int(inside), position >= 1 else {
                throw fault(
                    text, "expected an index from 1, first or last in brackets, got '\(inside)'")
            }
            return .index(position - 1)
        }
    }

    private static func fault(_ text: String, _ reason: String) -> StoreError {
        StoreError(.invalidQuery, "the path '\(text)' is not valid: \(reason)")
    }

    // MARK: - Meaning

    /// The property of the root object, if the path consists of its name only; nil for other paths.
    var ownProperty: Property? {
        guard steps.count == 1, steps[0].selector == nil, !isCount else { return nil }
        return steps[0].property
    }

    /// The key paths whose changes can change the value.
    var keyPaths: [String] {
        let names = steps.map(\.property.name)
        let collections = steps.indices.dropLast().filter { !steps[$0].property.isSingle }
        return [names.joined(separator: ".")]
            + collections.map { names[...$0].joined(separator: ".") }
    }

    /// Whether the path leads through a collection to several values.
    private var isMany: Bool {
        steps.dropLast().contains { !$0.property.isSingle && $0.selector == nil }
    }

    /// Returns the collection at the end of the path, and the object that contains it.
    ///
    /// Returns nil for single values, for several collections, and if a link on the path is nil.
    func collection(of root: LiveObject) throws -> (property: Property, owner: LiveObject)? {
        guard let last = steps.last, !last.property.isSingle, last.selector == nil, !isCount,
            !isMany
        else { return nil }
        let values = try walk(steps.dropLast(), from: root)
        guard case .object(let owner)? = values.first, let object = root.source.object(owner)
        else { return nil }
        return (last.property, object)
    }

    /// Returns the value of the path for an object: nil if a link on the path is nil, and a list of values if the path
    /// traverses a collection.
    func value(of root: LiveObject) throws -> Value {
        let values = try walk(steps[...], from: root)
        let endsInCollection =
            steps.last.map { !$0.property.isSingle && $0.selector == nil } ?? false
        if isCount { return .int(Int64(values.count)) }
        if isMany || (endsInCollection && steps.last?.property.collection != .map) {
            return .list(values.filter { $0 != .null })
        }
        return values.first ?? .null
    }

    fileprivate func walk(_ steps: ArraySlice<Step>, from root: LiveObject) throws -> [Value] {
        var current: [Value] = [.object(root.reference)]
        for (index, step) in zip(steps.indices, steps) {
            let isLast = index == self.steps.count - 1
            var next: [Value] = []
            for case .object(let reference) in current {
                guard let object = root.source.object(reference) else { continue }
                next += try values(step, of: object, isLast: isLast)
            }
            current = next
        }
        return current
    }

    private func values(_ step: Step, of object: LiveObject, isLast: Bool) throws -> [Value] {
        let property = step.property
        if property.isSingle { return [try object.value(property.name)] }
        if property.collection == .map {
            let entries = try object.map(property.name).entries()
            switch step.selector {
            case .key(let key): return entries.filter { $0.key == key }.map(\.value)
            default:
                if !isLast || isCount || isMany { return entries.map(\.value) }
                return [try object.value(property.name)]
            }
        }
        let elements = try elements(of: property, of: object)
        switch step.selector {
        case .index(let position):
            return elements.indices.contains(position) ? [elements[position]] : []
        case .first: return Array(elements.prefix(1))
        case .last: return Array(elements.suffix(1))
        case .key, nil: return elements
        }
    }

    private func elements(of property: Property, of object: LiveObject) throws -> [Value] {
        if property.isBacklinks {
            let results = try Results(backlinks: property, of: object)
            let table = results.query.table
            return try results.keys().array.map {
                .object(ObjectReference(table: table, key: $0))
            }
        }
        switch property.collection {
        case .list: return try object.list(property.name).values()
        case .set: return try object.set(property.name).values()
        default: return []
        }
    }
}

extension ProjectionPath {
    /// Returns the object that contains the value of the path; nil if a link is nil or a collection is empty.
    func owner(of root: LiveObject) throws -> LiveObject? {
        guard case .object(let reference)? = try walk(steps.dropLast(), from: root).first else {
            return nil
        }
        return root.source.object(reference)
    }
}

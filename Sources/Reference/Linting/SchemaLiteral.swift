import ObjectStore

/// A schema literal in a script: `{ Dog = { id = "int primary" } }`.
struct SchemaLiteral {
    /// An error in the schema, with its location.
    struct Fault {
        let message: String
        let offset: Int
    }

    /// The classes; nil if the script computes a part of them.
    private(set) var classes: [ClassSchema]?
    private(set) var faults: [Fault] = []
    /// The offsets of the property types, by class and property as in error messages: `'Dog.age'`.
    private var offsets: [String: Int] = [:]

    /// Parses the fields of a table; `follow` returns the fields of an expression that is known to be a table.
    init(_ fields: [SourceField], follow: (SourceExpression) -> [SourceField]?) {
        var classes: [ClassSchema] = []
        var isWhole = true
        for field in fields {
            guard let name = Self.key(of: field), let properties = follow(field.value),
                let found = read(name, properties, follow)
            else {
                isWhole = false
                continue
            }
            classes.append(found)
        }
        self.classes = isWhole ? classes : nil
    }

    /// Returns the offset of the property at the start of a message of the schema check.
    func offset(of message: Substring) -> Int? {
        message.split(separator: "'", maxSplits: 1).first.flatMap { offsets[String($0)] }
    }

    private static func key(of field: SourceField) -> String? {
        field.name?.text ?? field.key.flatMap(SourceText.content)?.text
    }

    /// Parses one class; returns nil if the script computes a part of it.
    private mutating func read(
        _ className: String, _ fields: [SourceField], _ follow: (SourceExpression) -> [SourceField]?
    ) -> ClassSchema? {
        var properties: [Property] = []
        var isEmbedded = false
        var isWhole = true
        for field in fields {
            let name = Self.key(of: field)
            if name == "embedded", case .constant(let token) = field.value {
                isEmbedded = token.text == "true"
            } else if name == "indexes", case .table = field.value, follow(field.value) != nil {
                continue
            } else if let name {
                isWhole = add(name, field.value, to: className, in: &properties, follow) && isWhole
            } else if let pair = follow(field.value) {
                isWhole = addPair(pair, to: className, in: &properties, follow) && isWhole
            } else {
                isWhole = false
            }
        }
        return isWhole ? ClassSchema(className, properties, isEmbedded: isEmbedded) : nil
    }

    /// Adds a property in the form `{ "name", "type" }` or `{ "name", type = … }`.
    private mutating func addPair(
        _ pair: [SourceField], to className: String, in properties: inout [Property],
        _ follow: (SourceExpression) -> [SourceField]?
    ) -> Bool {
        let values = pair.filter { $0.name == nil && $0.key == nil }.map(\.value)
        guard let name = values.first.flatMap(SourceText.content)?.text else { return false }
        if values.count > 1 { return add(name, values[1], to: className, in: &properties, follow) }
        return addLong(name, pair, to: className, in: &properties)
    }

    private mutating func add(
        _ name: String, _ value: SourceExpression, to className: String,
        in properties: inout [Property], _ follow: (SourceExpression) -> [SourceField]?
    ) -> Bool {
        if let text = SourceText.content(of: value) {
            return parse(name, text, of: className, into: &properties)
        }
        guard let long = follow(value) else { return false }
        return addLong(name, long, to: className, in: &properties)
    }

    private mutating func addLong(
        _ name: String, _ fields: [SourceField], to className: String,
        in properties: inout [Property]
    ) -> Bool {
        guard let type = fields.first(where: { $0.name?.text == "type" }),
            let text = SourceText.content(of: type.value)
        else { return false }
        // An ignored property is known to the script only, so the class counts as unknown.
        if fields.contains(where: { $0.name?.text == "ignored" }) { return false }
        guard parse(name, text, of: className, into: &properties) else { return false }
        for field in fields {
            guard case .constant(let token) = field.value, token.text == "true" else { continue }
            let last = properties.count - 1
            switch field.name?.text {
            case "primary": properties[last].isPrimary = true
            case "indexed": properties[last].isIndexed = true
            case "fulltext": properties[last].isFullText = true
            default: break
            }
        }
        return true
    }

    private mutating func parse(
        _ name: String, _ text: (text: String, start: Int), of className: String,
        into properties: inout [Property]
    ) -> Bool {
        offsets["\(className).\(name)"] = text.start
        do {
            properties.append(try PropertySyntax.parse(name: name, in: className, text.text))
            return true
        } catch let error as StoreError {
            faults.append(Fault(message: error.message, offset: text.start))
        } catch {}
        return false
    }
}

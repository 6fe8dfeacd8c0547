import ObjectStore

/// Checks a call of a function or method of the API: its result, and errors in its arguments.
struct CallCheck {
    private let run: LintRun
    private let entry: HelpEntry
    private let receiver: KnownType
    private let arguments: [SourceExpression]
    private let isJudging: Bool
    /// The type of the call's result, if it can be determined.
    private(set) var result: KnownType?

    init(
        _ run: LintRun, of entry: HelpEntry, on receiver: KnownType, arguments: [SourceExpression],
        isJudging: Bool
    ) {
        self.run = run
        self.entry = entry
        self.receiver = receiver
        self.arguments = arguments
        self.isJudging = isJudging
        let named = namedClass()
        if entry.name == "open", receiver.type == HelpCatalog.moonpool {
            result = KnownType(
                type: HelpCatalog.store,
                schema: run.schema(ofOpening: arguments.first, isJudging: isJudging))
        } else {
            result = commonResult(named)
        }
        guard isJudging else { return }
        judgeTexts(named)
        judgeTables(named)
        bindFunctions(named)
        run.check(arguments)
    }

    // MARK: - Result

    /// Returns the class that an argument names.
    private func namedClass() -> ClassSchema? {
        guard let position = classPosition, let text = literal(at: position) else { return nil }
        return receiver.schema?.find(text.text)
    }

    /// The index of the argument that names a class.
    private var classPosition: Int? {
        entry.signatures.lazy.compactMap { signature in
            signature.parameters.firstIndex { $0.type == "`T`" || $0.name == "class" }
        }.first
    }

    /// Returns the result type, if it is the same for all overloads.
    private func commonResult(_ named: ClassSchema?) -> KnownType? {
        let results = Set(entry.signatures.map { $0.results.first ?? "" })
        guard results.count == 1, let annotation = results.first else { return nil }
        // For a collection of values, `where` and similar methods return no objects.
        let isOfObjects =
            ![HelpCatalog.list, HelpCatalog.set, HelpCatalog.map].contains(receiver.type)
            || receiver.element != nil
        guard isOfObjects || !annotation.hasPrefix("Results") else { return nil }
        // If the class is unknown, the type of an object is unknown too, but not the type of a collection.
        if ["T", "T?"].contains(annotation), named == nil, receiver.element == nil,
            receiver.type == HelpCatalog.store
        {
            return KnownType(type: HelpCatalog.object, schema: receiver.schema)
        }
        return receiver.meaning(of: annotation, named: named)
    }

    private func literal(at position: Int) -> (text: String, start: Int)? {
        arguments.indices.contains(position) ? SourceText.content(of: arguments[position]) : nil
    }

    // MARK: - Texts

    /// The functions that take paths, with the positions of the paths.
    private static let pathMethods: [String: Range<Int>] = [
        "sorted": 0..<1, "group_by": 0..<1, "sum": 0..<1, "min": 0..<1, "max": 0..<1,
        "average": 0..<1, "count": 0..<1, "get": 0..<1, "project": 0..<1, "histogram": 0..<1,
        "observe_value": 0..<1, "plot": 0..<2, "observe_aggregate": 1..<2, "distinct": 0..<100,
        "values": 0..<100,
    ]

    private func judgeTexts(_ named: ClassSchema?) {
        if let position = classPosition, let text = literal(at: position), named == nil,
            let schema = receiver.schema
        {
            let names = schema.classes.map(\.name)
            run.report(
                .unknownClass,
                "there is no class '\(text.text)'" + NearestName.hint(for: text.text, among: names),
                at: text.start)
        }
        guard let element = receiver.element, let schema = receiver.schema else { return }
        if entry.name == "where", let text = literal(at: 0),
            let fault = PredicateCheck.fault(in: text.text, class: element, schema: schema)
        {
            run.report(.invalidQuery, fault.message, at: text.start + fault.range.lowerBound)
        }
        let positions = Self.pathMethods[entry.name] ?? 0..<0
        let isAggregate = entry.name == "observe_aggregate"
        let function = isAggregate ? literal(at: 0)?.text ?? "" : entry.name
        for position in positions.clamped(to: arguments.indices) {
            if let text = literal(at: position) { judgePath(text, function, element, schema) }
            // `{ "name", { "age", "desc" } }`
            for field in run.fields(of: arguments[position]) ?? [] {
                let path = run.fields(of: field.value)?.first?.value ?? field.value
                if let text = SourceText.content(of: path) {
                    judgePath(text, function, element, schema)
                }
            }
        }
    }

    private func judgePath(
        _ text: (text: String, start: Int), _ function: String, _ element: ClassSchema,
        _ schema: Schema
    ) {
        let isEnd = function == "observe_value" && text.text == "invalidated"
        guard !text.text.isEmpty, !isEnd,
            let fault = PredicateCheck.fault(
                inPath: text.text, of: function, class: element, schema: schema)
        else { return }
        run.report(
            fault.isUnknownName ? .unknownProperty : .invalidQuery, fault.message,
            at: text.start + fault.range.lowerBound)
    }

    // MARK: - Tables

    private func judgeTables(_ named: ClassSchema?) {
        for (position, argument) in arguments.enumerated() {
            guard case .table(let fields, _) = argument else { continue }
            let types = Set(
                entry.signatures.compactMap { signature in
                    signature.parameters.indices.contains(position)
                        ? signature.parameters[position].type : nil
                })
            if let type = types.lazy.compactMap(Self.optionType).first {
                judgeOptions(fields, type)
            }
            let values = ["create": 1, "update": 0, "where": 0][entry.name]
            if values == position, let classSchema = named ?? receiver.element {
                judgeValues(fields, classSchema)
            }
        }
    }

    private static func optionType(_ annotation: String) -> KnownType? {
        guard annotation.hasSuffix("Options") else { return nil }
        return HelpCatalog.type(named: annotation).map { KnownType(type: $0) }
    }

    private func judgeOptions(_ fields: [SourceField], _ options: KnownType) {
        for field in fields {
            guard let name = field.name else { continue }
            guard options.entry(name.text) != nil else {
                run.report(
                    .unknownOption,
                    "\(entry.name) has no option '\(name.text)'"
                        + NearestName.hint(for: name.text, among: options.names),
                    at: name.range.lowerBound)
                continue
            }
            if name.text == "keypaths", let element = receiver.element,
                let schema = receiver.schema
            {
                let paths = run.fields(of: field.value)?.map(\.value) ?? [field.value]
                for path in paths {
                    if let text = SourceText.content(of: path) {
                        judgePath(text, "observe", element, schema)
                    }
                }
            }
        }
    }

    private func judgeValues(_ fields: [SourceField], _ classSchema: ClassSchema) {
        for field in fields {
            guard let name = field.name, classSchema.property(named: name.text) == nil else {
                continue
            }
            run.report(
                .unknownProperty,
                "'\(classSchema.name)' has no property '\(name.text)'"
                    + NearestName.hint(
                        for: name.text, among: classSchema.properties.map(\.name)),
                at: name.range.lowerBound)
        }
    }

    // MARK: - Functions

    /// Determines the parameter types of a function argument, such as `function(change) … end`, from the signature.
    private func bindFunctions(_ named: ClassSchema?) {
        for (position, argument) in arguments.enumerated() {
            guard case .function(let function) = argument else { continue }
            let type = entry.signatures.lazy.compactMap { signature -> Signature? in
                guard signature.parameters.indices.contains(position) else { return nil }
                return Signature(type: signature.parameters[position].type)
            }.first
            guard let type else { continue }
            for (variable, parameter) in zip(function.parameters, type.parameters) {
                // A migration has a different schema than the store that is being opened.
                guard receiver.type != HelpCatalog.migration else { continue }
                run.bind(variable, receiver.meaning(of: parameter.type, named: named))
            }
        }
    }
}

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

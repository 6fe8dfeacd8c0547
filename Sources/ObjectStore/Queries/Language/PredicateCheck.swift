/// Checks the text of a predicate against a class without values for its arguments.
///
/// Used by tools that read scripts; parts that depend on the value of an argument are assumed to be valid.
package enum PredicateCheck {
    /// An error in a text, and its location.
    package struct Fault: Hashable, Sendable {
        /// The message; for an unknown name, with the most similar known name.
        package let message: String
        /// The range of the error, as UTF-8 offsets into the text.
        package let range: Range<Int>
        /// Whether the error is an unknown name.
        package var isUnknownName = false
    }

    /// Returns the first error in a predicate and its trailing clauses; nil if the text is valid.
    package static func fault(
        in text: String, class classSchema: ClassSchema, schema: Schema
    ) -> Fault? {
        do throws(QueryFault) {
            let syntax = try PredicateParser.parse(text)
            var check = ConditionCheck(syntax, classSchema, schema)
            try check.compile(syntax.predicate)
            for case .filter(let condition) in syntax.clauses { try check.compile(condition) }
            try QueryTextCompiler(
                text: text, arguments: [], classSchema: classSchema, schema: schema
            ).check(syntax, searches: check.compiler.searches)
            return nil
        } catch {
            return Fault(
                message: error.message, range: error.range, isUnknownName: error.isUnknownName)
        }
    }

    /// Returns the error with which a function, such as `sorted`, refuses a path; nil if it takes the path.
    package static func fault(
        inPath text: String, of function: String, class classSchema: ClassSchema, schema: Schema
    ) -> Fault? {
        do {
            if let kind = AggregateKind(rawValue: function) {
                _ = try AggregateRule(kind, text, class: classSchema, schema: schema)
                return nil
            }
            if function == "observe" {
                _ = try KeyPathFilter([text], class: classSchema, schema: schema)
                return nil
            }
            let path = try ValuePath(text, class: classSchema, schema: schema)
            switch function {
            case "sorted", "group_by": _ = try SortKey(path, ascending: true)
            case "distinct": _ = try DistinctKey(path)
            case "observe_value" where classSchema.property(named: text) != nil: break
            case "histogram", "plot", "observe_value": try path.requireOne(for: function)
            default: break
            }
            return nil
        } catch let error as StoreError {
            // The other lines of the message show the text.
            let start = text.prefix((error.textRange?.column ?? 1) - 1).utf8.count
            return Fault(
                message: String(error.message.prefix { $0 != "\n" }),
                range: start..<text.utf8.count, isUnknownName: error.code == .unknownProperty)
        } catch {
            return nil
        }
    }
}

extension PredicateCheck {
    /// Returns the properties and operations that can follow the beginning of a path, such as `toys.` or `toys.@sum.`,
    /// with their types; an operation has none.
    ///
    /// `isIncluded` selects the names to try: each one is compiled.
    package static func continuations(
        of beginning: String, class classSchema: ClassSchema, schema: Schema,
        where isIncluded: (String) -> Bool
    ) -> [(name: String, type: String?)] {
        func isPath(_ text: String) -> Bool {
            (try? ValuePath(text, class: classSchema, schema: schema)) != nil
        }
        let operations = ["count", "size", "sum", "min", "max", "avg", "keys", "values", "type"]
            .map { "@" + $0 }
        var start = beginning.dropLast(beginning.hasSuffix(".") ? 1 : 0)
        if let sign = start.lastIndex(of: "@"), operations.contains(String(start[sign...])) {
            start = start[..<sign].dropLast()
        }
        var elements: ClassSchema? = classSchema
        if !start.isEmpty {
            let path = try? ValuePath(String(start), class: classSchema, schema: schema)
            guard let path else { return [] }
            elements = path.target.flatMap(schema.find(table:))
        }
        let properties = (elements?.properties ?? []).map { property in
            (
                name: property.name, text: QueryText.written(property.name, isFirst: start.isEmpty),
                type: property.typeName
            )
        }
        let numbers = properties.filter {
            elements?.property(named: $0.name)?.type.isNumeric == true
        }
        return properties.filter { isIncluded($0.name) && isPath(beginning + $0.text) }
            .map { ($0.name, $0.type) }
            + operations.filter { operation in
                isIncluded(operation) && !beginning.isEmpty
                    && (isPath(beginning + operation)
                        || numbers.first.map { isPath(beginning + operation + "." + $0.text) }
                            == true)
            }.map { ($0, nil) }
    }
}

/// Compiles the parts of conditions that do not depend on the values of arguments.
private struct ConditionCheck {
    private(set) var compiler: PredicateCompiler
    private let scope: PredicateCompiler.Scope
    /// The offsets of the arguments in the text, in ascending order.
    private let arguments: [Int]

    init(_ syntax: QuerySyntax, _ classSchema: ClassSchema, _ schema: Schema) {
        compiler = PredicateCompiler(schema: schema, arguments: [])
        scope = PredicateCompiler.Scope(classSchema: classSchema, variable: nil, prefix: [])
        arguments = syntax.arguments.map(\.offset)
    }

    private func usesArguments(_ syntax: PredicateSyntax) -> Bool {
        let next = arguments.indices.partition { arguments[$0] < syntax.range.lowerBound }
        return next < arguments.count && arguments[next] < syntax.range.upperBound
    }

    mutating func compile(_ syntax: PredicateSyntax) throws(QueryFault) {
        guard usesArguments(syntax) else {
            _ = try compiler.condition(syntax, scope)
            return
        }
        switch syntax.form {
        case .and(let parts), .or(let parts):
            for part in parts { try compile(part) }
        case .not(let part): try compile(part)
        case .comparison(let comparison):
            try compileOperand(comparison.left)
            try compileOperand(comparison.right)
        case .geoWithin(let geo):
            if !usesArguments(geo.place) { _ = try compiler.places(geo.place, scope) }
        default: try compileOperand(syntax)
        }
    }

    private mutating func compileOperand(_ syntax: PredicateSyntax) throws(QueryFault) {
        guard usesArguments(syntax) else {
            _ = try compiler.operand(syntax, scope)
            return
        }
        switch syntax.form {
        case .negated(let inner): try compileOperand(inner)
        case .arithmetic(_, let left, let right):
            try compileOperand(left)
            try compileOperand(right)
        default: break
        }
    }
}

/// A query in the short form that is used outside of code: `Dog`, or `Dog where age > 3`.
package struct ClassQuery: Sendable {
    /// The first word of the text, which names the class.
    package let className: String
    /// The text after `where`, or after the class itself; nil for all objects, empty if it is missing after `where`.
    package let predicate: String?
    /// Whether the text contains `where`, with or without a predicate after it.
    package let hasWhere: Bool

    /// Parses a text; nil if it contains no word.
    package init?(_ text: some StringProtocol) {
        let words = text.drop { $0.isWhitespace }
        let name = words.prefix { !$0.isWhitespace }
        guard !name.isEmpty else { return nil }
        className = String(name)
        var rest = words.dropFirst(name.count).drop { $0.isWhitespace }
        hasWhere = rest.prefix { !$0.isWhitespace }.lowercased() == "where"
        if hasWhere { rest = rest.dropFirst(5).drop { $0.isWhitespace } }
        predicate = rest.isEmpty && !hasWhere ? nil : String(rest)
    }

    /// Returns the objects that match the query.
    ///
    /// Throws `unknown_class`, and `invalid_query` for a predicate that is wrong or missing.
    package func results(in store: Store) throws -> Results {
        let all = try store.objects(className)
        guard let predicate else { return all }
        guard !predicate.isEmpty else {
            throw StoreError(.invalidQuery, "a predicate is missing after 'where'")
        }
        return try all.filtered(predicate)
    }
}

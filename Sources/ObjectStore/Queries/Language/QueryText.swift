/// Compiles the text of a predicate to steps of a query.
package enum QueryText {
    /// Compiles the condition of `text` and its clauses (`sort`, `distinct`, `limit` and `where`) for a class.
    ///
    /// `arguments` are the values of `$1`, `$2`, …. Throws `unknown_property` for a path with an unknown name and
    /// `invalid_query` for other errors, with a message, the text, and a caret under the error.
    package static func compile(
        _ text: String, arguments: [Value] = [], class classSchema: ClassSchema, schema: Schema
    ) throws -> [Query.Step] {
        do throws(QueryFault) {
            let syntax = try PredicateParser.parse(text)
            return try steps(syntax, text, arguments, classSchema, schema)
        } catch {
            throw error.rendered(in: text)
        }
    }

    /// Compiles the condition that properties have the given values.
    ///
    /// Names are not parsed, so they may be keywords of the language. Throws `unknown_property`, and `invalid_query`
    /// for a value of another type.
    static func compile(
        equal values: [(name: String, value: Value)], class classSchema: ClassSchema,
        schema: Schema
    ) throws -> [Query.Step] {
        var text = ""
        var parts: [PredicateSyntax] = []
        for (index, item) in values.enumerated() {
            if index > 0 { text += " and " }
            let start = text.utf8.count
            text += item.name
            let name = start..<text.utf8.count
            let component = PathSyntax.Component(name: item.name, isAggregate: false, range: name)
            let path = PathSyntax(quantifier: nil, variable: nil, components: [component])
            text += " == "
            let value = text.utf8.count..<text.utf8.count + "$\(index + 1)".utf8.count
            text += "$\(index + 1)"
            let comparison = ComparisonSyntax(
                comparison: .equal, operatorRange: name.upperBound + 1..<name.upperBound + 3,
                ignoresCase: false, ignoresDiacritics: false,
                left: PredicateSyntax(form: .path(path), range: name),
                right: PredicateSyntax(form: .argument(index + 1), range: value))
            parts.append(
                PredicateSyntax(form: .comparison(comparison), range: start..<value.upperBound))
        }
        let predicate = PredicateSyntax(form: .and(parts), range: 0..<text.utf8.count)
        do throws(QueryFault) {
            let syntax = QuerySyntax(
                predicate: predicate, clauses: [], clausesStart: text.utf8.count)
            return try steps(syntax, text, values.map(\.value), classSchema, schema)
        } catch {
            throw error.rendered(in: text)
        }
    }

    private static func steps(
        _ syntax: QuerySyntax, _ text: String, _ arguments: [Value], _ classSchema: ClassSchema,
        _ schema: Schema
    ) throws(QueryFault) -> [Query.Step] {
        let predicate = try filter(syntax.predicate, text, arguments, classSchema, schema)
        var steps: [Query.Step] = [.filter(predicate)]
        var searches = predicate.searches
        for clause in syntax.clauses {
            if case .filter(let condition) = clause {
                let added = try filter(condition, text, arguments, classSchema, schema)
                searches += added.searches
                steps.append(.filter(added))
            } else if let step = try step(clause, of: text, classSchema, schema, searches) {
                steps.append(step)
            }
        }
        return steps
    }

    private static func filter(
        _ syntax: PredicateSyntax, _ text: String, _ arguments: [Value],
        _ classSchema: ClassSchema, _ schema: Schema
    ) throws(QueryFault) -> CompiledPredicate {
        var compiler = PredicateCompiler(schema: schema, arguments: arguments)
        let scope = PredicateCompiler.Scope(classSchema: classSchema, variable: nil, prefix: [])
        var nodes: [(text: String, node: any PredicateNode)] = []
        for part in conjuncts(syntax) {
            nodes.append((self.text(of: part.range, in: text), try compiler.condition(part, scope)))
        }
        let tables = compiler.tables
        return CompiledPredicate(
            text: self.text(of: syntax.range, in: text), table: classSchema.table,
            dependencies: compiler.dependencies,
            parts: nodes.map { .init(text: $0.text, node: $0.node, tables: tables) },
            searches: compiler.searches)
    }

    /// Divides a text into its condition and the clauses after it.
    ///
    /// `selects` is true if a clause excludes objects, so that a further condition cannot move before it. Throws
    /// `invalid_query`.
    package static func split(
        _ text: String
    ) throws -> (condition: String, clauses: String, selects: Bool) {
        do throws(QueryFault) {
            let syntax = try PredicateParser.parse(text)
            let end = text.utf8.count
            func trimmed(_ range: Range<Int>) -> String {
                var part = Substring(self.text(of: range, in: text))
                while part.last?.isWhitespace == true { part.removeLast() }
                return String(part.drop(while: \.isWhitespace))
            }
            return (
                trimmed(0..<syntax.clausesStart), trimmed(syntax.clausesStart..<end),
                syntax.clauses.contains { if case .sort = $0 { false } else { true } }
            )
        } catch {
            throw error.rendered(in: text)
        }
    }

    /// Checks the names in the clauses after a condition.
    static func check(
        _ syntax: QuerySyntax, _ text: String, _ classSchema: ClassSchema, _ schema: Schema,
        _ searches: [TextSearch]
    ) throws(QueryFault) {
        for clause in syntax.clauses {
            // The relevance of a search is unknown if the search text is an argument.
            if case .sort(let keys) = clause, keys.contains(where: \.path.isRank) { continue }
            _ = try step(clause, of: text, classSchema, schema, searches)
        }
    }

    /// Returns the conditions that are combined with `and`.
    private static func conjuncts(_ syntax: PredicateSyntax) -> [PredicateSyntax] {
        if case .and(let parts) = syntax.form { parts.flatMap(conjuncts) } else { [syntax] }
    }

    /// Returns a part of the text.
    private static func text(of range: Range<Int>, in text: String) -> String {
        String(decoding: text.utf8.dropFirst(range.lowerBound).prefix(range.count), as: UTF8.self)
    }

    private static func step(
        _ clause: QuerySyntax.Clause, of text: String, _ classSchema: ClassSchema,
        _ schema: Schema, _ searches: [TextSearch]
    ) throws(QueryFault) -> Query.Step? {
        switch clause {
        case .filter: return nil
        case .limit(let count): return .limit(count)
        case .sort(let keys):
            var found: [SortKey] = []
            for key in keys {
                guard !isComputed(key.path, classSchema, schema) || key.path.isRank else {
                    found.append(
                        try SortKey(
                            key.path, key.range, self.text(of: key.range, in: text),
                            ascending: key.ascending, class: classSchema, schema: schema))
                    continue
                }
                found.append(
                    try located(key.range) {
                        if key.path.isRank {
                            return try SortKey(rank: searches, ascending: key.ascending)
                        }
                        return try SortKey(
                            PropertyPath.parse(
                                name(key.path), class: classSchema, schema: schema),
                            ascending: key.ascending)
                    })
            }
            return .sort(found)
        case .distinct(let paths):
            var found: [DistinctKey] = []
            for item in paths {
                guard !isComputed(item.path, classSchema, schema) else {
                    found.append(
                        try DistinctKey(
                            item.path, item.range, self.text(of: item.range, in: text),
                            class: classSchema, schema: schema))
                    continue
                }
                found.append(
                    try located(item.range) {
                        try DistinctKey(name(item.path), class: classSchema, schema: schema)
                    })
            }
            return .distinct(found)
        }
    }

    /// Returns whether a path has more than names of properties.
    private static func isComputed(
        _ path: PathSyntax, _ classSchema: ClassSchema, _ schema: Schema
    ) -> Bool {
        !path.isPlain || PropertyPath.entersMixed(name(path), class: classSchema, schema: schema)
    }

    private static func name(_ path: PathSyntax) -> String {
        path.components.map(\.name).joined(separator: ".")
    }

    private static func located<Result>(
        _ range: Range<Int>, _ body: () throws -> Result
    ) throws(QueryFault) -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw QueryFault(
                error.message, at: range, isUnknownName: error.code == .unknownProperty)
        } catch {
            throw QueryFault("\(error)", at: range)
        }
    }
}

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
            let steps = try QueryTextCompiler(
                text: text, arguments: arguments, classSchema: classSchema, schema: schema
            ).steps(of: syntax)
            try requireUse(of: arguments, in: text, syntax)
            return steps
        } catch {
            throw error.rendered(in: text)
        }
    }

    /// Throws if a text is given more values than it uses.
    private static func requireUse(
        of arguments: [Value], in text: String, _ syntax: QuerySyntax
    ) throws(QueryFault) {
        let (count, maximum) = (arguments.count, syntax.arguments.map(\.number).max() ?? 0)
        guard count > maximum else { return }
        let values = count == 1 ? "1 value is" : "\(count) values are"
        let used = maximum == 0 ? "no $1" : "only $1\(maximum > 1 ? " to $\(maximum)" : "")"
        let end = text.utf8.count
        throw QueryFault(
            "\(values) given, and the text has \(used)", at: max(0, end - 1)..<end)
    }

    /// Returns a property's name as a predicate contains it: in backquotes if it would have another meaning without them.
    ///
    /// `isFirst` is true for a name at the beginning of a path, where words of the language have their meaning.
    package static func written(_ name: String, isFirst: Bool = true) -> String {
        let path = isFirst ? [name] : ["a", name]
        guard let syntax = try? PredicateParser.parse(path.joined(separator: ".") + " == 1"),
            case .comparison(let comparison) = syntax.predicate.form,
            case .path(let found) = comparison.left.form, found.components.map(\.name) == path
        else { return "`\(name)`" }
        return name
    }

    /// Returns the condition that the properties with these names equal `$1`, `$2`, …; the names may be keywords.
    static func equality(of names: [String]) throws -> String {
        try names.enumerated().map { index, name in
            try StoreError.step(64)
            return "\(written(name)) == $\(index + 1)"
        }.joined(separator: " and ")
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
                var part = Substring(text.part(range))
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
}

/// Compiles the condition and the clauses of one text for a class.
struct QueryTextCompiler {
    let text: String
    let arguments: [Value]
    let classSchema: ClassSchema
    let schema: Schema

    func steps(of syntax: QuerySyntax) throws(QueryFault) -> [Query.Step] {
        let predicate = try filter(syntax.predicate)
        var steps: [Query.Step] = [.filter(predicate)]
        var searches = predicate.searches
        for clause in syntax.clauses {
            if case .filter(let condition) = clause {
                let added = try filter(condition)
                searches += added.searches
                steps.append(.filter(added))
            } else if let step = try step(clause, searches) {
                steps.append(step)
            }
        }
        return steps
    }

    private func filter(_ syntax: PredicateSyntax) throws(QueryFault) -> CompiledPredicate {
        var compiler = PredicateCompiler(schema: schema, arguments: arguments)
        let scope = PredicateCompiler.Scope(classSchema: classSchema, variable: nil, prefix: [])
        var nodes: [(text: String, node: any PredicateNode)] = []
        for part in Self.conjuncts(syntax) {
            nodes.append((text.part(part.range), try compiler.condition(part, scope)))
        }
        let tables = compiler.tables
        return CompiledPredicate(
            text: text.part(syntax.range), table: classSchema.table,
            dependencies: compiler.dependencies,
            parts: nodes.map { .init(text: $0.text, node: $0.node, tables: tables) },
            searches: compiler.searches)
    }

    /// Checks the names in the clauses after a condition.
    func check(_ syntax: QuerySyntax, searches: [TextSearch]) throws(QueryFault) {
        for clause in syntax.clauses {
            // The relevance of a search is unknown if the search text is an argument.
            if case .sort(let keys) = clause, keys.contains(where: \.path.isRank) { continue }
            _ = try step(clause, searches)
        }
    }

    /// Returns the conditions that are combined with `and`.
    private static func conjuncts(_ syntax: PredicateSyntax) -> [PredicateSyntax] {
        if case .and(let parts) = syntax.form { parts.flatMap(conjuncts) } else { [syntax] }
    }

    private func step(
        _ clause: QuerySyntax.Clause, _ searches: [TextSearch]
    ) throws(QueryFault) -> Query.Step? {
        switch clause {
        case .filter: return nil
        case .limit(let count): return .limit(count)
        case .sort(let keys):
            var found: [SortKey] = []
            for key in keys {
                let value = key.path.isRank ? nil : try self.value(key.path, key.range)
                found.append(
                    try located(key.range) {
                        try value.map { try SortKey($0, ascending: key.ascending) }
                            ?? SortKey(rank: searches, ascending: key.ascending)
                    })
            }
            return .sort(found)
        case .distinct(let paths):
            var found: [DistinctKey] = []
            for item in paths {
                let value = try self.value(item.path, item.range)
                found.append(try located(item.range) { try DistinctKey(value) })
            }
            return .distinct(found)
        }
    }

    private func value(
        _ path: PathSyntax, _ range: Range<Int>
    ) throws(QueryFault) -> ValuePath {
        guard path.isPlain,
            !PropertyPath.entersMixed(path.name, class: classSchema, schema: schema)
        else {
            return try ValuePath(
                path, range, text.part(range), class: classSchema, schema: schema)
        }
        return try located(range) {
            ValuePath(try PropertyPath.parse(path.name, class: classSchema, schema: schema))
        }
    }

    private func located<Result>(
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

extension PathSyntax {
    /// The names of the components, separated by periods.
    fileprivate var name: String { components.map(\.name).joined(separator: ".") }
}

extension String {
    /// Returns the part at some UTF-8 offsets.
    fileprivate func part(_ range: Range<Int>) -> String {
        String(decoding: utf8.dropFirst(range.lowerBound).prefix(range.count), as: UTF8.self)
    }
}

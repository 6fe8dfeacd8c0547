/// Turns the text of a predicate into steps of a query.
public enum QueryText {
    /// The condition of `text` and the `sort`, `distinct` and `limit` after it, for a class.
    ///
    /// `arguments` are what `$1`, `$2`, … stand for. Throws `invalid_query`: the sentence, the text,
    /// and a caret under the fault.
    public static func compile(
        _ text: String, arguments: [Value] = [], class classSchema: ClassSchema, schema: Schema
    ) throws -> [Query.Step] {
        do throws(QueryFault) {
            let syntax = try PredicateParser.parse(text)
            var compiler = PredicateCompiler(schema: schema, arguments: arguments)
            let scope = PredicateCompiler.Scope(
                classSchema: classSchema, variable: nil, prefix: [])
            let node = try compiler.condition(syntax.predicate, scope)
            var steps: [Query.Step] = [
                .filter(
                    CompiledPredicate(
                        text: condition(text, syntax), table: classSchema.table,
                        dependencies: compiler.dependencies, node: node,
                        searches: compiler.searches, tables: compiler.tables))
            ]
            for clause in syntax.clauses {
                steps.append(try step(clause, classSchema, schema, compiler.searches))
            }
            return steps
        } catch {
            throw error.rendered(in: text)
        }
    }

    /// The condition alone, without what follows it.
    private static func condition(_ text: String, _ syntax: QuerySyntax) -> String {
        let range = syntax.predicate.range
        let bytes = Array(text.utf8)
        return String(decoding: bytes[range.clamped(to: 0..<bytes.count)], as: UTF8.self)
    }

    private static func step(
        _ clause: QuerySyntax.Clause, _ classSchema: ClassSchema, _ schema: Schema,
        _ searches: [TextSearch]
    ) throws(QueryFault) -> Query.Step {
        switch clause {
        case .limit(let count): return .limit(count)
        case .sort(let keys):
            var found: [SortKey] = []
            for key in keys {
                found.append(
                    try located(key.range) {
                        if key.path.isRank {
                            return try SortKey(rank: searches, ascending: key.ascending)
                        }
                        return try SortKey(
                            PropertyPath.parse(
                                try name(key.path), class: classSchema, schema: schema),
                            ascending: key.ascending)
                    })
            }
            return .sort(found)
        case .distinct(let paths):
            var found: [PropertyPath] = []
            for item in paths {
                found.append(
                    try located(item.range) {
                        let path = try PropertyPath.parse(
                            try name(item.path), class: classSchema, schema: schema)
                        try path.checkSingle(for: "distinct")
                        return path
                    })
            }
            return .distinct(found)
        }
    }

    private static func name(_ path: PathSyntax) throws -> String {
        guard path.variable == nil, !path.components.contains(where: \.isAggregate) else {
            throw StoreError(.invalidQuery, "only properties can be named here")
        }
        return path.components.map(\.name).joined(separator: ".")
    }

    private static func located<Result>(
        _ range: Range<Int>, _ body: () throws -> Result
    ) throws(QueryFault) -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw QueryFault(error.message, at: range)
        } catch {
            throw QueryFault("\(error)", at: range)
        }
    }
}

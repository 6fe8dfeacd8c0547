import ColumnStorage

/// A description of a collection of objects: its base, and the steps applied to it, in order.
///
/// The language of the predicates:
///
///     == = != <> < <= =< > >= =>   between {a, b}   in {a, b} / in $1 / in list.property
///     beginswith endswith contains like   with [c] (case), [d] (diacritics), [cd]
///     text 'red -blue phrase*'   on full-text properties; sort by @rank
///     and && or || not ! ( )   truepredicate falsepredicate
///     any some all none list.property   list.@count @size   list.@sum.p @min @max @avg
///     list[1] list[first] list[last] list[size]   list == {a, b}   map['key'] map.@keys map.@values
///     subquery(list, $x, $x.p > 5).@count   @links.Class.property   @links.@count   + - * /
///     nil null true false 1 2.5 'text' "text" 2021-03-04T10:20:30Z date('…') uuid(…) oid(…) $1
///     and at the end: sort(a desc, b) distinct(a, b) limit(n) where(condition)
///
/// Case does not matter in keywords. Nil equals only nil and has no order; a nil link in a path makes the value nil.
/// Strings are ordered by their bytes. Numbers of different types are compared by value: `1 == 1.0`.
package struct Query: Sendable {
    /// The base of the collection.
    package enum Base: Hashable, Sendable {
        /// All objects of a class, in the order of their creation.
        case table(TableID)
        /// The list or set in a column of a table's row, in its order, or the objects of the map there,
        /// in the order of their keys.
        case list(TableID, ColumnID, ObjectKey)
        /// The rows of a table that link to an object through a column, in the order of their creation; a row occurs
        /// once for each of its links.
        case backlinks(TableID, ColumnID, ObjectKey)

        /// Returns whether the objects depend on a property or, with nil, on which objects of a class exist.
        func reads(_ column: ColumnID?, of table: TableID) -> Bool {
            switch self {
            case .table(let own): column == nil && own == table
            case .list(let source, let own, _), .backlinks(let source, let own, _):
                source == table && column ?? own == own
            }
        }
    }

    /// One step applied to the collection.
    package enum Step: Sendable {
        /// Keeps the objects that match a condition.
        case filter(CompiledPredicate)
        /// Sorts the objects; the first key is the most significant, and equal objects keep their order.
        case sort([SortKey])
        /// Keeps the first object of each combination of values.
        case distinct([DistinctKey])
        /// Keeps the first objects, up to a number.
        case limit(Int)
    }

    /// The base of the collection.
    package let base: Base
    /// The table of the collection's objects.
    package let table: TableID
    /// The steps applied to the base, from left to right.
    package var steps: [Step] { parts.flatMap(\.steps) }
    /// The steps in the groups in which callers added them.
    private var parts: [Part] = []
    /// The schema for which the oldest part was compiled; nil if no part depends on the schema.
    private var created: Schema?

    /// Some steps with the text from which they were compiled.
    private struct Part: Sendable {
        let word: Word
        var steps: [Step]
    }

    /// A step as the caller wrote it, to compare whether two queries are the same.
    fileprivate enum Word: Hashable, Sendable {
        /// A predicate's text with its arguments.
        case text(String, [Value])
        /// The text of a predicate that is not compiled from it, with its values.
        case filter(String, [Value])
        case sort([SortKey])
        case distinct([DistinctKey])
        case limit(Int)
    }

    /// Describes all objects of a class.
    package init(all classSchema: ClassSchema) {
        base = .table(classSchema.table)
        table = classSchema.table
    }

    /// Describes a collection of a table's objects.
    package init(_ base: Base, of table: TableID) {
        self.base = base
        self.table = table
    }

    /// Returns the collection with one more step; the values distinguish filters with the same text.
    package func adding(_ step: Step, values: [Value] = []) -> Query {
        let word: Word =
            switch step {
            case .filter(let predicate): .filter(predicate.text, values)
            case .sort(let keys): .sort(keys)
            case .distinct(let keys): .distinct(keys)
            case .limit(let count): .limit(count)
            }
        var query = self
        query.parts.append(Part(word: word, steps: [step]))
        return query
    }

    private func adding(_ word: Word, _ steps: [Step], createdFor schema: Schema) -> Query {
        var query = self
        query.parts.append(Part(word: word, steps: steps))
        query.created = created ?? schema
        return query
    }

    /// Returns the objects that match a predicate, and applies the clauses in its text.
    ///
    /// Throws `invalid_query` with the text and a caret under the error.
    package func filtered(
        _ text: String, _ arguments: [Value], schema: Schema
    ) throws -> Query {
        let added = try QueryText.compile(
            text, arguments: arguments, class: try elementClass(schema), schema: schema)
        return adding(.text(text, arguments), added, createdFor: schema)
    }

    /// Returns the collection sorted by key paths.
    ///
    /// `@rank` is the relevance for the full-text searches of the filters, with the best match first. Throws
    /// `invalid_query` for paths that define no order.
    package func sorted(_ keys: [(path: String, ascending: Bool)], schema: Schema) throws -> Query {
        let classSchema = try elementClass(schema)
        guard !keys.isEmpty else {
            throw StoreError(.invalidQuery, "sorting needs at least one key path")
        }
        let order = try keys.map {
            try $0.path == SortKey.rankName
                ? SortKey(rank: searches, ascending: $0.ascending)
                : SortKey($0.path, ascending: $0.ascending, class: classSchema, schema: schema)
        }
        return adding(.sort(order), [.sort(order)], createdFor: schema)
    }

    /// Returns the first object of each combination of values of key paths.
    ///
    /// Throws `invalid_query` for paths through lists.
    package func distinct(_ paths: [String], schema: Schema) throws -> Query {
        let classSchema = try elementClass(schema)
        guard !paths.isEmpty else {
            throw StoreError(.invalidQuery, "distinct needs at least one key path")
        }
        let keys = try paths.map {
            try DistinctKey($0, class: classSchema, schema: schema)
        }
        return adding(.distinct(keys), [.distinct(keys)], createdFor: schema)
    }

    /// Returns at most the first `count` objects.
    ///
    /// Throws `invalid_query` for a negative count.
    package func limited(to count: Int) throws -> Query {
        guard count >= 0 else {
            throw StoreError(.invalidQuery, "a limit cannot be negative; got \(count)")
        }
        return adding(.limit(count))
    }

    /// The full-text searches of all filters.
    var searches: [TextSearch] {
        steps.flatMap { step -> [TextSearch] in
            if case .filter(let predicate) = step { predicate.searches } else { [] }
        }
    }

    /// Returns whether both queries have the same base, texts and arguments.
    package func isSame(as other: Query) -> Bool { identity == other.identity }

    /// The base of the query and the texts of its steps.
    struct Identity: Hashable {
        private let base: Base
        private let table: TableID
        private let words: [Word]

        fileprivate init(_ query: Query) {
            base = query.base
            table = query.table
            words = query.parts.map(\.word)
        }
    }

    /// A value that is equal for queries with the same base, texts and arguments.
    var identity: Identity { Identity(self) }

    /// Every key path that the collection's membership or order depends on.
    package var dependencies: [PropertyPath] {
        var known: Set<PropertyPath> = []
        return steps.flatMap { step -> [PropertyPath] in
            switch step {
            case .filter(let predicate): predicate.dependencies
            case .sort(let keys): keys.flatMap(\.dependencies)
            case .distinct(let keys): keys.flatMap(\.dependencies)
            case .limit: []
            }
        }.filter { known.insert($0).inserted }
    }

    /// Whether the meaning of the query may depend on the targets of links inside mixed values.
    var dependsOnMixed: Bool {
        dependencies.contains { $0.components.contains { $0.property.type == .mixed } }
    }

    /// Compiles the query again for another schema.
    ///
    /// Paths through links inside mixed values then include classes and properties that were added. Throws
    /// `invalid_query` if the query is no longer valid.
    func remade(for schema: Schema) throws -> Query {
        guard let created, created !== schema, let elements = schema.find(table: table),
            dependsOnMixed
        else { return self }
        var query = self
        query.created = schema
        for (index, part) in parts.enumerated() {
            switch part.word {
            case .text(let text, let arguments):
                query.parts[index].steps = try QueryText.compile(
                    text, arguments: arguments, class: elements, schema: schema)
            case .sort(let keys):
                query.parts[index].steps = [
                    .sort(try keys.map { try $0.remade(class: elements, schema: schema) })
                ]
            case .distinct(let keys):
                query.parts[index].steps = [
                    .distinct(try keys.map { try $0.remade(class: elements, schema: schema) })
                ]
            case .filter, .limit: break
            }
        }
        return query
    }

    private func elementClass(_ schema: Schema) throws -> ClassSchema {
        guard let found = schema.find(table: table) else {
            throw StoreError(.unknownClass, "the class of this collection was removed")
        }
        return found
    }

    /// The steps in the order in which they run.
    ///
    /// Filters come first and are combined, and adjacent sorts are combined, if the result stays the same. No step moves
    /// before a limit, and no filter before `distinct`.
    var plannedSteps: [Step] {
        var planned: [Step] = []
        for step in steps {
            switch step {
            case .filter(let predicate):
                var index = planned.count
                while index > 0 {
                    if planned[index - 1].selectsRows { break }
                    index -= 1
                }
                if index < planned.count, case .filter(let first) = planned[index] {
                    planned[index] = .filter(first.and(predicate))
                } else {
                    planned.insert(step, at: index)
                }
            case .sort(let keys):
                if case .sort(let before)? = planned.last {
                    planned[planned.count - 1] = .sort(keys + before)
                } else {
                    planned.append(step)
                }
            case .limit(let count):
                if case .limit(let before)? = planned.last {
                    planned[planned.count - 1] = .limit(min(before, count))
                } else {
                    planned.append(step)
                }
            case .distinct:
                planned.append(step)
            }
        }
        return planned
    }
}

extension Query.Step {
    /// Whether the step selects rows by those before it, so that no filter may move before it.
    var selectsRows: Bool {
        switch self {
        case .limit, .distinct: true
        case .filter, .sort: false
        }
    }
}

extension Query {
    /// Returns the query in another schema.
    ///
    /// Throws the errors of ``check(in:)``, which describe a removed property better than errors of the query's text.
    func followed(to schema: Schema) throws -> Query {
        let query = (try? remade(for: schema)) ?? self
        try query.check(in: schema)
        return query
    }

    /// Throws `unknown_class` or `unknown_property` if the query reads a class or property that was removed or has
    /// another type now.
    func check(in schema: Schema) throws {
        guard let elements = schema.find(table: table) else {
            throw StoreError(.unknownClass, "the class of this collection was removed")
        }
        switch base {
        case .table: break
        case .list(let table, let column, _), .backlinks(let table, let column, _):
            guard schema.find(table: table)?.property(in: column) != nil else {
                throw StoreError(
                    .unknownProperty,
                    "the property that this collection of '\(elements.name)' comes from was removed or "
                        + "has another type")
            }
        }
        for path in dependencies {
            try path.check(in: schema, of: "query", "this collection of '\(elements.name)'")
        }
    }
}

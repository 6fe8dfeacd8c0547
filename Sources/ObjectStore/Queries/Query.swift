import ColumnStorage

/// A description of a collection of objects: where it starts, and what is done to it, in order.
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
/// Keywords ignore case. Nil equals nil only and has no order; a nil link on the way makes the
/// value nil. Strings are ordered by their bytes. `1 == 1.0` across number types.
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
    }

    /// One thing done to the collection.
    package enum Step: Sendable {
        /// Keeps what matches.
        case filter(CompiledPredicate)
        /// Orders; the first key is the most significant, ties keep their order.
        case sort([SortKey])
        /// Keeps the first object of each combination of values.
        case distinct([DistinctKey])
        /// Keeps the first objects.
        case limit(Int)
    }

    /// The base of the collection.
    package let base: Base
    /// The table of the collection's objects.
    package let table: TableID
    /// The steps on the base, from left to right.
    package var steps: [Step] { parts.flatMap(\.steps) }
    /// The same as the caller added it.
    private var parts: [Part] = []
    /// The schema that the oldest part was made for; nil where nothing depends on it.
    private var made: Schema?

    /// Some steps with the caller's words for them.
    private struct Part: Sendable {
        let word: Word
        var steps: [Step]

        /// In bytes; a compiled predicate takes some 24 times its text.
        var memory: Int {
            switch word {
            case .text(let text, let arguments):
                text.utf8.count * 24 + arguments.reduce(512) { $0 + $1.memory }
            case .filter(let text): text.utf8.count * 24 + 512
            case .sort(let keys): keys.count * 128
            case .distinct(let keys): keys.count * 128
            case .limit: 64
            }
        }
    }

    /// A step in the caller's words, to compare whether two queries are the same.
    fileprivate enum Word: Hashable, Sendable {
        /// A predicate's text with its arguments.
        case text(String, [Value])
        case filter(String)
        case sort([SortKey])
        case distinct([DistinctKey])
        case limit(Int)
    }

    /// About how many bytes the description takes.
    package var memory: Int { 256 + parts.reduce(0) { $0 + $1.memory } }

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

    /// The collection with one more step.
    package func adding(_ step: Step) -> Query {
        let word: Word =
            switch step {
            case .filter(let predicate): .filter(predicate.text)
            case .sort(let keys): .sort(keys)
            case .distinct(let keys): .distinct(keys)
            case .limit(let count): .limit(count)
            }
        var query = self
        query.parts.append(Part(word: word, steps: [step]))
        return query
    }

    private func adding(_ word: Word, _ steps: [Step], madeFor schema: Schema) -> Query {
        var query = self
        query.parts.append(Part(word: word, steps: steps))
        query.made = made ?? schema
        return query
    }

    /// The objects that match a predicate, and what its text says after it.
    ///
    /// Throws `invalid_query` with the text and a caret under the fault.
    package func filtered(
        _ text: String, _ arguments: [Value], schema: Schema
    ) throws -> Query {
        let added = try QueryText.compile(
            text, arguments: arguments, class: try elementClass(schema), schema: schema)
        return adding(.text(text, arguments), added, madeFor: schema)
    }

    /// The collection ordered by key paths; `@rank` is how well the texts match the full-text
    /// searches of its filters, the best first.
    ///
    /// Throws `invalid_query` for paths that give no order.
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
        return adding(.sort(order), [.sort(order)], madeFor: schema)
    }

    /// The first object of each combination of values of key paths.
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
        return adding(.distinct(keys), [.distinct(keys)], madeFor: schema)
    }

    /// At most the first `count` objects.
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

    /// Whether both ask the same in the same words.
    package func isSame(as other: Query) -> Bool { identity == other.identity }

    /// The query in the caller's words.
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

    /// Equal for queries that ask the same in the same words.
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

    /// Whether what it means may depend on what links inside mixed values lead to.
    var dependsOnMixed: Bool {
        dependencies.contains { $0.components.contains { $0.property.type == .mixed } }
    }

    /// The query as it would be made in another schema: paths through links inside mixed values also lead
    /// to classes and properties that came since.
    ///
    /// Throws `invalid_query` if it no longer means anything.
    func remade(for schema: Schema) throws -> Query {
        guard let made, made !== schema, let elements = schema.find(table: table), dependsOnMixed
        else { return self }
        var query = self
        query.made = schema
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

    /// The steps as they run: filters first and as one, as far as that gives the same result, and
    /// neighbouring sorts as one.
    ///
    /// A filter after `distinct` applies before it (so that adding a filter never loses a row that
    /// another row hid); nothing passes a limit.
    var plannedSteps: [Step] {
        var planned: [Step] = []
        for step in steps {
            switch step {
            case .filter(let predicate):
                var place = planned.count
                while place > 0 {
                    if case .limit = planned[place - 1] { break }
                    place -= 1
                }
                if place < planned.count, case .filter(let first) = planned[place] {
                    planned[place] = .filter(first.and(predicate))
                } else {
                    planned.insert(step, at: place)
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

extension Value {
    /// About how many bytes the value takes as an argument of a query.
    fileprivate var memory: Int {
        switch self {
        case .string(let text): 64 + text.utf8.count
        case .data(let bytes): 64 + bytes.count
        case .list(let values): values.reduce(64) { $0 + $1.memory }
        case .dictionary(let entries):
            entries.reduce(64) { $0 + 64 + $1.key.utf8.count + $1.value.memory }
        default: 64
        }
    }
}

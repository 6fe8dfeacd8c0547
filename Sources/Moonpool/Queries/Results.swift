import ColumnStorage
import ObjectStore

/// The objects of a query: lazy and live.
///
/// The query runs when its result is first accessed, and the result is cached until the store changes. A query is a
/// small value that further conditions and orders can extend.
///
/// ```swift
/// let old = store.all(Dog.self).where { $0.age > 10 }.sorted(by: \.name)
/// print(old.count, old.first?.name ?? "none")
/// for dog in old { print(dog.name) }
/// ```
///
/// `results[10..<20]` is a page, and `dropFirst(10).prefix(10)` one that may begin or end after the last object.
///
/// A loop visits the objects at its start; an object that is deleted in the meantime is not valid. Members without
/// `try` end the program in the cases in which ``fetch()`` throws, such as after the store is closed.
public struct Results<M: Model>: RandomAccessCollection {
    let table: ModelTable
    private let content: ObjectStore.Results
    let words: QueryWords

    init(
        _ table: ModelTable, _ content: ObjectStore.Results, _ words: QueryWords = QueryWords()
    ) {
        self.table = table
        self.content = content
        self.words = words
    }

    var engineResults: ObjectStore.Results { content }

    private func read<R>(_ body: (ObjectStore.Results) throws -> R) -> R {
        do { return try body(content) } catch { ModelContext.trap(error) }
    }

    // MARK: Reading

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of objects.
    public var endIndex: Int { count }
    /// The number of objects.
    public var count: Int { read { try $0.count() } }
    /// Whether there are no objects.
    public var isEmpty: Bool { first == nil }
    /// The first object; nil if there is none.
    public var first: Live<M>? { read { try $0.first() }.map { Live(table, $0.key) } }
    /// The last object; nil if there is none.
    public var last: Live<M>? { read { try $0.last() }.map { Live(table, $0.key) } }
    /// The object at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> Live<M> {
        read { Live(table, try $0.object(at: index).key) }
    }
    /// Returns the first index of an object; nil if it is not among the results.
    public func firstIndex(of object: Live<M>) -> Int? {
        guard object.modelTable.context.source.isSame(as: table.context.source) else { return nil }
        return read { try $0.index(of: object.modelTable.liveObject(object.objectKey)) }
    }
    /// Returns whether an object is among the results.
    public func contains(_ object: Live<M>) -> Bool { firstIndex(of: object) != nil }
    /// Whether the results can be read: the store is open, and the owner of the list exists.
    public var isValid: Bool { content.isValid }

    /// Returns the objects.
    ///
    /// Throws `closed`, `file_corrupt`, and `limit_exceeded` if the evaluation was stopped.
    public func fetch() throws -> [Live<M>] {
        try content.keys().map { Live(table, $0) }
    }
    /// Returns the number of objects.
    ///
    /// Throws the errors of ``fetch()``.
    public func fetchCount() throws -> Int { try content.count() }
    /// Returns the plain values.
    ///
    /// Throws the errors of ``fetch()``, and `type_mismatch`, `out_of_range`.
    public func detached() throws -> [M] {
        try content.keys().map { try table.detached($0, as: M.self) }
    }

    // MARK: Explaining

    /// The query as a text for `where`.
    ///
    /// Objects and data, which have no literal, are shown as `$1`, `$2` ….
    public var predicate: String { words.text }

    /// Returns the plan of the query and the cost of its observers.
    ///
    /// Throws `closed`.
    public func explain() throws -> String { try content.explain() }
}

/// The clauses of a query, in the order of the calls.
struct QueryWords: Sendable {
    private var condition: QueryExpression?
    private var clauses = QueryExpression("")
    /// Whether a clause excludes objects, so that a further condition must follow it.
    private var selects = false

    func filtered(_ added: QueryExpression) -> QueryWords {
        var words = self
        if selects {
            words.clauses = clauses + " where(" + added + ")"
        } else {
            words.condition =
                condition.map { QueryExpression("(") + $0 + ") and (" + added + ")" } ?? added
        }
        return words
    }

    /// Adds a predicate in the text language, which can contain clauses.
    func filtered(by text: String, _ values: [Mixed]) throws -> QueryWords {
        let parts = try QueryText.split(text)
        var words = filtered(QueryExpression(text: parts.condition, values))
        guard !parts.clauses.isEmpty else { return words }
        words.clauses = words.clauses + " " + QueryExpression(text: parts.clauses, values)
        words.selects = words.selects || parts.selects
        return words
    }

    func adding(_ clause: String, selects: Bool) -> QueryWords {
        var words = self
        words.clauses = clauses + (" " + clause)
        words.selects = self.selects || selects
        return words
    }

    var text: String { ((condition ?? QueryExpression("truepredicate")) + clauses).complete }
}

extension QueryExpression {
    /// A predicate with numbered arguments.
    init(text: String, _ values: [Mixed]) {
        self.init("")
        guard !values.isEmpty else {
            parts = [.text(text)]
            return
        }
        parts = []
        var fragment = ""
        var quote: Character?
        var rest = Substring(text)
        while let character = rest.popFirst() {
            if let open = quote {
                if character == "\\", let next = rest.popFirst() {
                    fragment += "\\\(next)"
                    continue
                }
                if character == open { quote = nil }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if character == "$" {
                let digits = rest.prefix { $0.isNumber }
                if let number = Int(digits), values.indices.contains(number - 1) {
                    rest = rest.dropFirst(digits.count)
                    parts += [.text(fragment), .argument(values[number - 1])]
                    fragment = ""
                    continue
                }
            }
            fragment.append(character)
        }
        parts.append(.text(fragment))
    }
}

extension Results {
    /// Iterates over the objects.
    public struct Iterator: IteratorProtocol {
        @usableFromInline let table: ModelTable
        @usableFromInline var keys: ObjectKeyBuffer

        init(_ table: ModelTable, _ keys: ResultKeys) {
            self.table = table
            self.keys = ObjectKeyBuffer(keys)
        }

        /// Returns the next object; nil at the end.
        @inlinable
        public mutating func next() -> Live<M>? {
            keys.next().map { Live(table, $0) }
        }
    }

    /// Returns a copy of the current objects.
    public func makeIterator() -> Iterator {
        Iterator(table, read { try $0.keys() })
    }
}

/// The next keys of an iterator, read a few at a time.
///
/// The buffer does not contain the table. If it did, the call that fills the buffer could replace the table, and each
/// object of a loop would have to retain and release the table.
@usableFromInline
struct ObjectKeyBuffer {
    @usableFromInline var keys: [ObjectKey] = []
    @usableFromInline var index = 0
    private var rest: ResultKeys.Iterator

    init(_ keys: ResultKeys) { rest = keys.makeIterator() }

    @inlinable
    mutating func next() -> ObjectKey? {
        if index == keys.count {
            refill()
            if keys.isEmpty { return nil }
        }
        let key = keys[index]
        index &+= 1
        return key
    }

    @usableFromInline
    mutating func refill() {
        rest.fill(&keys)
        index = 0
    }
}

extension Results: CustomStringConvertible {
    /// The class and the query as text: `Dog where age > 2 sort(name)`.
    public var description: String { "\(M.className) where \(predicate)" }
}

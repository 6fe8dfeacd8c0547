/// A parsed predicate, before names are looked up and types are checked.
struct PredicateSyntax: Sendable {
    /// The kind of expression.
    indirect enum Form: Sendable {
        case value(Value)
        case number(Double, written: DecimalValue?)
        case date(PreciseTimestamp)
        case argument(Int)
        case list([PredicateSyntax])
        case path(PathSyntax)
        case subquery(SubquerySyntax)
        case negated(PredicateSyntax)
        case arithmetic(ArithmeticOperator, PredicateSyntax, PredicateSyntax)
        /// The constants `truepredicate` and `falsepredicate`.
        case always(Bool)
        case comparison(ComparisonSyntax)
        case geoWithin(GeoSyntax)
        case and([PredicateSyntax])
        case or([PredicateSyntax])
        case not(PredicateSyntax)
    }

    let form: Form
    /// The range of the expression, as UTF-8 offsets into the text.
    let range: Range<Int>
}

/// A path such as `any toys.maker.name`, `$t.price` or `items.@sum.price`.
struct PathSyntax: Sendable {
    /// One component of a path, between two dots.
    struct Component: Sendable {
        let name: String
        /// Whether the component begins with `@`.
        let isAggregate: Bool
        let range: Range<Int>
        /// The contents of the pairs of brackets after the component.
        var brackets: [Bracket] = []
        /// The contents of the first pair of brackets.
        var bracket: Bracket? { brackets.first }
    }

    /// The contents of brackets: `[1]`, `[first]` and `['key']` select one element of a collection, `[*]` selects all.
    struct Bracket: Sendable {
        enum Form: Sendable {
            /// An element by its index, counted from 1.
            case index(Int64)
            case first
            case last
            /// The number of elements.
            case size
            /// Every element, `[*]`.
            case every
            case key(String)
            case argument(Int)
        }

        let form: Form
        let range: Range<Int>
    }

    var quantifier: Quantifier?
    /// The variable of a subquery at the beginning of the path.
    var variable: String?
    var components: [Component]

    /// Whether the path consists of names and dots only.
    var isPlain: Bool {
        quantifier == nil && variable == nil
            && components.allSatisfy { !$0.isAggregate && $0.brackets.isEmpty }
    }
}

/// A subquery such as `subquery(toys, $t, …)`; the `.@count` that follows in the text is part of it.
struct SubquerySyntax: Sendable {
    let collection: PathSyntax
    let collectionRange: Range<Int>
    let variable: String
    let condition: PredicateSyntax
}

/// A comparison: `left op[options] right`.
struct ComparisonSyntax: Sendable {
    let comparison: PredicateOperator
    let operatorRange: Range<Int>
    let ignoresCase: Bool
    let ignoresDiacritics: Bool
    let left: PredicateSyntax
    let right: PredicateSyntax
}

/// The elements of a collection that must satisfy a comparison: all, none or at least one.
///
/// Without a quantifier, one element is enough.
enum Quantifier: Sendable, Hashable {
    case any, all, none

    /// Returns whether the quantifier holds for some values.
    ///
    /// `visitEach` calls its argument with the result for each value until it returns false.
    @inline(__always)
    func holds(_ visitEach: ((Bool) -> Bool) throws -> Void) rethrows -> Bool {
        let wanted = self != .all
        var found = false
        try visitEach { passes in
            found = passes == wanted
            return !found
        }
        return self == .any ? found : !found
    }
}

/// The four operations on numbers.
enum ArithmeticOperator: String, Sendable, Hashable {
    case plus = "+"
    case minus = "-"
    case times = "*"
    case divided = "/"
}

/// All operators between two operands.
enum PredicateOperator: String, Sendable, Hashable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case between
    case memberOf = "in"
    case beginsWith = "beginswith"
    case endsWith = "endswith"
    case contains
    case like
    /// The operator of a full-text search.
    case text

    /// Whether the operator compares parts of a string.
    var searchesText: Bool {
        switch self {
        case .beginsWith, .endsWith, .contains, .like: true
        default: false
        }
    }

    /// The operator with the same meaning for swapped operands; nil if there is none.
    var mirrored: PredicateOperator? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: nil
        }
    }
}

/// A complete query text: a condition, and the clauses after it.
struct QuerySyntax: Sendable {
    /// A clause: `sort(…)`, `distinct(…)`, `limit(…)` or `where(…)`.
    enum Clause: Sendable {
        case sort([(path: PathSyntax, ascending: Bool, range: Range<Int>)])
        case distinct([(path: PathSyntax, range: Range<Int>)])
        case limit(Int)
        /// A condition on the objects that the previous clauses yield.
        case filter(PredicateSyntax)
    }

    let predicate: PredicateSyntax
    let clauses: [Clause]
    /// The UTF-8 offset of the first clause; without one, that of the end of the text.
    let clausesStart: Int
    /// The arguments in the order of the text, with their UTF-8 offsets.
    let arguments: [(number: Int, offset: Int)]
}

/// An error in a predicate or a path with its range, but without the text.
struct QueryFault: Error, Equatable {
    let message: String
    /// The range of the error, as UTF-8 offsets into the text.
    let range: Range<Int>
    /// Whether a property does not exist; the error code is then `unknown_property`.
    let isUnknownName: Bool
    /// The error that stopped the compiler, which the text has not caused.
    private let cause: StoreError?

    init(_ message: String, at range: Range<Int>, isUnknownName: Bool = false) {
        self.init(message, range, isUnknownName, nil)
    }

    private init(
        _ message: String, _ range: Range<Int>, _ isUnknownName: Bool, _ cause: StoreError?
    ) {
        self.message = message
        self.range = range
        self.isUnknownName = isUnknownName
        self.cause = cause
    }

    /// Counts the work for a token or a condition; throws if the script is stopped, or has reached its memory limit.
    static func step() throws(QueryFault) {
        do throws(StoreError) {
            try StoreError.step(64)
        } catch {
            throw QueryFault(cause: error)
        }
    }

    /// Creates the error of a compiler that was stopped.
    init(cause: StoreError) { self.init("", 0..<0, false, cause) }

    /// Returns the error for users, with the message, the line of the text, and a caret under the range.
    ///
    /// The code is `unknown_property` or `invalid_query`. A long line is shortened to a window around the error, so a
    /// generated predicate of a megabyte does not cause an error message of a megabyte.
    func rendered(in text: String) -> StoreError {
        if let cause { return cause }
        let bytes = Array(text.utf8)
        let start = min(max(range.lowerBound, 0), bytes.count)
        var lineStart = start
        while lineStart > 0, bytes[lineStart - 1] != UInt8(ascii: "\n") { lineStart -= 1 }
        var lineEnd = start
        while lineEnd < bytes.count, bytes[lineEnd] != UInt8(ascii: "\n") { lineEnd += 1 }
        let end = min(max(range.upperBound, start), lineEnd)

        var before = QueryFault.printable(bytes[lineStart..<start])
        var fault = QueryFault.printable(bytes[start..<end])
        var after = QueryFault.printable(bytes[end..<lineEnd])
        let (column, length) = (before.count + 1, max(1, fault.count))
        let window = 60
        if before.count > window { before = Array("…" + String(before.suffix(window))) }
        if fault.count > window { fault = fault.prefix(window) + ["…"] }
        if after.count > window { after = after.prefix(window) + ["…"] }

        let carets =
            String(repeating: " ", count: before.count)
            + "^" + String(repeating: "~", count: max(0, fault.count - 1))
        return .fault(
            isUnknownName ? .unknownProperty : .invalidQuery,
            "\(message)\n  \(String(before + fault + after))\n  \(carets)",
            line: bytes[..<lineStart].count { $0 == UInt8(ascii: "\n") } + 1, column: column,
            length: length)
    }

    /// Returns the text with spaces for control characters: a tab would move the caret, and an escape could move the
    /// cursor.
    private static func printable(_ bytes: ArraySlice<UInt8>) -> [Character] {
        String(decoding: bytes, as: UTF8.self).map { character in
            character.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
                ? character : " "
        }
    }
}

/// A parsed predicate, before names are looked up and types are checked.
struct PredicateSyntax {
    /// The kind of expression.
    indirect enum Form {
        case null
        case bool(Bool)
        case integer(Int64)
        case number(Double, written: DecimalValue?)
        case decimal(DecimalValue)
        case text(String)
        case date(PreciseTimestamp)
        case literal(function: String, text: String)
        case argument(Int)
        case list([PredicateSyntax])
        case path(PathSyntax)
        case subquery(SubquerySyntax)
        case negated(PredicateSyntax)
        case arithmetic(ArithmeticOperator, PredicateSyntax, PredicateSyntax)
        /// `truepredicate` and `falsepredicate`.
        case always(Bool)
        case comparison(ComparisonSyntax)
        case and([PredicateSyntax])
        case or([PredicateSyntax])
        case not(PredicateSyntax)
    }

    let form: Form
    /// UTF-8 offsets into the text.
    let range: Range<Int>
}

/// `any toys.maker.name`, `$t.price`, `items.@sum.price`.
struct PathSyntax {
    /// One component between the dots.
    struct Component {
        let name: String
        /// Whether it was written with `@`.
        let isAggregate: Bool
        let range: Range<Int>
        /// The contents of the brackets after it, one pair after the other.
        var places: [Place] = []
        /// The content of the first brackets.
        var place: Place? { places.first }
    }

    /// `[1]`, `[first]`, `['key']`: one element of a collection; `[*]`: each of them.
    struct Place {
        enum Form {
            /// Counted from 1.
            case index(Int64)
            case first
            case last
            /// How many elements there are.
            case size
            /// `[*]`: every element.
            case every
            case key(String)
            case argument(Int)
        }

        let form: Form
        let range: Range<Int>
    }

    var quantifier: Quantifier?
    /// The variable of a subquery that the path starts at.
    var variable: String?
    var components: [Component]

    /// Whether it is names and dots alone.
    var isPlain: Bool {
        quantifier == nil && variable == nil
            && components.allSatisfy { !$0.isAggregate && $0.places.isEmpty }
    }
}

/// `subquery(toys, $t, …)`, whose `.@count` follows in the text and is part of it.
struct SubquerySyntax {
    let collection: PathSyntax
    let collectionRange: Range<Int>
    let variable: String
    let condition: PredicateSyntax
}

/// `left op[options] right`.
struct ComparisonSyntax {
    let comparison: PredicateOperator
    let operatorRange: Range<Int>
    let ignoresCase: Bool
    let ignoresDiacritics: Bool
    let left: PredicateSyntax
    let right: PredicateSyntax
}

/// How many elements of a collection must satisfy a comparison.
///
/// Without one, one is enough.
enum Quantifier: Sendable, Hashable {
    case any, all, none
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
    /// A full-text search.
    case text

    /// Whether it looks into a string.
    var searchesText: Bool {
        switch self {
        case .beginsWith, .endsWith, .contains, .like: true
        default: false
        }
    }

    /// The operator that means the same with the operands swapped; nil if there is none.
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

/// A whole query text: a condition, and what follows it.
struct QuerySyntax {
    /// `sort(…)`, `distinct(…)`, `limit(…)` or `where(…)`, in the order written.
    enum Clause {
        case sort([(path: PathSyntax, ascending: Bool, range: Range<Int>)])
        case distinct([(path: PathSyntax, range: Range<Int>)])
        case limit(Int)
        /// A condition on the objects that the clauses before it leave.
        case filter(PredicateSyntax)
    }

    let predicate: PredicateSyntax
    let clauses: [Clause]
    /// The UTF-8 offset of the first clause; the end of the text without one.
    let clausesStart: Int
}

import ColumnStorage
// Decomposition (NFD) is not public in the standard library, and loading Foundation would slow down the start.
// Foundation uses the same symbol.
@_spi(_Unicode) import Swift

/// A test of text or other bytes against constants.
enum TextTest: Sendable {
    case compare(Comparison, [UInt8])
    case oneOf(BytesSet)
    case beginsWith([UInt8])
    case endsWith([UInt8])
    case contains([UInt8])
    case like([LikePart])
    /// A full-text search.
    case search(TextQuery)
    /// A test of folded text.
    indirect case folded(TextFolding, FoldedTest)

    /// A test on folded scalars.
    enum FoldedTest: Sendable {
        case compare(Comparison, [Unicode.Scalar])
        case oneOf(Set<[Unicode.Scalar]>)
        case beginsWith([Unicode.Scalar])
        case endsWith([Unicode.Scalar])
        case contains([Unicode.Scalar])
        case like([LikePart])
    }

    /// One part of a pattern.
    enum LikePart: Sendable, Hashable {
        case one(Unicode.Scalar)
        case anyOne
        case anyRun
    }

    /// Creates the test for an operator and its constant.
    init(_ operation: PredicateOperator, _ text: [UInt8], _ folding: TextFolding) {
        if folding.isNeeded {
            let scalars = folding.scalars(text.span)
            let test: FoldedTest =
                switch operation {
                case .beginsWith: .beginsWith(scalars)
                case .endsWith: .endsWith(scalars)
                case .contains: .contains(scalars)
                case .like: .like(TextTest.pattern(scalars))
                case .notEqual: .compare(.notEqual, scalars)
                default: .compare(.equal, scalars)
                }
            self = .folded(folding, test)
            return
        }
        switch operation {
        case .beginsWith: self = .beginsWith(text)
        case .endsWith: self = .endsWith(text)
        case .contains: self = .contains(text)
        case .like:
            let text = String(decoding: text, as: UTF8.self)
            self = .like(TextTest.pattern(Array(text.unicodeScalars)))
        default: self = .compare(operation.comparison ?? .equal, text)
        }
    }

    private static func pattern(_ scalars: [Unicode.Scalar]) -> [LikePart] {
        scalars.map { $0 == "*" ? .anyRun : $0 == "?" ? .anyOne : .one($0) }
    }

    /// Returns whether a value that is not nil passes.
    func matches(_ bytes: Span<UInt8>) throws(StorageError) -> Bool {
        switch self {
        case .compare(let comparison, let other):
            return comparison.holds(TextTest.order(bytes, other.span))
        case .oneOf(let set):
            return set.contains(bytes)
        case .beginsWith(let other):
            return other.count <= bytes.count && TextTest.equal(bytes, from: 0, other.span)
        case .endsWith(let other):
            return other.count <= bytes.count
                && TextTest.equal(bytes, from: bytes.count - other.count, other.span)
        case .contains(let other):
            guard other.count <= bytes.count else { return false }
            let interruption = Interruption.ofSearch(bytes.count, other.count)
            let step = 1 + other.count / 64
            var start = 0
            while start <= bytes.count - other.count {
                try interruption?.step(step)
                if TextTest.equal(bytes, from: start, other.span) { return true }
                start += 1
            }
            return false
        case .like(let pattern):
            let text = String(decoding: [UInt8](copying: bytes), as: UTF8.self)
            return try TextTest.isLike(Array(text.unicodeScalars), pattern)
        case .search(let query):
            return query.matches(bytes)
        case .folded(let folding, .like(let pattern)):
            let text = folding.characters(bytes)
            return try TextTest.isLike(text.scalars, pattern, starts: text.starts)
        case .folded(let folding, let test):
            return try TextTest.matches(folding.scalars(bytes), test)
        }
    }

    private static func matches(
        _ scalars: [Unicode.Scalar], _ test: FoldedTest
    ) throws(StorageError) -> Bool {
        switch test {
        case .compare(let comparison, let other):
            return (scalars == other) == (comparison == .equal)
        case .oneOf(let others): return others.contains(scalars)
        case .beginsWith(let other): return scalars.starts(with: other)
        case .endsWith(let other):
            return scalars.count >= other.count && scalars.suffix(other.count).elementsEqual(other)
        case .contains(let other):
            guard other.count <= scalars.count else { return false }
            let interruption = Interruption.ofSearch(scalars.count, other.count)
            let step = 1 + other.count / 16
            for start in 0...scalars.count - other.count {
                try interruption?.step(step)
                if scalars[start..<start + other.count].elementsEqual(other) { return true }
            }
            return false
        case .like(let pattern): return try isLike(scalars, pattern)
        }
    }

    /// Matches greedily and backtracks only to the last `*`; the time for each star is linear in the length of the
    /// text.
    ///
    /// `starts` marks the scalars that begin a character; without it, every scalar begins one. `?` matches a whole
    /// character.
    private static func isLike(
        _ text: [Unicode.Scalar], _ pattern: [LikePart], starts: [Bool]? = nil
    ) throws(StorageError) -> Bool {
        func end(ofCharacterAt index: Int) -> Int {
            guard let starts else { return index + 1 }
            var end = index + 1
            while end < starts.count, !starts[end] { end += 1 }
            return end
        }
        let interruption = Interruption.ofSearch(text.count, pattern.count)
        var at = 0
        var part = 0
        var retry: (text: Int, part: Int)?
        while at < text.count {
            try interruption?.step()
            if part < pattern.count, pattern[part] == .anyRun {
                retry = (at, part)
                part += 1
            } else if part < pattern.count, pattern[part] == .one(text[at]) {
                at += 1
                part += 1
            } else if part < pattern.count, pattern[part] == .anyOne, starts?[at] ?? true {
                at = end(ofCharacterAt: at)
                part += 1
            } else if let last = retry {
                retry = (last.text + 1, last.part)
                at = last.text + 1
                part = last.part + 1
            } else {
                return false
            }
        }
        while part < pattern.count, pattern[part] == .anyRun { part += 1 }
        return part == pattern.count
    }

    /// Compares byte by byte: -1, 0 or 1.
    static func order(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        let common = min(left.count, right.count)
        var index = 0
        while index < common {
            if left[index] != right[index] { return left[index] < right[index] ? -1 : 1 }
            index += 1
        }
        return left.count == right.count ? 0 : left.count < right.count ? -1 : 1
    }

    private static func equal(
        _ bytes: Span<UInt8>, from start: Int, _ other: Span<UInt8>
    ) -> Bool {
        var index = 0
        while index < other.count {
            if bytes[start + index] != other[index] { return false }
            index += 1
        }
        return true
    }
}

extension PredicateOperator {
    /// The equivalent plain comparison; nil for other operators.
    var comparison: Comparison? {
        switch self {
        case .equal: .equal
        case .notEqual: .notEqual
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greater: .greater
        case .greaterOrEqual: .greaterOrEqual
        default: nil
        }
    }
}

extension Interruption {
    /// Returns the interruption check for a search of a long text in a longer one, which may take long; nil for others.
    fileprivate static func ofSearch(_ count: Int, _ wanted: Int) -> Interruption? {
        // The check costs more than a short search.
        count.multipliedReportingOverflow(by: wanted).partialValue > 1 << 16 ? current : nil
    }
}

/// A full-text search of the texts at the end of a path without lists.
struct TextSearch: Hashable, Sendable {
    let path: PropertyPath
    let query: TextQuery
}

/// One text whose score is part of `@rank`.
struct RankedText: Hashable, Sendable {
    let hops: [CompiledPath.Hop]
    let slot: Int
    let column: ColumnID
    let query: TextQuery

    /// Returns the score of an object's text; 0 for nil.
    func score(_ tables: BoundTables, _ key: ObjectKey) throws -> Double {
        var score = 0.0
        _ = try CompiledPath(hops: hops, terminal: .object).forEachObject(tables, key) { object in
            guard let object else { return false }
            score =
                try tables[slot].withBytes(column, object) { query.score(Span(_bytes: $0)) } ?? 0
            return false
        }
        return score
    }
}

extension SortKey {
    /// The name of the order by relevance in `sorted` and `sort()`.
    static let rankName = "@rank"

    /// Creates a sort key by relevance; ascending order begins with the best match.
    ///
    /// Throws `invalid_query` if there are no searches.
    init(rank searches: [TextSearch], ascending: Bool) throws {
        guard let first = searches.first else {
            throw StoreError(
                .invalidQuery,
                "'@rank' requires a full-text search; filter with 'text' first, on a "
                    + "property that is reached without a list")
        }
        path = first.path
        self.searches = searches
        self.ascending = ascending
        dependencies = searches.map(\.path)
        description = SortKey.rankName
        type = .double
        value = nil
        reading = PathReading(rank: searches)
    }
}

extension PathReading {
    /// Creates a form that adds the scores of searches.
    fileprivate convenience init(rank searches: [TextSearch]) {
        var tables: [TableID] = []
        var texts: [RankedText] = []
        for search in searches {
            let path = search.path.compiled(&tables)
            guard case .value(let slot, let source) = path.terminal else { continue }
            texts.append(
                RankedText(
                    hops: path.hops, slot: slot, column: source.column, query: search.query))
        }
        self.init(CompiledPath(hops: [], terminal: .rank(texts)), isMixed: false, tables)
    }
}

extension PathSyntax {
    /// Whether the path is `@rank`.
    var isRank: Bool {
        variable == nil && components.count == 1 && components[0].isAggregate
            && components[0].name.lowercased() == "rank"
    }
}

/// Folds strings so that differences that a predicate ignores disappear: `[c]` case, `[d]` diacritics.
///
/// `[c]` is full case folding (``ColumnStorage/CaseFolding``). `[d]` decomposes the text (NFD) and removes the
/// nonspacing marks: "é", one character or two, is "e", and "İ" is "I". Letters without a decomposition remain: "ø",
/// "ł", "ß".
struct TextFolding: Hashable, Sendable {
    let ignoresCase: Bool
    let ignoresDiacritics: Bool

    var isNeeded: Bool { ignoresCase || ignoresDiacritics }

    /// Returns the folded text as scalars.
    func scalars(_ bytes: Span<UInt8>) -> [Unicode.Scalar] {
        var scalars: [Unicode.Scalar] = []
        scalars.reserveCapacity(bytes.count)
        forEachCharacter(of: bytes) { append($0, to: &scalars) }
        return scalars
    }

    /// Returns the folded text as scalars, and for each scalar whether it begins a character of the text.
    ///
    /// A character may fold to several scalars, as "ß" to "ss", but still counts as one character for the `?` of
    /// `like`.
    func characters(_ bytes: Span<UInt8>) -> (scalars: [Unicode.Scalar], starts: [Bool]) {
        var scalars: [Unicode.Scalar] = []
        var starts: [Bool] = []
        forEachCharacter(of: bytes) { scalar in
            append(scalar, to: &scalars)
            starts.append(true)
            while starts.count < scalars.count { starts.append(false) }
        }
        assert(starts.count == scalars.count, "each scalar has a mark")
        return (scalars, starts)
    }

    /// Calls `body` with each scalar of a text that is not ignored.
    private func forEachCharacter(of bytes: Span<UInt8>, _ body: (Unicode.Scalar) -> Void) {
        var isASCII = true
        var index = 0
        while index < bytes.count {
            if bytes[index] >= 0x80 { isASCII = false }
            index += 1
        }
        if isASCII {
            index = 0
            while index < bytes.count {
                body(Unicode.Scalar(bytes[index]))
                index += 1
            }
            return
        }
        let text = String(decoding: [UInt8](copying: bytes), as: UTF8.self)
        guard ignoresDiacritics else { return text.unicodeScalars.forEach(body) }
        for scalar in text._nfd where scalar.properties.generalCategory != .nonspacingMark {
            body(scalar)
        }
    }

    @inline(__always)
    private func append(_ scalar: Unicode.Scalar, to scalars: inout [Unicode.Scalar]) {
        if ignoresCase {
            CaseFolding.fold(scalar) { scalars.append($0) }
        } else {
            scalars.append(scalar)
        }
    }
}

extension [UInt8] {
    /// Creates an array with the bytes of a span.
    init(copying bytes: Span<UInt8>) {
        self.init()
        reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            append(bytes[index])
            index += 1
        }
    }
}

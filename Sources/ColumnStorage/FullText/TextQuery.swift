/// A full-text search: the terms that a text must contain, and those that it must not contain.
///
/// In `red -blue phrase*`, the text must contain every word but not the word after `-`, and the word before `*` may be
/// the beginning of a longer one. A word is divided into terms in the same way as the text (``TextTerms``), so
/// `-well-known` excludes texts that contain both `well` and `known`. A search without any term matches no text; one
/// that only excludes terms matches every other text.
package struct TextQuery: Hashable, Sendable {
    /// One term, or the prefix of terms.
    package struct Term: Hashable, Sendable {
        /// The folded bytes.
        package let bytes: [UInt8]
        /// Whether longer terms with these bytes as a prefix match too.
        package let isPrefix: Bool

        func matches(_ term: Span<UInt8>) -> Bool {
            guard isPrefix ? term.count >= bytes.count : term.count == bytes.count else {
                return false
            }
            var index = 0
            while index < bytes.count {
                if bytes[index] != term[index] { return false }
                index &+= 1
            }
            return true
        }
    }

    /// The maximum number of terms in a search.
    package static let mostTerms = 64

    /// The terms that must all occur, without duplicates.
    package let required: [Term]
    /// Groups of terms; a text that contains all terms of a group is excluded.
    package let excluded: [[Term]]

    private let terms: [Term]
    private let requiredMask: UInt64
    private let excludedMasks: [UInt64]

    /// Parses a search; nil if it has more than ``mostTerms`` terms.
    package init?(_ text: String) {
        var required: [Term] = []
        var excluded: [[Term]] = []
        var count = 0
        var rest = text[...]
        // Words are read one by one, because a text of millions of words ends at the first that is too many.
        while let start = rest.firstIndex(where: { !$0.isWhitespace }) {
            rest = rest[start...]
            let word = rest[..<(rest.firstIndex(where: \.isWhitespace) ?? rest.endIndex)]
            rest = rest[word.endIndex...]
            let isExcluded = word.first == "-"
            let isPrefix = word.last == "*"
            let found = TextTerms.all(in: Array(word.utf8).span, atMost: Self.mostTerms + 1)
            let group = found.enumerated().map { index, bytes in
                Term(bytes: bytes, isPrefix: isPrefix && index == found.count - 1)
            }
            count += group.count
            guard count <= Self.mostTerms else { return nil }
            if isExcluded {
                if !group.isEmpty { excluded.append(group) }
            } else {
                for term in group where !required.contains(term) { required.append(term) }
            }
        }
        self.required = required
        self.excluded = excluded
        terms = required + excluded.flatMap(\.self)
        func mask(_ from: Int, _ count: Int) -> UInt64 {
            count == 0 ? 0 : (UInt64.max >> UInt64(64 - count)) << UInt64(from)
        }
        requiredMask = mask(0, required.count)
        var from = required.count
        excludedMasks = excluded.map { group in
            defer { from += group.count }
            return mask(from, group.count)
        }
    }

    /// Returns whether a text matches.
    package func matches(_ text: Span<UInt8>) -> Bool {
        if terms.isEmpty { return false }
        var found: UInt64 = 0
        TextTerms.forEach(in: text) { term in
            var index = 0
            while index < terms.count {
                if found >> UInt64(index) & 1 == 0, terms[index].matches(term) {
                    found |= 1 << UInt64(index)
                }
                index &+= 1
            }
            // Without exclusions, the text matches as soon as the last required term is found.
            return !excludedMasks.isEmpty || found != requiredMask
        }
        return found & requiredMask == requiredMask
            && excludedMasks.allSatisfy { found & $0 != $0 }
    }

    /// Returns the score of a text, which is higher for frequent terms and for short texts.
    ///
    /// Each required term adds `n / (n + 1.2 * (0.25 + 0.75 * length / 16))`, where `n` is the number of its
    /// occurrences and the length is in terms. This is BM25 without the statistics of the other rows, so a row's score
    /// depends only on its own text. The score of a text without any of the terms is 0.
    package func score(_ text: Span<UInt8>) -> Double {
        var counts = [Int](repeating: 0, count: required.count)
        var length = 0
        TextTerms.forEach(in: text) { term in
            length += 1
            for index in required.indices where required[index].matches(term) { counts[index] += 1 }
            return true
        }
        let norm = 1.2 * (0.25 + 0.75 * Double(length) / 16)
        return counts.reduce(0) { $0 + Double($1) / (Double($1) + norm) }
    }
}

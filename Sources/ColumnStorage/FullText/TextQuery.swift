/// A full-text search: what a text must hold, and must not.
///
/// Written as `red -blue phrase*`: the text must contain every word, must not contain a word after `-`, and may
/// continue a word before `*`. A word is cut into terms like the text (``TextTerms``), so that `-well-known` excludes
/// texts that contain both `well` and `known`. A search without any term matches nothing; one that only excludes
/// matches every other text.
package struct TextQuery: Hashable, Sendable {
    /// One term, or the beginning of one.
    package struct Term: Hashable, Sendable {
        /// The folded bytes.
        package let bytes: [UInt8]
        /// Whether a longer term will do.
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

    /// The most terms that a search may have.
    package static let mostTerms = 64

    /// The terms that must all occur, each once.
    package let required: [Term]
    /// Groups of which none may be there as a whole.
    package let excluded: [[Term]]

    private let terms: [Term]
    private let requiredMask: UInt64
    private let excludedMasks: [UInt64]

    /// Reads a search; nil if it has more than ``mostTerms`` terms.
    package init?(_ text: String) {
        var required: [Term] = []
        var excluded: [[Term]] = []
        var count = 0
        for word in text.split(whereSeparator: \.isWhitespace) {
            let isExcluded = word.first == "-"
            let isPrefix = word.last == "*"
            let found = TextTerms.all(in: Array(word.utf8).span)
            let group = found.enumerated().map { place, bytes in
                Term(bytes: bytes, isPrefix: isPrefix && place == found.count - 1)
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

    /// Whether there is no term at all.
    package var isEmpty: Bool { terms.isEmpty }

    /// Whether a text matches.
    package func matches(_ text: Span<UInt8>) -> Bool {
        if terms.isEmpty { return false }
        var found: UInt64 = 0
        TextTerms.forEach(in: text) { term in
            var place = 0
            while place < terms.count {
                if found >> UInt64(place) & 1 == 0, terms[place].matches(term) {
                    found |= 1 << UInt64(place)
                }
                place &+= 1
            }
            // Without exclusions the last required term decides.
            return !excludedMasks.isEmpty || found != requiredMask
        }
        return found & requiredMask == requiredMask
            && excludedMasks.allSatisfy { found & $0 != $0 }
    }

    /// How well a text matches: more for terms that occur often and for short texts.
    ///
    /// Each required term adds `n / (n + 1.2 * (0.25 + 0.75 * length / 16))`, where `n` is how often
    /// it occurs and the length is in terms: BM25 without the statistics of the other rows, so that
    /// a row's score depends on nothing but its own text. 0 for a text without any of the terms.
    package func score(_ text: Span<UInt8>) -> Double {
        var counts = [Int](repeating: 0, count: required.count)
        var length = 0
        TextTerms.forEach(in: text) { term in
            length += 1
            for place in required.indices where required[place].matches(term) { counts[place] += 1 }
            return true
        }
        let norm = 1.2 * (0.25 + 0.75 * Double(length) / 16)
        return counts.reduce(0) { $0 + Double($1) / (Double($1) + norm) }
    }
}

// Decomposition (NFD) is not public in the standard library, and Foundation would cost start-up
// time; the symbol is the one that Foundation itself uses.

@_spi(_Unicode) import Swift

/// Divides text into the terms that a full-text index contains and that a search looks up.
///
/// A term is a run of letters, digits and `_`, in lower case and without diacritics: `Čeština` is `cestina`. An
/// apostrophe between letters is removed (`don't` is `dont`), and a point or comma between digits is kept (`3.14`); all
/// other characters separate terms. Scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer,
/// Burmese) have one term for each character. A term is truncated to ``longest`` bytes.
package enum TextTerms {
    /// The maximum length of a term in bytes.
    package static let longest = 96

    /// Calls `body` with the folded UTF-8 bytes of every term in order until it returns false.
    ///
    /// Invalid UTF-8 bytes separate terms. Takes linear time; ASCII is fastest.
    package static func forEach(in text: Span<UInt8>, _ body: (Span<UInt8>) -> Bool) {
        var builder = TermBuilder()
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte >= 0x80 { return forEachInUnicode(text, from: index, &builder, body) }
            let form = TermCharacter.ascii[Int(byte)]
            index &+= 1
            switch form {
            case TermCharacter.letter.rawValue, TermCharacter.digit.rawValue:
                if !builder.makeSpace(for: form, body) { return }
                builder.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
            case TermCharacter.separator.rawValue:
                if !builder.isEmpty, !builder.finish(body) { return }
            default:
                if !builder.hold(form, byte, body) { return }
            }
        }
        _ = builder.finish(body)
    }

    /// Calls `body` with the terms of a text with other characters than ASCII, the first of them at `start`.
    private static func forEachInUnicode(
        _ text: Span<UInt8>, from start: Int, _ builder: inout TermBuilder,
        _ body: (Span<UInt8>) -> Bool
    ) {
        // A mark may belong to the letter before the first byte that is not ASCII. Marks are dropped or appended, so
        // the builder can continue from its current position.
        var rest: [UInt8] = []
        rest.reserveCapacity(text.count - start)
        var index = start
        while index < text.count {
            rest.append(text[index])
            index &+= 1
        }
        for scalar in String(decoding: rest, as: UTF8.self)._nfd {
            let form = TermCharacter.of(scalar)
            switch form {
            case .mark: continue
            case .extending:
                builder.append(scalar)
            case .letter, .digit:
                if !builder.makeSpace(for: form.rawValue, body) { return }
                TermCharacter.fold(scalar) { builder.append($0) }
            case .single:
                if !builder.finish(body) { return }
                builder.append(scalar)
                builder.isSingle = true
            case .apostrophe, .point:
                let byte = scalar == "," ? UInt8(ascii: ",") : UInt8(ascii: ".")
                if !builder.hold(form.rawValue, byte, body) { return }
            case .separator:
                if !builder.finish(body) { return }
            }
        }
        _ = builder.finish(body)
    }

    /// Returns all terms of a text in order, including repeated ones.
    ///
    /// Stops after `maximum` terms.
    package static func all(in text: Span<UInt8>, atMost maximum: Int = .max) -> [[UInt8]] {
        var terms: [[UInt8]] = []
        forEach(in: text) { term in
            var copy: [UInt8] = []
            copy.reserveCapacity(term.count)
            for index in term.indices { copy.append(term[index]) }
            terms.append(copy)
            return terms.count < maximum
        }
        return terms
    }
}

/// The term that is being built.
private struct TermBuilder {
    private var bytes: [UInt8] = []
    /// The kind of the term's last character.
    private var last: UInt8 = 0
    /// An apostrophe, point or comma that is a part of the term only if a suitable character follows.
    private var held: UInt8 = 0
    private var heldByte: UInt8 = 0
    /// Whether the term is one character of a script without spaces, which only marks can extend.
    var isSingle = false

    var isEmpty: Bool { bytes.isEmpty }

    /// Prepares for a letter or digit: ends a term that the character cannot extend.
    @inline(__always)
    mutating func makeSpace(for form: UInt8, _ body: (Span<UInt8>) -> Bool) -> Bool {
        if held != 0 || isSingle { return resolve(form, body) }
        last = form
        return true
    }

    private mutating func resolve(_ form: UInt8, _ body: (Span<UInt8>) -> Bool) -> Bool {
        assert(!bytes.isEmpty, "a held character follows a part of the term")
        let joins =
            !isSingle && form == last
            && (held == TermCharacter.apostrophe.rawValue)
                == (form == TermCharacter.letter.rawValue)
        if joins {
            if held == TermCharacter.point.rawValue { append(heldByte) }
            held = 0
        } else if !finish(body) {
            return false
        }
        last = form
        return true
    }

    /// Keeps a character that joins two parts of a term, if a term has begun.
    mutating func hold(_ form: UInt8, _ byte: UInt8, _ body: (Span<UInt8>) -> Bool) -> Bool {
        assert(
            form == TermCharacter.apostrophe.rawValue || form == TermCharacter.point.rawValue,
            "only an apostrophe and a point join parts of a term")
        if bytes.isEmpty || held != 0 || isSingle { return finish(body) }
        held = form
        heldByte = byte
        return true
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        if bytes.count < TextTerms.longest { bytes.append(byte) }
    }

    mutating func append(_ scalar: Unicode.Scalar) {
        let encoded = Unicode.UTF8.encode(scalar)
        if let encoded, bytes.count + encoded.count <= TextTerms.longest {
            bytes.append(contentsOf: encoded)
        }
    }

    /// Passes the term to `body`, if there is one, and returns the result of `body`.
    mutating func finish(_ body: (Span<UInt8>) -> Bool) -> Bool {
        held = 0
        isSingle = false
        if bytes.isEmpty { return true }
        assert(bytes.count <= TextTerms.longest, "a long term is truncated")
        let mayContinue = body(bytes.span)
        bytes.removeAll(keepingCapacity: true)
        return mayContinue
    }
}

/// The role of a character in the terms of a text.
enum TermCharacter: UInt8 {
    case separator = 0
    case letter
    case digit
    case apostrophe
    case point
    /// A diacritic, which is removed.
    case mark
    /// A mark that extends the previous character, such as a vowel sign or a voicing mark.
    case extending
    /// A character of a script without spaces between words.
    case single

    /// The raw values for ASCII.
    static let ascii: [UInt8] = (0..<128).map { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"):
            letter.rawValue
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit.rawValue
        case UInt8(ascii: "'"): apostrophe.rawValue
        case UInt8(ascii: "."), UInt8(ascii: ","): point.rawValue
        default: separator.rawValue
        }
    }

    /// Returns the role of a scalar of decomposed text.
    static func of(_ scalar: Unicode.Scalar) -> TermCharacter {
        if scalar.isASCII {
            // because: the table has the raw values of this type.
            return TermCharacter(rawValue: ascii[Int(scalar.value)])!
        }
        switch scalar.value {
        case 0x2019, 0x02BC: return .apostrophe
        case 0x0300...0x036F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F,
            0x0591...0x05C7, 0x0610...0x061A, 0x064B...0x065F, 0x0670:
            if scalar.properties.generalCategory == .nonspacingMark { return .mark }
        case 0x200B...0x200D, 0xFE00...0xFE0F: return .mark
        case 0x3099, 0x309A: return .extending
        default: break
        }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: return isUnspaced(scalar) ? .single : .extending
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter:
            return isUnspaced(scalar) ? .single : .letter
        case .decimalNumber, .letterNumber, .otherNumber:
            return scalar.properties.isIdeographic ? .single : .digit
        case .connectorPunctuation: return .letter
        default: return .separator
        }
    }

    /// Returns whether the scalar's script is written without spaces between words.
    private static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF, 0x31F0...0x31FF,
            0xFF66...0xFF9F:
            true
        default: scalar.properties.isIdeographic
        }
    }

    /// Folds case (``CaseFolding``), and replaces letters without a decomposition by the plain letters that people
    /// type.
    static func fold(_ scalar: Unicode.Scalar, _ body: (Unicode.Scalar) -> Void) {
        CaseFolding.fold(scalar) { folded in
            switch folded {
            case "æ": "ae".unicodeScalars.forEach(body)
            case "œ": "oe".unicodeScalars.forEach(body)
            case "ø": body("o")
            case "ł": body("l")
            case "đ", "ð": body("d")
            case "ħ": body("h")
            case "ŧ": body("t")
            case "ı": body("i")
            case "\u{300}"..."\u{36F}": break
            default: body(folded)
            }
        }
    }
}

/// Full case folding of Unicode, which makes texts equal that differ only in case.
///
/// The result is that of `CaseFolding.txt` in the Unicode Character Database, statuses C and F, for every character. It
/// is computed with the case mappings of the standard library: upper case, then lower case, except for a few characters
/// below. The data is therefore that of the Swift version that compiles the program, and no table or library has to be
/// updated.
///
/// "Ὀδυσσεύς" and "ὈΔΥΣΣΕΎΣ" fold to equal texts, and so do "straße", "STRASSE" and "STRAẞE", "ſ" and "s", "ﬁ" and
/// "fi". "İ" folds to "i" with a dot above, and "ı" to itself: Turkish has different rules, which would depend on the
/// language of a text.
package enum CaseFolding {
    /// Calls `body` with the one to three scalars to which a scalar folds.
    package static func fold(_ scalar: Unicode.Scalar, _ body: (Unicode.Scalar) -> Void) {
        let value = scalar.value
        if value < 0x80 {
            return body(value &- 0x41 < 26 ? Unicode.Scalar(UInt8(value) | 0x20) : scalar)
        }
        switch value {
        // A lowercase i without a dot is not an "i".
        case 0x131: body(scalar)
        case 0x1E9E: "ss".unicodeScalars.forEach(body)
        // Cherokee folds to its older capital letters.
        case 0x13A0...0x13F5: body(scalar)
        case 0x13F8...0x13FD: body(Unicode.Scalar(value - 8) ?? scalar)
        case 0xAB70...0xABBF: body(Unicode.Scalar(value - 0x97D0) ?? scalar)
        default:
            let properties = scalar.properties
            guard properties.changesWhenCaseFolded else { return body(scalar) }
            for upper in properties.uppercaseMapping.unicodeScalars {
                upper.properties.lowercaseMapping.unicodeScalars.forEach(body)
            }
        }
    }
}

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
    package static let maxTerms = 64

    /// The terms that must all occur, without duplicates.
    package let required: [Term]
    /// Groups of terms; a text that contains all terms of a group is excluded.
    package let excluded: [[Term]]

    private let terms: [Term]
    private let requiredMask: UInt64
    private let excludedMasks: [UInt64]

    /// Parses a search; nil if it has more than ``maxTerms`` terms.
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
            let found = TextTerms.all(in: Array(word.utf8).span, atMost: Self.maxTerms + 1)
            let group = found.enumerated().map { index, bytes in
                Term(bytes: bytes, isPrefix: isPrefix && index == found.count - 1)
            }
            count += group.count
            guard count <= Self.maxTerms else { return nil }
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
        assert(from == terms.count, "each term has a bit of its own")
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

/// A Lua pattern, matched without Lua: classes such as `%a`, sets, `.`, the repetitions `*`, `+`, `-` and `?`, `%b()`,
/// `%f[set]`, and the ends `^` and `$`.
///
/// A pattern matches bytes, and its classes are those of ASCII. Parentheses have no effect, because a test returns no
/// captures; references to captures (`%1`) are refused. The stack depth depends on the length of the pattern only.
struct TextPattern {
    /// The pattern as it was written.
    let text: String
    private var items: [Item] = []
    private var isAtStart = false
    private var isAtEnd = false

    private enum Repetition { case once, optional, any, some, fewest }

    private enum Item {
        case bytes(ByteSet, Repetition)
        case balanced(UInt8, UInt8)
        case frontier(ByteSet)
    }

    /// Compiles a pattern.
    ///
    /// Throws `invalid_schema` for an invalid one.
    init(_ text: String) throws {
        self.text = text
        var source = Source(bytes: Array(text.utf8), text: text)
        if source.take(UInt8(ascii: "^")) { isAtStart = true }
        var depth = 0
        while let byte = source.next() {
            switch byte {
            case UInt8(ascii: "$") where source.isAtEnd: isAtEnd = true
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"):
                depth -= 1
                if depth < 0 { throw source.fault("a ')' without '('") }
            case UInt8(ascii: "%") where source.take(UInt8(ascii: "b")):
                guard let open = source.next(), let close = source.next() else {
                    throw source.fault("'%b' needs two characters")
                }
                items.append(.balanced(open, close))
            case UInt8(ascii: "%") where source.take(UInt8(ascii: "f")):
                guard source.take(UInt8(ascii: "[")) else {
                    throw source.fault("'%f' needs a set in brackets")
                }
                items.append(.frontier(try source.set()))
            default:
                let set =
                    byte == UInt8(ascii: "[")
                    ? try source.set() : try source.single(byte)
                items.append(.bytes(set, source.repetition()))
            }
        }
        if depth > 0 { throw source.fault("a '(' without ')'") }
    }

    /// Returns whether a text contains the pattern, or is one if the pattern has both ends.
    func matches(_ text: String) throws -> Bool {
        let bytes = Array(text.utf8)
        var start = 0
        repeat {
            if try matches(bytes, start, 0) { return true }
            start += 1
        } while !isAtStart && start <= bytes.count
        return false
    }

    /// Matches the items from `item` on at a position, and tries each repetition.
    private func matches(_ bytes: [UInt8], _ position: Int, _ item: Int) throws -> Bool {
        var (position, item) = (position, item)
        while item < items.count {
            try StoreError.step()
            switch items[item] {
            case .bytes(let set, .once):
                guard position < bytes.count, set.contains(bytes[position]) else { return false }
                position += 1
            case .bytes(let set, .optional):
                if position < bytes.count, set.contains(bytes[position]),
                    try matches(bytes, position + 1, item + 1)
                {
                    return true
                }
            case .bytes(let set, .fewest):
                while try !matches(bytes, position, item + 1) {
                    guard position < bytes.count, set.contains(bytes[position]) else {
                        return false
                    }
                    position += 1
                }
                return true
            case .bytes(let set, let repetition):
                let first = position + (repetition == .some ? 1 : 0)
                while position < bytes.count, set.contains(bytes[position]) { position += 1 }
                guard position >= first else { return false }
                for end in stride(from: position, through: first, by: -1)
                where try matches(bytes, end, item + 1) {
                    return true
                }
                return false
            case .balanced(let open, let close):
                guard let end = Self.balanced(bytes, position, open, close) else { return false }
                position = end
            case .frontier(let set):
                let before = position == 0 ? 0 : bytes[position - 1]
                let after = position < bytes.count ? bytes[position] : 0
                guard !set.contains(before), set.contains(after) else { return false }
            }
            item += 1
        }
        return !isAtEnd || position == bytes.count
    }

    private static func balanced(
        _ bytes: [UInt8], _ start: Int, _ open: UInt8, _ close: UInt8
    ) -> Int? {
        guard start < bytes.count, bytes[start] == open else { return nil }
        var depth = 1
        for position in bytes.indices.dropFirst(start + 1) {
            if bytes[position] == close {
                depth -= 1
                if depth == 0 { return position + 1 }
            } else if bytes[position] == open {
                depth += 1
            }
        }
        return nil
    }

    /// The bytes that one item of a pattern accepts.
    private struct ByteSet {
        private var words = SIMD4<UInt64>()

        static let all: ByteSet = {
            var set = ByteSet()
            set.words = SIMD4(repeating: .max)
            return set
        }()

        func contains(_ byte: UInt8) -> Bool {
            words[Int(byte >> 6)] >> UInt64(byte & 63) & 1 != 0
        }

        init() {}

        init(_ byte: UInt8) { insert(byte) }

        mutating func insert(_ byte: UInt8) { words[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }

        mutating func formUnion(_ other: ByteSet) { words |= other.words }

        mutating func invert() { words = ~words }

        /// Returns the class of a letter, such as `%a`; nil for other characters.
        static func named(_ letter: UInt8) -> ByteSet? {
            let test: (UInt8) -> Bool
            func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
            func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
            func isGraph(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }
            switch letter | 0x20 {
            case UInt8(ascii: "a"): test = isLetter
            case UInt8(ascii: "c"): test = { $0 < 0x20 || $0 == 0x7F }
            case UInt8(ascii: "d"): test = isDigit
            case UInt8(ascii: "g"): test = isGraph
            case UInt8(ascii: "l"): test = { (0x61...0x7A).contains($0) }
            case UInt8(ascii: "p"): test = { isGraph($0) && !isLetter($0) && !isDigit($0) }
            case UInt8(ascii: "s"): test = { $0 == 0x20 || (0x09...0x0D).contains($0) }
            case UInt8(ascii: "u"): test = { (0x41...0x5A).contains($0) }
            case UInt8(ascii: "w"): test = { isLetter($0) || isDigit($0) }
            case UInt8(ascii: "x"): test = { isDigit($0) || (0x61...0x66).contains($0 | 0x20) }
            default: return nil
            }
            guard isLetter(letter) else { return nil }
            var set = ByteSet()
            for byte in UInt8.min...UInt8.max where test(byte) { set.insert(byte) }
            if letter & 0x20 == 0 { set.invert() }
            return set
        }
    }

    /// Reads the characters of a pattern.
    private struct Source {
        let bytes: [UInt8]
        let text: String
        private var position = 0

        init(bytes: [UInt8], text: String) {
            self.bytes = bytes
            self.text = text
        }

        var isAtEnd: Bool { position == bytes.count }

        mutating func next() -> UInt8? {
            guard position < bytes.count else { return nil }
            position += 1
            return bytes[position - 1]
        }

        mutating func take(_ byte: UInt8) -> Bool {
            guard position < bytes.count, bytes[position] == byte else { return false }
            position += 1
            return true
        }

        /// Returns the bytes that a character matches outside of brackets.
        mutating func single(_ byte: UInt8) throws -> ByteSet {
            if byte == UInt8(ascii: ".") { return .all }
            guard byte == UInt8(ascii: "%") else { return ByteSet(byte) }
            guard let letter = next() else { throw fault("it ends with '%'") }
            guard !(0x30...0x39).contains(letter) else {
                throw fault("captures such as '%1' are not available in a rule")
            }
            return ByteSet.named(letter) ?? ByteSet(letter)
        }

        /// Returns the bytes of a set, after its opening bracket.
        mutating func set() throws -> ByteSet {
            var set = ByteSet()
            let isInverted = take(UInt8(ascii: "^"))
            // A bracket at the beginning belongs to the set.
            var isFirst = true
            while let byte = next() {
                if byte == UInt8(ascii: "]"), !isFirst {
                    if isInverted { set.invert() }
                    return set
                }
                isFirst = false
                if byte == UInt8(ascii: "%") {
                    guard let letter = next() else { break }
                    set.formUnion(ByteSet.named(letter) ?? ByteSet(letter))
                } else if position + 1 < bytes.count, bytes[position] == UInt8(ascii: "-"),
                    bytes[position + 1] != UInt8(ascii: "]")
                {
                    position += 1
                    if let last = next(), byte <= last {
                        for one in byte...last { set.insert(one) }
                    }
                } else {
                    set.insert(byte)
                }
            }
            throw fault("a '[' without ']'")
        }

        mutating func repetition() -> Repetition {
            if take(UInt8(ascii: "*")) { return .any }
            if take(UInt8(ascii: "+")) { return .some }
            if take(UInt8(ascii: "-")) { return .fewest }
            return take(UInt8(ascii: "?")) ? .optional : .once
        }

        func fault(_ reason: String) -> StoreError {
            StoreError(.invalidSchema, "'\(text)' is not a valid pattern: \(reason)")
        }
    }
}

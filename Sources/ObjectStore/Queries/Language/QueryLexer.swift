import MemoryAccounts

/// Divides the text of a predicate into tokens.
///
/// The lexer works on UTF-8 bytes. A name consists of letters, digits and underscores; all characters outside of ASCII
/// count as letters. The whole text is divided first, so that the parser can look ahead.
struct QueryLexer {
    private let bytes: [UInt8]
    private var at = 0
    private var tokens: [QueryToken] = []

    /// Returns the tokens of `text`, with an `.end` as the last one.
    static func tokens(of text: String) throws(QueryFault) -> [QueryToken] {
        var lexer = QueryLexer(bytes: Array(text.utf8))
        while try lexer.scan() {}
        let end = lexer.bytes.count
        lexer.tokens.append(QueryToken(kind: .end, range: end..<end))
        return lexer.tokens
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private func byte(_ offset: Int = 0) -> UInt8 {
        at + offset < bytes.count ? bytes[at + offset] : 0
    }

    private mutating func add(_ kind: QueryToken.Kind, from start: Int) {
        assert(start < at && at <= bytes.count, "a token is a part of the text")
        assert(tokens.last.map { $0.range.upperBound <= start } ?? true, "the tokens ascend")
        tokens.append(QueryToken(kind: kind, range: start..<at))
    }

    private mutating func scan() throws(QueryFault) -> Bool {
        while at < bytes.count, QueryLexer.isSpace(bytes[at]) { at += 1 }
        guard at < bytes.count else { return false }
        try QueryFault.step()
        do throws(MemoryLimitReached) {
            try tokens.requireSpaceToGrow()
        } catch {
            throw QueryFault(cause: StoreError(error))
        }
        let start = at
        let first = bytes[at]
        if first == UInt8(ascii: "T"), try scanRealmDate() {
            return true
        } else if QueryLexer.isLetter(first) {
            try scanName()
        } else if QueryLexer.isDigit(first)
            || (first == UInt8(ascii: ".") && QueryLexer.isDigit(byte(1)) && !followsPath)
        {
            try scanNumber()
        } else if first == UInt8(ascii: "'") || first == UInt8(ascii: "\"") {
            add(.value(.string(try scanText())), from: start)
        } else if first == UInt8(ascii: "`") {
            try scanQuoted()
        } else if first == UInt8(ascii: "$") {
            try scanArgument()
        } else if first == UInt8(ascii: "@") {
            at += 1
            let name = takeName()
            guard !name.isEmpty else {
                throw QueryFault("expected a name after '@', such as @count", at: start..<at)
            }
            add(.aggregate(name), from: start)
        } else {
            try scanSymbol()
        }
        return true
    }

    /// Whether the previous token is part of a key path, after which `.5` is not a number.
    private var followsPath: Bool {
        guard let last = tokens.last, last.range.upperBound == at else { return false }
        switch last.kind {
        case .name, .quoted, .aggregate, .variable: return true
        default: return last.isSymbol("]")
        }
    }

    private mutating func takeName() -> String {
        let start = at
        while at < bytes.count, QueryLexer.isLetter(bytes[at]) || QueryLexer.isDigit(bytes[at]) {
            at += 1
        }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private mutating func scanName() throws(QueryFault) {
        let start = at
        let name = takeName()
        let function = name.lowercased()
        guard byte() == UInt8(ascii: "(") else { return add(.name(name), from: start) }
        let type = FixedType.all.first { $0.traits.functions.contains(function) }
        guard type != nil || function == "date" else { return add(.name(name), from: start) }
        at += 1
        try scanLiteral(function, type, from: start)
    }

    /// Reads a name in backquotes.
    private mutating func scanQuoted() throws(QueryFault) {
        let start = at
        at += 1
        while at < bytes.count, bytes[at] != UInt8(ascii: "`") { at += 1 }
        let name = String(decoding: bytes[(start + 1)..<at], as: UTF8.self)
        guard at < bytes.count, !name.isEmpty else {
            throw QueryFault("expected a name and another '`'", at: start..<at)
        }
        at += 1
        add(.quoted(name), from: start)
    }

    /// Reads the contents of `uuid(…)`, quoted or not, and the closing parenthesis.
    private mutating func scanLiteral(
        _ function: String, _ type: FixedType?, from start: Int
    ) throws(QueryFault) {
        while QueryLexer.isSpace(byte()) { at += 1 }
        var text: String
        if byte() == UInt8(ascii: "'") || byte() == UInt8(ascii: "\"") {
            text = try scanText()
            while QueryLexer.isSpace(byte()) { at += 1 }
        } else {
            let inside = at
            while at < bytes.count, bytes[at] != UInt8(ascii: ")") { at += 1 }
            text = String(decoding: bytes[inside..<at], as: UTF8.self)
            while text.last?.isWhitespace == true { text.removeLast() }
        }
        guard byte() == UInt8(ascii: ")") else {
            throw QueryFault("'\(function)(' is not closed", at: start..<at)
        }
        at += 1
        if let traits = type?.traits {
            guard let value = traits.parse(text) else {
                throw QueryFault(
                    "this is not a valid \(traits.title); expected \(traits.format)",
                    at: start..<at)
            }
            add(.value(.fixed(value)), from: start)
        } else {
            guard let date = PreciseTimestamp(text) else {
                throw QueryFault(
                    "this is not a date; write date('2021-03-04T10:20:30Z')", at: start..<at)
            }
            add(.date(date), from: start)
        }
    }

    private mutating func scanNumber() throws(QueryFault) {
        let start = at
        if try scanRealmDate() { return }
        if try scanDate() { return }
        if byte() == UInt8(ascii: "0"), byte(1) | 32 == UInt8(ascii: "x") {
            at += 2
            let digits = takeName()
            guard let value = Int64(digits, radix: 16) else {
                throw QueryFault("this is not a hexadecimal number", at: start..<at)
            }
            add(.value(.int(value)), from: start)
            return
        }
        var isWhole = true
        while QueryLexer.isDigit(byte()) { at += 1 }
        if byte() == UInt8(ascii: "."), QueryLexer.isDigit(byte(1)) {
            isWhole = false
            at += 1
            while QueryLexer.isDigit(byte()) { at += 1 }
        }
        if byte() | 32 == UInt8(ascii: "e") {
            let sign = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-") ? 1 : 0
            if QueryLexer.isDigit(byte(1 + sign)) {
                isWhole = false
                at += 1 + sign
                while QueryLexer.isDigit(byte()) { at += 1 }
            }
        }
        let digits = String(decoding: bytes[start..<at], as: UTF8.self)
        if QueryLexer.isLetter(byte()) {
            _ = takeName()
            throw QueryFault("a name cannot begin with a digit", at: start..<at)
        }
        if isWhole, let value = Int64(digits) {
            add(.value(.int(value)), from: start)
        } else if let value = Double(digits) {
            let decimal = DecimalValue(digits)
            if isWhole, let decimal, Number.decimal(decimal) != .real(value) {
                add(.value(.decimal(decimal)), from: start)
            } else {
                let isAsWritten = decimal == DecimalValue(value)
                add(.number(value, written: isAsWritten ? nil : decimal), from: start)
            }
        } else {
            throw QueryFault("this is not a number", at: start..<at)
        }
    }

    /// Reads a date: `2021-03-04` or `2021-03-04T10:20:30Z`, or with `@` between date and time as Realm writes it.
    private mutating func scanDate() throws(QueryFault) -> Bool {
        let isDate = (0..<10).allSatisfy {
            $0 == 4 || $0 == 7 ? byte($0) == UInt8(ascii: "-") : QueryLexer.isDigit(byte($0))
        }
        guard isDate else { return false }
        let start = at
        let marks = Array("-:.+@TtZz".utf8)
        while at < bytes.count, QueryLexer.isDigit(bytes[at]) || marks.contains(bytes[at]) {
            at += 1
        }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        guard let date = PreciseTimestamp(String(text.map { $0 == "@" ? "T" : $0 })) else {
            throw QueryFault(
                "this is not a date; write 2021-03-04 or 2021-03-04T10:20:30Z", at: start..<at)
        }
        add(.date(date), from: start)
        return true
    }

    /// Reads a date in the notation of Realm.
    ///
    /// `2021-3-4@10:20:30` may end in nanoseconds, `:5`. `T1614853230:5` has seconds and nanoseconds since 1970.
    private mutating func scanRealmDate() throws(QueryFault) -> Bool {
        let start = at
        var numbers: [Int64] = []
        func take(_ scanner: inout QueryLexer, sign: Bool = false) -> Bool {
            let first = scanner.at
            if sign, scanner.byte() == UInt8(ascii: "-") || scanner.byte() == UInt8(ascii: "+") {
                scanner.at += 1
            }
            let digits = scanner.at
            while Self.isDigit(scanner.byte()) { scanner.at += 1 }
            guard scanner.at > digits,
                let number = Int64(
                    String(decoding: scanner.bytes[first..<scanner.at], as: UTF8.self))
            else { return false }
            numbers.append(number)
            return true
        }
        func skip(_ scanner: inout QueryLexer, _ marks: String) -> Bool {
            guard marks.utf8.contains(scanner.byte()) else { return false }
            scanner.at += 1
            return true
        }
        var date: PreciseTimestamp?
        if skip(&self, "T") {
            guard take(&self, sign: true), skip(&self, ":"), take(&self, sign: true) else {
                at = start
                return false
            }
            date = PreciseTimestamp(seconds: numbers[0], nanoseconds: numbers[1])
        } else {
            for (index, marks) in ["", "-", "-", "@T", ":", ":"].enumerated() {
                guard index == 0 || skip(&self, marks), take(&self) else {
                    at = start
                    return false
                }
            }
            let nanoseconds = byte() == UInt8(ascii: ":")
            if nanoseconds, !skip(&self, ":") || !take(&self) {
                throw QueryFault("expected nanoseconds after the seconds", at: start..<at)
            }
            // A fraction or a zone is written as in ISO 8601.
            if ".Zz+-".utf8.contains(byte()) {
                at = start
                return false
            }
            date = Timestamp(
                .init(
                    year: Int(numbers[0]), month: Int(numbers[1]), day: Int(numbers[2]),
                    hour: Int(numbers[3]), minute: Int(numbers[4]), second: Int(numbers[5]))
            ).flatMap {
                PreciseTimestamp(
                    seconds: $0.microseconds / 1_000_000,
                    nanoseconds: numbers.count > 6 ? numbers[6] : 0)
            }
        }
        guard let date else {
            throw QueryFault("this is not a date; write 2021-03-04@10:20:30", at: start..<at)
        }
        add(.date(date), from: start)
        return true
    }

    private mutating func scanArgument() throws(QueryFault) {
        let start = at
        at += 1
        if QueryLexer.isDigit(byte()) {
            let digits = takeName()
            guard let position = Int(digits) else {
                throw QueryFault("arguments are numbered: $1, $2, …", at: start..<at)
            }
            guard position >= 1 else {
                throw QueryFault("arguments are counted from 1: the first is $1", at: start..<at)
            }
            add(.argument(position), from: start)
        } else if QueryLexer.isLetter(byte()) {
            add(.variable(takeName()), from: start)
        } else {
            throw QueryFault(
                "expected a number after '$': the first argument is $1", at: start..<at)
        }
    }

    /// Reads a quoted string and resolves its escapes; afterward `at` is after the closing quote.
    private mutating func scanText() throws(QueryFault) -> String {
        let start = at
        let quote = bytes[at]
        at += 1
        var content: [UInt8] = []
        while at < bytes.count, bytes[at] != quote {
            if bytes[at] == UInt8(ascii: "\\") {
                try scanEscape(into: &content)
            } else {
                content.append(bytes[at])
                at += 1
            }
        }
        guard at < bytes.count else {
            throw QueryFault("this string is not closed", at: start..<bytes.count)
        }
        at += 1
        return String(decoding: content, as: UTF8.self)
    }

    private mutating func scanEscape(into content: inout [UInt8]) throws(QueryFault) {
        let start = at
        let character = byte(1)
        at = min(at + 2, bytes.count)
        switch character {
        case UInt8(ascii: "b"): content.append(8)
        case UInt8(ascii: "t"): content.append(9)
        case UInt8(ascii: "n"): content.append(10)
        case UInt8(ascii: "f"): content.append(12)
        case UInt8(ascii: "r"): content.append(13)
        case UInt8(ascii: "0"): content.append(0)
        case UInt8(ascii: "u"):
            var value = try scanHexadecimal(from: start)
            if (0xD800..<0xDC00).contains(value), byte() == UInt8(ascii: "\\"),
                byte(1) == UInt8(ascii: "u")
            {
                at += 2
                let low = try scanHexadecimal(from: start)
                guard (0xDC00..<0xE000).contains(low) else {
                    throw QueryFault("this is not a Unicode character", at: start..<at)
                }
                value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(value) else {
                throw QueryFault("this is not a Unicode character", at: start..<at)
            }
            content.append(contentsOf: Array(String(scalar).utf8))
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            content.append(character)
        default:
            throw QueryFault(
                "unknown escape; known are \\' \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\0 \\uXXXX",
                at: start..<at)
        }
    }

    private mutating func scanHexadecimal(from start: Int) throws(QueryFault) -> UInt32 {
        guard at + 4 <= bytes.count, byte() != UInt8(ascii: "+"), byte() != UInt8(ascii: "-"),
            let value = UInt32(String(decoding: bytes[at..<at + 4], as: UTF8.self), radix: 16)
        else { throw QueryFault("expected four hexadecimal digits after \\u", at: start..<at) }
        at += 4
        return value
    }

    private static let pairs: Set<String> = [
        "==", "=<", "=>", "<=", ">=", "<>", "!=", "&&", "||",
    ]

    private mutating func scanSymbol() throws(QueryFault) {
        let start = at
        if at + 1 < bytes.count, bytes[at] < 0x80, bytes[at + 1] < 0x80 {
            let pair = String(decoding: bytes[at..<at + 2], as: UTF8.self)
            if QueryLexer.pairs.contains(pair) {
                at += 2
                add(.symbol(pair), from: start)
                return
            }
        }
        at += 1
        let symbol = Character(Unicode.Scalar(bytes[start]))
        guard "=<>!(){}[],.+-*/|&".contains(symbol) else {
            throw QueryFault(
                "'\(symbol)' is not valid here" + Self.hint(for: symbol), at: start..<at)
        }
        add(.symbol(String(symbol)), from: start)
    }

    /// Returns the replacement for a placeholder of another query language.
    private static func hint(for symbol: Character) -> String {
        ["%", "?", ":", "@"].contains(symbol)
            ? "; write $1 and pass the value: where(\"name = $1\", name)" : ""
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 32 || (byte >= 9 && byte <= 13)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= 48 && byte <= 57
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 32 >= 97 && byte | 32 <= 122) || byte == 95 || byte >= 0x80
    }
}

/// One token of a predicate's text, with its range, so that an error can point to it.
struct QueryToken: Equatable {
    /// The kind of the token.
    enum Kind: Equatable {
        case name(String)
        /// A name in backquotes, which is never a keyword.
        case quoted(String)
        /// A constant: an integer, an integer of more than 64 bits that no double equals as a decimal, a string, or a
        /// value written as `uuid(…)` or `oid(…)`.
        case value(Value)
        /// A number with a decimal point or an exponent, or with more than 64 bits; `written` is its exact value if the
        /// double differs.
        case number(Double, written: DecimalValue?)
        /// An argument such as `$1`: its number, counted from 1.
        case argument(Int)
        /// The variable of a subquery, such as `$x`.
        case variable(String)
        /// The name of an operation such as `@count`, without the `@`.
        case aggregate(String)
        case date(PreciseTimestamp)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// The range of the token, as UTF-8 offsets into the text.
    let range: Range<Int>

    /// Returns whether the token is the keyword `word`; case does not matter.
    func isWord(_ word: String) -> Bool {
        guard case .name(let name) = kind, name.utf8.count == word.utf8.count else { return false }
        return name.lowercased() == word
    }

    /// Returns whether the token is one of `symbols`.
    func isSymbol(_ symbols: String...) -> Bool {
        guard case .symbol(let symbol) = kind else { return false }
        return symbols.contains(symbol)
    }

    /// The token in error messages.
    var description: String {
        switch kind {
        case .name(let name), .quoted(let name): "'\(name)'"
        case .value(.string): "a string"
        case .value(.fixed(let value)): "'\(value.type.traits.functions[0])(…)'"
        case .value(let value): value.summary
        case .number(let value, _): "\(value)"
        case .argument(let position): "'$\(position)'"
        case .variable(let name): "'$\(name)'"
        case .aggregate(let name): "'@\(name)'"
        case .date: "a date"
        case .symbol(let symbol): "'\(symbol)'"
        case .end: "the end"
        }
    }
}

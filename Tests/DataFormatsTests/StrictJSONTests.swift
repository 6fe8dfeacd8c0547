import DataFormats
import MemoryAccounts
import TestThreads
import Testing

/// The JSON parser accepts RFC 8259 and nothing else.
@Suite struct StrictJSONTests {
    @Test(arguments: [
        "0", "-0", "-0.0", "1e5", "1E+5", "1.5e-7", "[]", "{}", " [ 1 , 2 ] ", "\"\"", "null",
        "true", "false", "[[[]]]", #"{"":0}"#, #"{"a":1,"a":2}"#, #""\u0000""#, #""\ud83d\ude00""#,
        #""\"\\\/\b\f\n\r\t""#, "\"\u{7F}\"", "\"\u{2028}\"", "\"\u{10FFFF}\"", "\r\n\t 1 \r\n",
        "\u{FEFF}{}", "[0.1,-1,1e-400,123456789012345678901234567890]",
    ])
    func `valid texts are accepted`(text: String) throws {
        try JSONText.read(Array(text.utf8), onto: JSONTape())
    }

    @Test func `a value that the script has no memory for is refused, and the tape stays usable`()
        throws
    {
        let account = MemoryAccount(limit: 256 << 10)
        let long = Array(("[" + String(repeating: "1,", count: 50_000) + "1]").utf8)
        let deep = Array(("[" + String(repeating: "[[]],", count: 20_000) + "1]").utf8)
        let text = Array(("[\"" + String(repeating: "x\\n", count: 100_000) + "\"]").utf8)
        try MemoryAccount.$current.withValue(account) {
            let tape = JSONTape()
            for value in [long, deep, text] {
                #expect(throws: MemoryLimitReached.self) { try JSONText.read(value, onto: tape) }
                try JSONText.read(Array("[1,[2],\"x\"]".utf8), onto: tape)
                #expect(tape.count == 7)
                #expect(tape.text(5) == "x")
            }
        }
        try JSONText.read(long, onto: JSONTape())
    }

    @Test(arguments: [
        ("", 1, "empty"), ("  ", 3, "empty"), ("[1,]", 4, "expected a value"),
        (#"{"a":1,}"#, 8, "member after ','"), ("[1 2]", 4, "expected ',' or ']'"),
        (#"{"a" 1}"#, 6, "expected ':'"), ("{a:1}", 2, "name in quotes"),
        ("['a']", 2, "double quotes"),
        ("01", 1, "leading zero"), ("-", 2, "digit after '-'"), ("-01", 2, "leading zero"),
        ("1.", 3, "digit after the decimal point"), (".5", 1, "expected a value"),
        ("+1", 1, "expected a value"), ("1e", 3, "digit in the exponent"), ("1e+", 4, "exponent"),
        ("0x1", 2, "end of the text"), ("NaN", 1, "expected a value"),
        ("Infinity", 1, "expected a value"), ("tru", 1, "expected a value"),
        ("True", 1, "expected a value"), ("[", 2, "ends too early"), ("]", 1, "expected a value"),
        ("[1}", 3, "expected ',' or ']'"), ("{} {}", 4, "end of the text"),
        ("1 1", 3, "end of the text"),
        ("// a\n1", 1, "expected a value"), ("[1,,2]", 4, "expected a value"),
        (#""a"#, 1, "no closing quote"), ("\"a\nb\"", 3, "control character"),
        ("\"\t\"", 2, "control character"), (#""\x41""#, 2, "unknown escape"),
        (#""\u12G4""#, 2, "four hexadecimal digits"), (#""\u123"#, 2, "four hexadecimal digits"),
        (#""\ud800""#, 2, "surrogate"), (#""\udc00""#, 2, "surrogate"),
        (#""\ud800\u0041""#, 2, "surrogate"), (#""\ud800\ud800\udc00""#, 2, "surrogate"),
        (#""é\ud800""#, 3, "surrogate"), ("\u{FEFF}\u{FEFF}1", 2, "expected a value"),
    ])
    func `errors have a column and a reason`(text: String, column: Int, reason: String) {
        let error = #expect(throws: FormatError.self) {
            try JSONText.read(Array(text.utf8), onto: JSONTape())
        }
        // A byte order mark is one character of its line.
        #expect(
            error?.column == column || text.hasPrefix("\u{FEFF}"), "\(error?.description ?? "")")
        #expect(error?.reason.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test(
        arguments: [
            [0xE9], [0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE2, 0x82],
            [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80],
            [0xFF], [0xFE],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused in names and strings`(bytes: [UInt8]) {
        for (head, tail) in [("[\"a", "b\"]"), ("{\"a", "\":1}"), ("\"12345678", "12345678\"")] {
            let text = Array(head.utf8) + bytes + Array(tail.utf8)
            #expect(throws: FormatError.self, "\(text)") {
                try JSONText.read(text, onto: JSONTape())
            }
        }
    }

    @Test func `lines and columns count across lines and characters`() {
        let error = #expect(throws: FormatError.self) {
            try JSONText.read(Array("{\n  \"größe\": [1,\n  2,, 3]}".utf8), onto: JSONTape())
        }
        #expect(error?.line == 3 && error?.column == 5)
    }

    @Test func `values can be nested up to 400 levels`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(
                (String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        try JSONText.read(nested(JSONLimits.depth), onto: JSONTape())
        for depth in [JSONLimits.depth + 1, 100_000] {
            let error = #expect(throws: FormatError.self) {
                try JSONText.read(nested(depth), onto: JSONTape())
            }
            #expect(error?.reason.contains("more than \(JSONLimits.depth) deep") == true)
        }
    }

    @Test func `random changes of valid texts give the same result as a simple parser`() {
        var random = SeededGenerator(seed: 1)
        let seeds = [
            #"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00\n"],"b":{"c":null,"d":[true,false,{}]}}"#,
            #"[[],[""],{"":{}},0,-0.0,1E5,"é日本"]"#,
        ].map { Array($0.utf8) }
        let alphabet =
            Array("{}[]\",:0123-+.eEtrufalsn\\ud8c \n\t".utf8) + [0, 0x80, 0xC3, 0xE9, 0xFF]
        for _ in 0..<4000 {
            var text = seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 0...3, using: &random) where !text.isEmpty {
                let index = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[index] = alphabet.randomElement(using: &random)!
                case 1: text.remove(at: index)
                default: text.insert(alphabet.randomElement(using: &random)!, at: index)
                }
            }
            var plain = PlainJSON(text)
            let expected = plain.isValid()
            var found = true
            do { try JSONText.read(text, onto: JSONTape()) } catch { found = false }
            #expect(found == expected, "\(String(decoding: text, as: UTF8.self)) \(text)")
        }
    }

    @Test func `rows of a text do not depend on the pieces of the input`() throws {
        let rows = (0..<200).map { number in
            "{\"id\": \(number), \"text\": \"\(String(repeating: "é\\u00e9\\\"", count: number % 37))\", "
                + "\"list\": [\(number), {\"deep\": [null]}]}"
        }
        let text = "\u{FEFF}[" + rows.joined(separator: " ,\n ") + "]\n"
        for size in [1, 2, 3, 7, 64, 4096] {
            let pipe = try PieceWriter(Array(text.utf8), size)
            let reader = JSONRowReader(try FileReader(pipe.path))
            var found: [String] = []
            while try reader.next() {
                #expect(reader.record == Array(rows[found.count].utf8))
                found.append(JSONNode(reader.tape).description)
            }
            #expect(found.count == rows.count)
            pipe.wait()
        }
    }
}

/// The grammar of RFC 8259, one rule after the other.
struct PlainJSON {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func isValid() -> Bool {
        guard String(validating: bytes, as: UTF8.self) != nil else { return false }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        guard value() else { return false }
        space()
        return position == bytes.count
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func space() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func value() -> Bool {
        space()
        switch next {
        case UInt8(ascii: "{"): return list("{", "}") { $0.member() }
        case UInt8(ascii: "["): return list("[", "]") { $0.value() }
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return take("true")
        case UInt8(ascii: "f"): return take("false")
        case UInt8(ascii: "n"): return take("null")
        default: return number()
        }
    }

    private mutating func list(
        _ open: String, _ close: String, _ element: (inout PlainJSON) -> Bool
    ) -> Bool {
        guard take(open) else { return false }
        space()
        if take(close) { return true }
        while true {
            guard element(&self) else { return false }
            space()
            if take(close) { return true }
            guard take(",") else { return false }
        }
    }

    private mutating func member() -> Bool {
        space()
        guard string() else { return false }
        space()
        return take(":") && value()
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = next {
            if take("\"") { return true }
            guard byte >= 0x20 else { return false }
            guard take("\\") else {
                position += 1
                continue
            }
            guard let escaped = next else { return false }
            position += 1
            if escaped == UInt8(ascii: "u") {
                guard let code = hexadecimal() else { return false }
                if (0xDC00..<0xE000).contains(code) { return false }
                if (0xD800..<0xDC00).contains(code) {
                    guard take("\\u"), let low = hexadecimal(), (0xDC00..<0xE000).contains(low)
                    else { return false }
                }
            } else if !Array("\"\\/bfnrt".utf8).contains(escaped) {
                return false
            }
        }
        return false
    }

    private mutating func hexadecimal() -> Int? {
        guard position + 4 <= bytes.count else { return nil }
        let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
        guard digits.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            return nil
        }
        position += 4
        return Int(digits, radix: 16)
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
        return position > start
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0") { guard digits() else { return false } }
        if take(".") { guard digits() else { return false } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard digits() else { return false }
        }
        return true
    }
}

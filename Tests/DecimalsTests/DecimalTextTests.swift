import TestThreads
import Testing

@testable import Decimals

@Suite("Decimals as text")
struct DecimalTextTests {
    @Test(
        "a number prints as its literal",
        arguments: [
            "0", "-0", "12.30", "-12.30", "0.000001", "1E-7", "1.5E-10", "1E+40", "1.23E+5",
            "100000", "9999999999999999999999999999999999",
            "-9.999999999999999999999999999999999E+6144", "1E-6176", "0.00", "NaN", "Infinity",
            "-Infinity",
        ])
    func roundTrip(_ text: String) throws {
        #expect(try #require(DecimalValue(text)).description == text)
    }

    @Test(
        "other notations of a number are parsed",
        arguments: [
            ("+1", "1"), (".5", "0.5"), ("5.", "5"), ("1e3", "1E+3"), ("1e-2", "0.01"),
            ("0012", "12"), ("inf", "Infinity"), ("-INF", "-Infinity"), ("nan", "NaN"),
            ("00.10", "0.10"), ("1e-99999", "0E-6176"),
        ])
    func spellings(_ text: String, _ expected: String) throws {
        #expect(try #require(DecimalValue(text)).description == expected)
    }

    @Test(
        "text that is not a number or too large is rejected",
        arguments: [
            "", " ", "1 ", " 1", "1,5", "0x10", "1e", "1e+", ".", "-", "--1", "1.2.3", "1e5.5",
            "infinit", "nan1", "one", "1e6145", "9e99999999999999999999", "1e\u{0}5", "１",
        ])
    func refused(_ text: String) {
        #expect(DecimalValue(text) == nil)
    }

    @Test("more than 34 digits are rounded half to even, including digits far to the right")
    func rounding() throws {
        let ones = String(repeating: "1", count: 33)
        func rounded(_ text: String) -> String? { DecimalValue(text)?.description }
        #expect(rounded("0.\(ones)25") == "0.\(ones)2")
        #expect(rounded("0.\(ones)35") == "0.\(ones)4")
        #expect(rounded("0.\(ones)45") == "0.\(ones)4")
        let zeros = String(repeating: "0", count: 500)
        #expect(rounded("0.\(ones)45\(zeros)1") == "0.\(ones)5")
        #expect(rounded("0.\(ones)45\(zeros)0") == "0.\(ones)4")
        #expect(rounded("1\(zeros)") == "1.000000000000000000000000000000000E+500")
        #expect(rounded("1\(zeros)e-500") == "1.000000000000000000000000000000000")
    }

    @Test("the fast functions for plain digits agree with the general functions")
    func plainDigits() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<20_000 {
            let count = Int.random(in: 1...36, using: &generator)
            var digits = (0..<count).map { _ in "\(Int.random(in: 0...9, using: &generator))" }
            if Bool.random(using: &generator) {
                digits.insert(".", at: Int.random(in: 0...count, using: &generator))
            }
            let text = (Bool.random(using: &generator) ? "-" : "") + digits.joined()
            let general = try #require(DecimalValue(text))
            guard let plain = DecimalValue(plain: text.utf8.span) else {
                #expect(count > 34 || text.hasSuffix(".") || digits[0] == ".", "\(text)")
                continue
            }
            #expect(plain.bytes == general.bytes, "\(text)")
            #expect(DecimalValue(bytes: plain.bytes)?.bytes == plain.bytes)
            #expect(DecimalValue(bytes: plain.bytes.span.bytes)?.bytes == plain.bytes)
            #expect(DecimalValue(plain.description)?.bytes == plain.bytes, "\(text)")
            let isShort = digits[0] != "0" && count <= 34 && !text.contains(".")
            if isShort { #expect(plain.description == text) }
        }
        for text in ["", "-", ".", "1.", ".5", "+1", "1e5", "1 ", "١", "1.2.3", "--1", "1-"] {
            #expect(DecimalValue(plain: text.utf8.span) == nil, "\(text)")
        }
    }
}

import TestThreads
import Testing

@testable import Decimals

@Suite("Decimals and other numbers")
struct DecimalNumberTests {
    @Test("numbers with different decimal places can be equal, and keep their places")
    func places() throws {
        let long = try #require(DecimalValue("12.30"))
        let short = try #require(DecimalValue("12.3"))
        #expect(long == short && long.hashValue == short.hashValue)
        #expect(long.description == "12.30" && (long + short).description == "24.60")
        #expect(DecimalValue("-0") == .zero)
    }

    @Test("NaN equals itself, sorts before all other numbers, and is unordered in IEEE comparisons")
    func notANumber() {
        #expect(DecimalValue.notANumber == .notANumber)
        #expect(DecimalValue.notANumber < -.infinity && !(-DecimalValue.infinity < .notANumber))
        #expect(DecimalValue.order(.notANumber, .notANumber) == nil)
        #expect((DecimalValue.infinity - .infinity).isNotANumber)
        #expect((DecimalValue.zero / .zero).isNotANumber)
    }

    @Test("a result that is too large is infinite, and one that is too small is zero")
    func overflow() throws {
        let huge = try #require(DecimalValue("9e6144"))
        #expect((huge + huge).description == "Infinity" && (-huge - huge) == -.infinity)
        #expect((DecimalValue(Int64(1)) / .zero).isInfinite)
        let tiny = try #require(DecimalValue("1e-6176"))
        #expect(tiny / DecimalValue(Int64(10)) == .zero)
    }

    @Test(
        "a double converts to the decimal of its shortest text",
        arguments: [
            (0.1, "0.1"), (12.3, "12.3"), (-2.5, "-2.5"), (.leastNonzeroMagnitude, "5E-324"),
            (1e22, "1E+22"),
            (9_007_199_254_740_992, "9007199254740992"), (.infinity, "Infinity"), (.nan, "NaN"),
            (1_152_921_504_606_846_976, "1152921504606846976"),
        ])
    func fromDouble(_ number: Double, _ text: String) {
        #expect(DecimalValue(number) == DecimalValue(text))
    }

    @Test("every double is unchanged after a conversion to a decimal and back")
    func doubles() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let number = Double(bitPattern: generator.next())
            guard number.isFinite else { continue }
            #expect(DecimalValue(number).double == number)
        }
    }

    @Test("only whole numbers convert to integers")
    func ints() throws {
        for number in [0, 1, -1, .max, .min, 10, -1000, 922_337_203_685_477_580] as [Int64] {
            #expect(DecimalValue(number).exactInt == number)
        }
        for text in ["0.5", "1e19", "9223372036854775808", "-9223372036854775809", "NaN", "inf"] {
            #expect(try #require(DecimalValue(text)).exactInt == nil)
        }
        #expect(try #require(DecimalValue("12.00")).exactInt == 12)
        #expect(try #require(DecimalValue("1e18")).exactInt == 1_000_000_000_000_000_000)
    }

    @Test(
        "the remainder has the sign of the divisor, and the quotient is rounded down",
        arguments: [
            ("7.5", "2", "1.5", "3"), ("-7.5", "2", "0.5", "-4"), ("7.5", "-2", "-0.5", "-4"),
            ("-7.5", "-2", "-1.5", "3"), ("6", "2", "0", "3"), ("1", "3", "1", "0"),
            ("9999999999999999999999999999999999", "10", "9", "999999999999999999999999999999999"),
            ("1", "Infinity", "1", "0"), ("-1", "Infinity", "Infinity", "-1"),
            ("1", "0", "NaN", "Infinity"), ("NaN", "1", "NaN", "NaN"),
        ])
    func modulo(_ left: String, _ right: String, _ rest: String, _ quotient: String) throws {
        let (a, b) = (try #require(DecimalValue(left)), try #require(DecimalValue(right)))
        #expect(a.modulo(b) == DecimalValue(rest))
        #expect(a.floorDivided(by: b) == DecimalValue(quotient))
    }

    @Test("rounding to decimal places rounds half to even and rejects results with too many digits")
    func rounding() throws {
        let number = try #require(DecimalValue("2.345"))
        #expect(number.rounded(places: 2)?.description == "2.34")
        #expect(number.rounded(places: 0)?.description == "2")
        #expect(number.rounded(places: 5)?.description == "2.34500")
        #expect(number.rounded(places: 40) == nil && number.rounded(places: .max) == nil)
        #expect(number.rounded(places: .min) == nil)
        #expect(DecimalValue.infinity.rounded(places: 2) == .infinity)
    }

    @Test("any sixteen bytes are a valid value")
    func damage() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<5000 {
            let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let value = DecimalValue(bytes: bytes) ?? .zero
            _ = (value.description, value.orderedBytes, value.hashValue, value.exactInt)
            _ = (value + .zero, value.rounded(places: 3), value.double)
            #expect(value == value)
        }
        #expect(DecimalValue(bytes: []) == nil && DecimalValue(bytes: [1, 2]) == nil)
    }
}

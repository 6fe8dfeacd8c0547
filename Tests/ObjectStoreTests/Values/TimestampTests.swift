import ObjectStore
import Testing

@Suite struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01", 0), ("2026-11-20T10:00:00Z", 1_795_168_800),
        ("1969-12-31 23:59:59", -1), ("2000-02-29T12:00", 951_825_600),
        ("2026-11-20T10:00:00+02:30", 1_795_159_800), ("0000-01-01", -62_167_219_200),
    ])
    func `ISO 8601 dates are parsed`(text: String, seconds: Int64) throws {
        let moment = try #require(Timestamp(text))
        #expect(moment.microseconds == seconds * 1_000_000)
    }

    @Test(arguments: [
        "", "2026", "2026-13-01", "2026-02-29", "2026-02-28T24:00", "2026-02-28T10:00:61Z",
        "2026-02-28T10:00Zx", "2026-02-28 10", "x026-01-01", "2026-01-01T10:00:00.Z",
    ])
    func `invalid dates are refused`(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func `parsed dates are printed to the microsecond`() {
        var generator = SplitMix(seed: 7)
        for _ in 0..<2000 {
            let moment = Timestamp(
                microseconds: Int64.random(
                    in: -62_167_219_200_000_000...253_402_300_799_999_999, using: &generator))
            #expect(Timestamp(moment.description) == moment)
        }
        #expect(Timestamp(microseconds: 1_500_000).description == "1970-01-01T00:00:01.5Z")
    }

    @Test func `consecutive days have consecutive dates, also in leap years`() throws {
        var previous = try #require(Timestamp("1895-12-31"))
        for year in 1896...2104 {
            for month in 1...12 {
                for day in 1...31 {
                    guard
                        let next = Timestamp(
                            Timestamp.Components(year: year, month: month, day: day))
                    else { continue }
                    #expect(next.microseconds - previous.microseconds == 86_400_000_000)
                    previous = next
                }
            }
        }
    }

    @Test func `seconds outside the range are refused`() {
        #expect(Timestamp(seconds: .nan) == nil)
        #expect(Timestamp(seconds: 1e30) == nil)
        #expect(Timestamp(seconds: 1.25)?.microseconds == 1_250_000)
    }

    @Test func `The fast parser of dates agrees with the general one`() {
        var generator = SplitMix(seed: 11)
        for _ in 0..<5000 {
            var microseconds = Int64.random(
                in: -63_000_000_000_000_000...254_000_000_000_000_000, using: &generator)
            if Bool.random(using: &generator) { microseconds -= microseconds % 1_000_000 }
            let moment = Timestamp(microseconds: microseconds)
            let text = moment.description
            let hasFourDigits = (0...9999).contains(moment.components.year)
            #expect(Timestamp(canonical: text.utf8.span) == (hasFourDigits ? moment : nil))
            // Parsing and writing a text gives the same text.
            var bytes = Array(text.utf8)
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            bytes[index] = "0123456789-:.TZz ".utf8.randomElement(using: &generator)!
            if let other = Timestamp(canonical: bytes.span) {
                #expect(other.description == String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    @Test(arguments: [
        (-9_223_372_036_854_775_808, "-290308-12-21T19:59:05.224192Z"),
        (-9_223_372_022_400_000_000, "-290308-12-22T00:00:00Z"),
        (9_223_372_036_854_775_807, "294247-01-10T04:00:54.775807Z"),
        (-62_167_219_200_000_001, "-0001-12-31T23:59:59.999999Z"),
        (253_402_300_800_000_000, "10000-01-01T00:00:00Z"), (10, "1970-01-01T00:00:00.00001Z"),
    ])
    func `Years of any number of digits are written and parsed`(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).description == text)
        #expect(Timestamp(text) == Timestamp(microseconds: microseconds))
    }

    @Test func `Dates beyond the range are refused`() {
        let last = "294247-01-10T04:00:54.775807"
        #expect(Timestamp(last + "+00:01") != nil)
        #expect(Timestamp(last + "-00:01") == nil)
        #expect(Timestamp("294247-01-10T04:00:54.775808Z") == nil)
        #expect(Timestamp("-290308-12-21T19:59:05.224191Z") == nil)
        #expect(Timestamp("999999-12-31") == nil)
    }
}

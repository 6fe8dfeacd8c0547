#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A point in time, in microseconds since 1970-01-01T00:00:00Z, without a time zone.
///
/// The range is about 292,000 years before and after 1970, and the resolution is a microsecond. There are no leap
/// seconds, as in POSIX time.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since the epoch; negative before it.
    public let microseconds: Int64

    /// Creates a timestamp from microseconds since the epoch.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Creates a timestamp from seconds since the epoch, rounded to the nearest microsecond; nil outside the range or
    /// for NaN.
    public init?(seconds: Double) {
        guard let value = Int64(exactly: (seconds * 1_000_000).rounded()) else { return nil }
        microseconds = value
    }

    /// Creates a timestamp from whole seconds since the epoch; nil outside the range.
    package init?(wholeSeconds: Int64) {
        let (value, overflow) = wholeSeconds.multipliedReportingOverflow(by: 1_000_000)
        guard !overflow else { return nil }
        microseconds = value
    }

    /// The current time of the system clock.
    public static var now: Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// Seconds since the epoch; exact to the microsecond for the next 200 years.
    public var seconds: Double { Double(microseconds) / 1_000_000 }

    /// Returns whether the first time precedes the second.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}

extension Timestamp {
    /// A date and time in UTC, in the proleptic Gregorian calendar.
    public struct Components: Hashable, Sendable {
        /// The astronomical year: 0 is 1 BC.
        public var year: Int
        /// The month, from 1 to 12.
        public var month: Int
        /// The day of the month, from 1 to 31.
        public var day: Int
        /// The hour, from 0 to 23.
        public var hour: Int
        /// The minute, from 0 to 59.
        public var minute: Int
        /// The second, from 0 to 59.
        public var second: Int
        /// The microsecond, from 0 to 999,999.
        public var microsecond: Int

        /// Creates components; omitted fields are those of the start of the day.
        public init(
            year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0,
            microsecond: Int = 0
        ) {
            self.year = year
            self.month = month
            self.day = day
            self.hour = hour
            self.minute = minute
            self.second = second
            self.microsecond = microsecond
        }
    }

    /// Creates a timestamp from a date and time in UTC; nil if a field is out of range or the month does not have the
    /// day.
    public init?(_ moment: Components) {
        self.init(moment, secondsEast: 0)
    }

    /// Creates a timestamp from a date and time in a zone.
    fileprivate init?(_ moment: Components, secondsEast: Int) {
        guard (1...12).contains(moment.month),
            (1...Self.days(inMonth: moment.month, of: moment.year)).contains(moment.day),
            (0...23).contains(moment.hour), (0...59).contains(moment.minute),
            (0...59).contains(moment.second), (0...999_999).contains(moment.microsecond),
            (-300_000...300_000).contains(moment.year)
        else { return nil }
        let days = Self.daysSinceEpoch(moment.year, moment.month, moment.day)
        let seconds = ((days * 24 + moment.hour) * 60 + moment.minute) * 60 + moment.second
        // The microseconds of the first and the last second of the range only fit together.
        let exact = Int128(seconds - secondsEast) * 1_000_000 + Int128(moment.microsecond)
        guard let microseconds = Int64(exactly: exact) else { return nil }
        self.microseconds = microseconds
    }

    /// The date and time in UTC.
    public var components: Components {
        let (seconds, fraction) = Self.floorDivide(Int(microseconds), 1_000_000)
        let (days, secondOfDay) = Self.floorDivide(seconds, 86_400)
        let (year, month, day) = Self.civil(fromDays: days)
        assert(Self.daysSinceEpoch(year, month, day) == days, "the date is that of the day")
        return Components(
            year: year, month: month, day: day, hour: secondOfDay / 3600,
            minute: secondOfDay / 60 % 60, second: secondOfDay % 60, microsecond: fraction)
    }

    private static func floorDivide(_ value: Int, _ divisor: Int) -> (Int, Int) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    // Days are counted in eras of 400 years that begin in March, so the leap day is the last day of a year. The method
    // is described in "chrono-Compatible Low-Level Date Algorithms".
    private static func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = floorDivide(shifted, 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

extension Timestamp: CustomStringConvertible {
    /// The time in ISO 8601 and UTC, with only the necessary digits of the second: `2026-11-20T10:00:00Z`.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(32)
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the description to UTF-8 bytes, without creating a string.
    package func append(to text: inout [UInt8]) {
        let moment = components
        if moment.year < 0 { text.append(UInt8(ascii: "-")) }
        let year = abs(moment.year)
        if year >= 10_000 { Self.append(year / 10_000, digits: year >= 100_000 ? 2 : 1, to: &text) }
        Self.append(year % 10_000, digits: 4, to: &text)
        text.append(UInt8(ascii: "-"))
        Self.append(moment.month, digits: 2, to: &text)
        text.append(UInt8(ascii: "-"))
        Self.append(moment.day, digits: 2, to: &text)
        text.append(UInt8(ascii: "T"))
        Self.append(moment.hour, digits: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        Self.append(moment.minute, digits: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        Self.append(moment.second, digits: 2, to: &text)
        if moment.microsecond > 0 {
            var (fraction, digits) = (moment.microsecond, 6)
            while fraction % 10 == 0 {
                fraction /= 10
                digits -= 1
            }
            text.append(UInt8(ascii: "."))
            Self.append(fraction, digits: digits, to: &text)
        }
        text.append(UInt8(ascii: "Z"))
    }

    /// Parses UTF-8 bytes in the form of ``description``, for years from 0000 to 9999.
    ///
    /// Returns nil for any other text, including other forms of a date. The function is faster than the general parser.
    package init?(canonical text: Span<UInt8>) {
        let end = text.count - 1
        guard end == 19 || (21...26).contains(end), text[end] == UInt8(ascii: "Z"),
            text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"),
            text[16] == UInt8(ascii: ":"),
            let year = Self.number(text, 0, 4), let month = Self.number(text, 5, 2),
            let day = Self.number(text, 8, 2), let hour = Self.number(text, 11, 2),
            let minute = Self.number(text, 14, 2), let second = Self.number(text, 17, 2)
        else { return nil }
        var microsecond = 0
        if end > 19 {
            let digits = end - 20
            guard text[19] == UInt8(ascii: "."), text[end - 1] != UInt8(ascii: "0"),
                var fraction = Self.number(text, 20, digits)
            else { return nil }
            for _ in digits..<6 { fraction *= 10 }
            microsecond = fraction
        }
        self.init(
            Components(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second,
                microsecond: microsecond))
    }

    /// Parses ISO 8601; nil for any other text.
    ///
    /// Examples: `2026-11-20`, `2026-11-20T10:00`, `2026-11-20 10:00:00.25+01:00`. A time without a zone is UTC. Digits
    /// below the microsecond are ignored; ``PreciseTimestamp`` keeps them.
    public init?(_ text: some StringProtocol) {
        guard let moment = PreciseTimestamp(text) else { return nil }
        self = moment.floor
    }

    /// Appends the last digits of a number.
    private static func append(_ number: Int, digits: Int, to text: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    /// Parses digits in the middle of a text; nil for any other byte.
    private static func number(_ text: Span<UInt8>, _ start: Int, _ length: Int) -> Int? {
        var value = 0
        for index in start..<start + length {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }
}

/// A time from a text, which may have more digits than the microseconds of a ``Timestamp``.
///
/// ```swift
/// PreciseTimestamp("2026-11-20T10:00:00.1234567Z")?.isExact  // false: it has 700 ns
/// ```
package struct PreciseTimestamp: Hashable, Sendable {
    /// The last whole microsecond at or before the time.
    package let floor: Timestamp
    /// The digits below the microsecond, without trailing zeros.
    package let digitsBelow: String

    /// Whether the time is a whole number of microseconds.
    package var isExact: Bool { digitsBelow.isEmpty }

    /// Creates a time from seconds since 1970 and less than a second in nanoseconds; nil outside the range of dates.
    init?(seconds: Int64, nanoseconds: Int64) {
        guard nanoseconds.magnitude < 1_000_000_000 else { return nil }
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (micros, below) = nanoseconds.quotientAndRemainder(dividingBy: 1000)
        let carry: Int64 = below < 0 ? 1 : 0
        let (sum, overflowed) = whole.addingReportingOverflow(micros - carry)
        guard !overflow, !overflowed else { return nil }
        floor = Timestamp(microseconds: sum)
        let digits = String(below + 1000 * carry)
        let padded = String(repeating: "0", count: 3 - digits.count) + digits
        digitsBelow = String(padded.reversed().drop { $0 == "0" }.reversed())
    }

    /// Parses ISO 8601 as ``Timestamp`` does; nil for any other text.
    package init?(_ text: some StringProtocol) {
        var scanner = DigitScanner(text)
        let isNegative = scanner.skip("-")
        guard let year = scanner.year(), scanner.skip("-"),
            let month = scanner.number(digits: 2), scanner.skip("-"),
            let day = scanner.number(digits: 2)
        else { return nil }
        var moment = Timestamp.Components(year: isNegative ? -year : year, month: month, day: day)
        var secondsEast = 0
        var digitsBelow = ""
        if scanner.skip("T") || scanner.skip("t") || scanner.skip(" ") {
            guard let hour = scanner.number(digits: 2), scanner.skip(":"),
                let minute = scanner.number(digits: 2)
            else { return nil }
            moment.hour = hour
            moment.minute = minute
            if scanner.skip(":") {
                guard let second = scanner.number(digits: 2) else { return nil }
                moment.second = second
                if scanner.skip(".") {
                    guard let fraction = scanner.fraction() else { return nil }
                    moment.microsecond = fraction.microseconds
                    digitsBelow = fraction.digitsBelow
                }
            }
            guard let seconds = scanner.zone() else { return nil }
            secondsEast = seconds
        }
        guard scanner.isAtEnd, let floor = Timestamp(moment, secondsEast: secondsEast) else {
            return nil
        }
        self.floor = floor
        self.digitsBelow = digitsBelow
    }
}

/// Parses the fixed-width fields of a date.
private struct DigitScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else {
            return false
        }
        position += 1
        return true
    }

    mutating func digit() -> Int? {
        guard position < bytes.count, (48...57).contains(bytes[position]) else { return nil }
        position += 1
        return Int(bytes[position - 1]) - 48
    }

    mutating func number(digits: Int) -> Int? {
        var value = 0
        for _ in 0..<digits {
            guard let next = digit() else { return nil }
            value = value * 10 + next
        }
        return value
    }

    /// Parses a year of 4 to 6 digits, so that the text of every date can be parsed.
    mutating func year() -> Int? {
        guard var year = number(digits: 4) else { return nil }
        for _ in 0..<2 {
            guard let next = digit() else { break }
            year = year * 10 + next
        }
        return year
    }

    /// Parses the digits after the decimal point: the microseconds, and the digits below without trailing zeros.
    mutating func fraction() -> (microseconds: Int, digitsBelow: String)? {
        guard var value = digit() else { return nil }
        var count = 1
        var below = ""
        var zeros = 0
        while let next = digit() {
            count += 1
            if count <= 6 {
                value = value * 10 + next
            } else if next == 0 {
                zeros += 1
            } else {
                below += String(repeating: "0", count: zeros) + String(next)
                zeros = 0
            }
        }
        for _ in 0..<max(0, 6 - count) { value *= 10 }
        return (value, below)
    }

    /// Parses `Z`, `+01:00`, `-0530` or an empty zone, as seconds east of Greenwich.
    mutating func zone() -> Int? {
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        let sign = skip("-") ? -1 : 1
        guard sign == -1 || skip("+"), let hours = number(digits: 2) else { return nil }
        _ = skip(":")
        let minutes = isAtEnd ? 0 : number(digits: 2)
        guard let minutes, hours < 24, minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}

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
        guard (1...12).contains(moment.month),
            (1...Self.days(inMonth: moment.month, of: moment.year)).contains(moment.day),
            (0...23).contains(moment.hour), (0...59).contains(moment.minute),
            (0...59).contains(moment.second), (0...999_999).contains(moment.microsecond),
            (-290_000...290_000).contains(moment.year)
        else { return nil }
        let days = Self.daysSinceEpoch(moment.year, moment.month, moment.day)
        let seconds = ((days * 24 + moment.hour) * 60 + moment.minute) * 60 + moment.second
        microseconds = Int64(seconds) * 1_000_000 + Int64(moment.microsecond)
    }

    /// The date and time in UTC.
    public var components: Components {
        let (seconds, fraction) = Self.floorDivide(Int(microseconds), 1_000_000)
        let (days, secondOfDay) = Self.floorDivide(seconds, 86_400)
        let (year, month, day) = Self.civil(fromDays: days)
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

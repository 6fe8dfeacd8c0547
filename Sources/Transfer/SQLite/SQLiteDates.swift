import ObjectStore

/// The encoding of dates in SQLite, which has no type for dates.
package enum SQLiteDates: String, CaseIterable, Sendable {
    /// Text in ISO 8601, such as `2026-11-21T10:00:00Z`.
    case text
    /// Seconds since 1970; integers if they are whole.
    case seconds
    /// Milliseconds since 1970; integers if they are whole.
    case milliseconds
    /// Julian days as numbers, with a precision of about a tenth of a millisecond.
    case julian

    /// Creates the encoding with this name.
    ///
    /// Throws `invalid_argument` with the known names.
    package init(name: String) throws {
        guard let way = Self(rawValue: name.lowercased()) else {
            let known = Self.allCases.map(\.rawValue)
            throw StoreError(
                .invalidArgument,
                "unknown date encoding '\(name)'\(NearestName.hint(for: name, among: known)); use "
                    + known.joined(separator: ", "))
        }
        self = way
    }

    private static let epochAsJulianDay = 2_440_587.5
    private static let microsecondsOfDay = 86_400_000_000.0

    /// Returns the date of a number; nil outside of the range of dates.
    func moment(_ number: Double) -> Timestamp? {
        switch self {
        case .text, .seconds: Timestamp(seconds: number)
        case .milliseconds: Timestamp(seconds: number / 1000)
        case .julian:
            Int64(
                exactly: ((number - Self.epochAsJulianDay) * Self.microsecondsOfDay).rounded()
            ).map(Timestamp.init(microseconds:))
        }
    }

    /// Returns the exact date of an integer.
    func moment(_ number: Int64) -> Timestamp? {
        let factor: Int64
        switch self {
        case .text, .seconds: factor = 1_000_000
        case .milliseconds: factor = 1000
        case .julian: return moment(Double(number))
        }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : Timestamp(microseconds: microseconds)
    }

    /// Returns whether a number of seconds is so large that it must be milliseconds.
    ///
    /// As seconds it is after the year 5138; as milliseconds it is after March 1973.
    static func looksLikeMilliseconds(_ number: Int64) -> Bool {
        number.magnitude >= 100_000_000_000
    }

    /// Returns whether a date converts back to the original number.
    func isExact(_ number: Double, _ moment: Timestamp) -> Bool {
        switch stored(moment) {
        case .double(let stored): stored == number
        case .int(let stored): Double(stored) == number
        default: Self.seconds.isExact(number, moment)
        }
    }

    /// Returns the stored value of a date.
    func stored(_ moment: Timestamp) -> Value {
        let microseconds = moment.microseconds
        switch self {
        case .text: return .string(moment.description)
        case .seconds: return Self.quotient(microseconds, 1_000_000)
        case .milliseconds: return Self.quotient(microseconds, 1000)
        case .julian:
            let days = Double(microseconds) / Self.microsecondsOfDay
            return .double(days + Self.epochAsJulianDay)
        }
    }

    private static func quotient(_ number: Int64, _ divisor: Int64) -> Value {
        number % divisor == 0 ? .int(number / divisor) : .double(Double(number) / Double(divisor))
    }
}

import ObjectStore

/// How dates are stored in SQLite, which has no type for them.
package enum SQLiteDates: String, CaseIterable, Sendable {
    /// ISO 8601, as `2026-11-21T10:00:00Z`.
    case text
    /// Seconds since 1970, whole ones as integers.
    case seconds
    /// Milliseconds since 1970, whole ones as integers.
    case milliseconds
    /// Julian days as numbers, exact to about a tenth of a millisecond.
    case julian

    /// Returns the encoding of this name.
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

    /// Returns the date that a number represents; nil outside the range of dates.
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

    /// Returns the date that a whole number represents, without loss.
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

    /// Whether a number of seconds is so large that it must be milliseconds: as seconds it is after the year 5138, as
    /// milliseconds after March 1973.
    static func looksLikeMilliseconds(_ number: Int64) -> Bool {
        number.magnitude >= 100_000_000_000
    }

    /// Whether a date converts back to the number that it was read from.
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

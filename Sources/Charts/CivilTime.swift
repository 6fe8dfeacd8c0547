/// Dates of the Gregorian calendar in UTC, for the ticks of an axis.
struct CivilTime {
    var year: Int
    var month: Int
    var day: Int
    var seconds: Int

    private static let secondsPerDay = 86_400.0

    /// Creates a date from seconds since 1970.
    init(_ time: Double) {
        let days = (time / Self.secondsPerDay).rounded(.down)
        seconds = Int(time - days * Self.secondsPerDay)
        (year, month, day) = Self.date(days: Int(days))
    }

    init(year: Int, month: Int, day: Int = 1) {
        (self.year, self.month, self.day, seconds) = (year, month, day, 0)
    }

    /// The seconds since 1970.
    var time: Double { Double(Self.days(year, month, day)) * Self.secondsPerDay + Double(seconds) }

    // Days are counted from March 1 of year 0, so that the leap day ends a year.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func date(days: Int) -> (year: Int, month: Int, day: Int) {
        let days = days + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * shifted + 2) / 5 + 1
        )
    }

    // MARK: - Ticks

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    /// The distances between ticks that are shorter than a month, in seconds.
    private static let spans: [Double] =
        [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200]
        + [1, 2, 7, 14].map { $0 * secondsPerDay }
    private static let monthSpans = [
        1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 6_000, 12_000, 60_000,
    ]

    /// Returns at most about `count` ticks, at round times within a range.
    static func ticks(_ range: ClosedRange<Double>, count: Int) -> [Scale.Tick] {
        // Dates outside of this range have no practical use, and their arithmetic could overflow.
        guard range.lowerBound > -6e10, range.upperBound < 1e12 else {
            return [range.lowerBound, range.upperBound].map {
                Scale.Tick(value: $0, label: "\($0)")
            }
        }
        let raw = (range.upperBound - range.lowerBound) / Double(count)
        if let span = spans.first(where: { $0 >= raw }) {
            let first = (range.lowerBound / span).rounded(.up)
            let last = (range.upperBound / span).rounded(.down)
            guard first <= last else {
                return [Scale.Tick(value: range.lowerBound, label: label(range.lowerBound, span))]
            }
            return (0...Int(last - first)).map { index in
                let value = (first + Double(index)) * span
                return Scale.Tick(value: value, label: label(value, span))
            }
        }
        let span =
            monthSpans.first { Double($0) * 30.44 * secondsPerDay >= raw } ?? monthSpans.last ?? 12
        let start = CivilTime(range.lowerBound)
        var index = (start.year * 12 + start.month - 1) / span * span
        var ticks: [Scale.Tick] = []
        while true {
            let (year, month) = (index / 12, index % 12)
            let value = CivilTime(year: year, month: month + 1).time
            if value > range.upperBound { break }
            if value >= range.lowerBound {
                let name = span >= 12 ? "\(year)" : "\(months[month]) \(year)"
                ticks.append(Scale.Tick(value: value, label: name))
            }
            index += span
        }
        return ticks
    }

    private static func label(_ value: Double, _ span: Double) -> String {
        let time = CivilTime(value)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        if span >= secondsPerDay || time.seconds == 0 {
            return "\(months[time.month - 1]) \(time.day)"
        }
        let clock = "\(two(time.seconds / 3_600)):\(two(time.seconds / 60 % 60))"
        return span >= 60 ? clock : "\(clock):\(two(time.seconds % 60))"
    }
}

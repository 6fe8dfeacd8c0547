extension Timestamp: CustomStringConvertible {
    /// ISO 8601 in UTC, with as many digits of the second as are needed: `2026-11-20T10:00:00Z`.
    public var description: String {
        let moment = components
        var text =
            "\(Self.padded(moment.year, 4))-\(Self.padded(moment.month, 2))-"
            + "\(Self.padded(moment.day, 2))T\(Self.padded(moment.hour, 2)):"
            + "\(Self.padded(moment.minute, 2)):\(Self.padded(moment.second, 2))"
        if moment.microsecond > 0 {
            var digits = Self.padded(moment.microsecond, 6)
            while digits.last == "0" { digits.removeLast() }
            text += "." + digits
        }
        return text + "Z"
    }

    /// Parses ISO 8601; nil for anything else.
    ///
    /// As in `2026-11-20`, `2026-11-20T10:00`, `2026-11-20 10:00:00.25+01:00`. A time without a zone
    /// is UTC. Digits below the microsecond are ignored; ``PreciseTimestamp`` keeps them.
    public init?(_ text: some StringProtocol) {
        guard let moment = PreciseTimestamp(text) else { return nil }
        self = moment.floor
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number.magnitude)
        let zeros = String(repeating: "0", count: max(0, width - digits.count))
        return (number < 0 ? "-" : "") + zeros + digits
    }
}

/// A moment that may have more digits than the microseconds of a ``Timestamp``, as texts have them.
///
/// ```swift
/// PreciseTimestamp("2026-11-20T10:00:00.1234567Z")?.isExact  // false: 700 ns are left
/// ```
package struct PreciseTimestamp: Hashable, Sendable {
    /// The last microsecond that is not after the moment.
    package let floor: Timestamp
    /// The digits of the moment below the microsecond, without zeros at the end.
    package let digitsBelow: String

    /// Whether the moment is a whole number of microseconds.
    package var isExact: Bool { digitsBelow.isEmpty }

    /// Parses ISO 8601 as a ``Timestamp`` does; nil for anything else.
    package init?(_ text: some StringProtocol) {
        var scanner = DigitScanner(text)
        let isNegative = scanner.skip("-")
        guard let year = scanner.year(), scanner.skip("-"),
            let month = scanner.number(digits: 2), scanner.skip("-"),
            let day = scanner.number(digits: 2)
        else { return nil }
        var moment = Timestamp.Components(year: isNegative ? -year : year, month: month, day: day)
        var offset: Int64 = 0
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
            offset = seconds
        }
        guard scanner.isAtEnd, let local = Timestamp(moment) else { return nil }
        floor = Timestamp(microseconds: local.microseconds - offset * 1_000_000)
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

    /// A year of 4 to 6 digits: the text of any date can be read back.
    mutating func year() -> Int? {
        guard var year = number(digits: 4) else { return nil }
        for _ in 0..<2 {
            guard let next = digit() else { break }
            year = year * 10 + next
        }
        return year
    }

    /// The digits after the point: as microseconds, and those below, without zeros at the end.
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

    /// `Z`, `+01:00`, `-0530` or nothing, as seconds east of Greenwich.
    mutating func zone() -> Int64? {
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        let sign: Int64 = skip("-") ? -1 : 1
        guard sign == -1 || skip("+"), let hours = number(digits: 2) else { return nil }
        _ = skip(":")
        let minutes = isAtEnd ? 0 : number(digits: 2)
        guard let minutes, hours < 24, minutes < 60 else { return nil }
        return sign * Int64(hours * 3600 + minutes * 60)
    }
}

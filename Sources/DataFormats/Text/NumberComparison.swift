extension NumberText {
    /// Returns whether two texts represent the same number, such as `1.50` and `15e-1`.
    package static func isSameNumber(_ first: String, _ second: String) -> Bool {
        var (first, second) = (first, second)
        let one = first.withUTF8 { NumberShape($0) }
        let other = second.withUTF8 { NumberShape($0) }
        return one != nil && one?.digits == other?.digits && one?.exponent == other?.exponent
            && (one?.isNegative == other?.isNegative || one?.digits.isEmpty == true)
    }

    /// Returns whether a text is a number.
    package static func isNumber(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { NumberShape($0) } != nil
    }
}

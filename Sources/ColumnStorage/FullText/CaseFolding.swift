/// Full case folding of Unicode, which makes texts equal that differ only in case.
///
/// The result is that of `CaseFolding.txt` in the Unicode Character Database, statuses C and F, for every character. It
/// is computed with the case mappings of the standard library: upper case, then lower case, except for a few characters
/// below. The data is therefore that of the Swift version that compiles the program, and no table or library has to be
/// updated.
///
/// "Ὀδυσσεύς" and "ὈΔΥΣΣΕΎΣ" fold to equal texts, and so do "straße", "STRASSE" and "STRAẞE", "ſ" and "s", "ﬁ" and
/// "fi". "İ" folds to "i" with a dot above, and "ı" to itself: Turkish has different rules, which would depend on the
/// language of a text.
package enum CaseFolding {
    /// Calls `body` with the one to three scalars to which a scalar folds.
    package static func fold(_ scalar: Unicode.Scalar, _ body: (Unicode.Scalar) -> Void) {
        let value = scalar.value
        if value < 0x80 {
            return body(value &- 0x41 < 26 ? Unicode.Scalar(UInt8(value) | 0x20) : scalar)
        }
        switch value {
        // A lowercase i without a dot is not an "i".
        case 0x131: body(scalar)
        case 0x1E9E: "ss".unicodeScalars.forEach(body)
        // Cherokee folds to its older capital letters.
        case 0x13A0...0x13F5: body(scalar)
        case 0x13F8...0x13FD: body(Unicode.Scalar(value - 8) ?? scalar)
        case 0xAB70...0xABBF: body(Unicode.Scalar(value - 0x97D0) ?? scalar)
        default:
            let properties = scalar.properties
            guard properties.changesWhenCaseFolded else { return body(scalar) }
            for upper in properties.uppercaseMapping.unicodeScalars {
                upper.properties.lowercaseMapping.unicodeScalars.forEach(body)
            }
        }
    }
}

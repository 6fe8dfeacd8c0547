/// Full case folding of Unicode: what makes texts alike that differ in case only.
///
/// `CaseFolding.txt` of the Unicode Character Database, statuses C and F, as the standard library's case mappings give it:
/// upper case, then lower case, except for a few characters below. So the data is that of the Swift that compiles the
/// program, and no table or library has to be kept up to date. (The rule was compared with the file for every character.)
///
/// "Ὀδυσσεύς" and "ὈΔΥΣΣΕΎΣ" fold alike, also "straße", "STRASSE" and "STRAẞE", "ſ" and "s", "ﬁ" and "fi". "İ" folds to
/// "i" with a dot above, and "ı" to itself: Turkish has rules of its own, which would depend on the language of a text.
package enum CaseFolding {
    /// Calls `body` with the scalars, one to three, that a scalar folds to.
    package static func fold(_ scalar: Unicode.Scalar, _ body: (Unicode.Scalar) -> Void) {
        let value = scalar.value
        if value < 0x80 {
            return body(value &- 0x41 < 26 ? Unicode.Scalar(UInt8(value) | 0x20) : scalar)
        }
        switch value {
        // Lower case without a dot is no "i".
        case 0x131: body(scalar)
        case 0x1E9E: "ss".unicodeScalars.forEach(body)
        // Cherokee folds to the older capital letters.
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

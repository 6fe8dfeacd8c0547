/// The role of a character in the terms of a text.
enum TermCharacter: UInt8 {
    case separator = 0
    case letter
    case digit
    case apostrophe
    case point
    /// A diacritic, which is removed.
    case mark
    /// A mark that extends the previous character, such as a vowel sign or a voicing mark.
    case extending
    /// A character of a script without spaces between words.
    case single

    /// The raw values for ASCII.
    static let ascii: [UInt8] = (0..<128).map { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"):
            letter.rawValue
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit.rawValue
        case UInt8(ascii: "'"): apostrophe.rawValue
        case UInt8(ascii: "."), UInt8(ascii: ","): point.rawValue
        default: separator.rawValue
        }
    }

    /// Returns the role of a scalar of decomposed text.
    static func of(_ scalar: Unicode.Scalar) -> TermCharacter {
        if scalar.isASCII {
            // because: the table has the raw values of this type.
            return TermCharacter(rawValue: ascii[Int(scalar.value)])!
        }
        switch scalar.value {
        case 0x2019, 0x02BC: return .apostrophe
        case 0x0300...0x036F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F,
            0x0591...0x05C7, 0x0610...0x061A, 0x064B...0x065F, 0x0670:
            if scalar.properties.generalCategory == .nonspacingMark { return .mark }
        case 0x200B...0x200D, 0xFE00...0xFE0F: return .mark
        case 0x3099, 0x309A: return .extending
        default: break
        }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: return isUnspaced(scalar) ? .single : .extending
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter:
            return isUnspaced(scalar) ? .single : .letter
        case .decimalNumber, .letterNumber, .otherNumber:
            return scalar.properties.isIdeographic ? .single : .digit
        case .connectorPunctuation: return .letter
        default: return .separator
        }
    }

    /// Returns whether the scalar's script is written without spaces between words.
    private static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF, 0x31F0...0x31FF,
            0xFF66...0xFF9F:
            true
        default: scalar.properties.isIdeographic
        }
    }

    /// Folds case (``CaseFolding``), and replaces letters without a decomposition by the plain letters that people
    /// type.
    static func fold(_ scalar: Unicode.Scalar, _ body: (Unicode.Scalar) -> Void) {
        CaseFolding.fold(scalar) { folded in
            switch folded {
            case "æ": "ae".unicodeScalars.forEach(body)
            case "œ": "oe".unicodeScalars.forEach(body)
            case "ø": body("o")
            case "ł": body("l")
            case "đ", "ð": body("d")
            case "ħ": body("h")
            case "ŧ": body("t")
            case "ı": body("i")
            case "\u{300}"..."\u{36F}": break
            default: body(folded)
            }
        }
    }
}

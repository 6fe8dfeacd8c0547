/// The number types that reproduce a text exactly.
///
/// For `007`, `+1`, `12E4` and `0x1F` there are none: these types write the numbers differently.
///
///     NumberNotation("1.50")  // decimal; a double would write 1.5
package struct NumberNotation: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A 64-bit integer.
    package static let int = NumberNotation(rawValue: 1)
    /// A double in its shortest form.
    package static let double = NumberNotation(rawValue: 2)
    /// A decimal with at most 34 digits, without an exponent.
    package static let decimal = NumberNotation(rawValue: 4)

    private static let digitsOfDecimal = 34

    /// Determines the number types for a text.
    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { NumberNotation($0) }
    }

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self = []
        let first = text.first == 0x2D ? 1 : 0
        var position = first
        while position < text.count, text[position] &- 0x30 < 10 { position += 1 }
        let digits = position - first
        guard digits > 0 else { return }
        if digits > 1, text[first] == 0x30 { return }
        if position == text.count {
            // Integers, and decimals without decimal places, have no negative zero.
            if first == 1, text[first] == 0x30 { return }
            if digits <= 18 || NumberText.int(text) != nil { insert(.int) }
            if digits <= Self.digitsOfDecimal { insert(.decimal) }
            return
        }
        // Most other texts that begin with a digit are dates; an exponent has a lowercase letter.
        guard text[position] == 0x2E || text[position] == 0x65 else { return }
        let fraction = UnsafeBufferPointer(rebasing: text[(position + 1)...])
        if text[position] == 0x2E, !fraction.isEmpty, fraction.allSatisfy({ $0 &- 0x30 < 10 }) {
            add(text, first: first, digits: digits, fraction: fraction)
        } else {
            addDouble(text)
        }
    }

    private mutating func add(
        _ text: UnsafeBufferPointer<UInt8>, first: Int, digits: Int,
        fraction: UnsafeBufferPointer<UInt8>
    ) {
        let isBelowOne = text[first] == 0x30
        let leadingZeros = fraction.prefix { $0 == 0x30 }.count
        let isZero = isBelowOne && leadingZeros == fraction.count
        let significant = isBelowOne ? fraction.count - leadingZeros : digits + fraction.count
        let isNegativeZero = isZero && first == 1
        // Smaller numbers have an exponent.
        if significant <= Self.digitsOfDecimal, !isNegativeZero,
            fraction.count <= 6 || !isBelowOne || leadingZeros < 6
        {
            insert(.decimal)
        }
        let isWhole = fraction.allSatisfy { $0 == 0x30 }
        guard isWhole ? fraction.count == 1 : fraction.last != 0x30 else { return }
        if digits + fraction.count <= 15 {
            if isWhole || !isBelowOne || leadingZeros < 4 { insert(.double) }
        } else {
            addDouble(text)
        }
    }

    /// Compares the text with the output for a double.
    private mutating func addDouble(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count <= 32 else { return }
        let text = String(decoding: text, as: UTF8.self)
        if let value = Double(text), value.isFinite, value.description == text { insert(.double) }
    }
}

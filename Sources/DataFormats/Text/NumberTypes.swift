/// The number types that represent a text exactly.
///
/// A text is a number if it equals a 64-bit integer or a double, in any notation: `.5`, `1.50`, `+1.5` and `1e-7`. Codes
/// are not numbers: `007`, `+4930123456`, and integers beyond 64 bits.
package struct NumberTypes: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A 64-bit integer.
    package static let int = NumberTypes(rawValue: 1)
    /// A double.
    package static let double = NumberTypes(rawValue: 2)

    /// The number of digits from which an integer with a plus sign is a telephone number.
    private static let digitsOfTelephoneNumber = 7

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self = []
        let isSigned = text.first == 0x2B || text.first == 0x2D
        let digits = text[(isSigned ? 1 : 0)...]
        guard let first = digits.first, first &- 0x30 < 10 || first == 0x2E else { return }
        let whole = digits.prefix { $0 &- 0x30 < 10 }.count
        if first == 0x30, whole > 1 { return }
        if whole == digits.count {
            if text.first == 0x2B, whole >= Self.digitsOfTelephoneNumber { return }
            guard whole <= 18 || NumberText.exactInt(text) != nil else { return }
            insert(.int)
        }
        if NumberText.exactDouble(text) != nil { insert(.double) }
    }
}

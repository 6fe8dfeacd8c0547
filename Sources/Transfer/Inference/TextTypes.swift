import DataFormats
import ObjectStore

/// The types whose values reproduce a text exactly.
///
/// `00601` and `+49301234` do not count as numbers, and `2026-01-01` does not count as a date, because a date is
/// written with its time.
struct TextTypes: OptionSet {
    let rawValue: UInt8

    static let int = TextTypes(rawValue: 1)
    static let double = TextTypes(rawValue: 2)
    static let decimal = TextTypes(rawValue: 4)
    static let bool = TextTypes(rawValue: 8)
    static let date = TextTypes(rawValue: 16)
    static let uuid = TextTypes(rawValue: 32)

    /// The types of quoted text, in files that write numbers and booleans without quotes.
    static let quoted: TextTypes = [.date, .uuid]
    /// All types.
    static let all: TextTypes = [.int, .double, .decimal, .bool, .date, .uuid]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Creates the set of number types for a notation.
    init(_ notation: NumberNotation) {
        self = []
        if notation.contains(.int) { insert(.int) }
        if notation.contains(.double) { insert(.double) }
        if notation.contains(.decimal) { insert(.decimal) }
    }

    /// The number types.
    static let numbers: TextTypes = [.int, .double, .decimal]

    /// Determines the types of a text that is not a usual number, among the wanted types.
    ///
    /// `text` is `utf8` as a string.
    init(_ utf8: Span<UInt8>, among wanted: TextTypes, text: @autoclosure () -> String?) {
        self = []
        let length = utf8.count
        if wanted.contains(.bool), ValueText.plain(utf8, as: .bool) != nil { insert(.bool) }
        if wanted.contains(.uuid), length == 36, let text = text(),
            UUIDValue(text)?.description == text
        {
            insert(.uuid)
        }
        if wanted.contains(.date), (20...32).contains(length),
            utf8[length - 1] == UInt8(ascii: "Z")
        {
            // Years of more than four digits are rare.
            if Timestamp(canonical: utf8) != nil {
                insert(.date)
            } else if let text = text(), Timestamp(text)?.description == text {
                insert(.date)
            }
        }
        guard wanted.contains(.decimal), length > 0, length <= 48,
            utf8[0] == UInt8(ascii: "-") || utf8[0] &- UInt8(ascii: "0") < 10,
            let text = text(), text.contains("E"),
            case .decimal(let number)? = ValueText.value(text, as: .decimal),
            number.description == text
        else { return }
        insert(.decimal)
    }

    /// The type of a column with such texts.
    var preferred: PropertyType? {
        if contains(.int) { return .int }
        if contains(.double) { return .double }
        if contains(.decimal) { return .decimal }
        if contains(.bool) { return .bool }
        if contains(.date) { return .date }
        return contains(.uuid) ? .uuid : nil
    }
}

import DataFormats
import ObjectStore

/// The types whose values write a text back exactly as it is.
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

    /// The types of text in files that write numbers and booleans without quotes.
    static let quoted: TextTypes = [.date, .uuid]
    /// All types.
    static let all: TextTypes = [.int, .double, .decimal, .bool, .date, .uuid]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The types of numbers with a notation.
    init(_ notation: NumberNotation) {
        self = []
        if notation.contains(.int) { insert(.int) }
        if notation.contains(.double) { insert(.double) }
        if notation.contains(.decimal) { insert(.decimal) }
    }

    /// The types of a text, among the wanted ones.
    init(_ text: String, among wanted: TextTypes) {
        self = []
        let length = text.utf8.count
        if wanted.contains(.bool), text == "true" || text == "false" { insert(.bool) }
        if wanted.contains(.uuid), length == 36, UUIDValue(text)?.description == text {
            insert(.uuid)
        }
        if wanted.contains(.date), (20...32).contains(length), text.utf8.last == UInt8(ascii: "Z"),
            Timestamp(text)?.description == text
        {
            insert(.date)
        }
        guard let first = text.utf8.first, first == 0x2D || first &- 0x30 < 10, length <= 48,
            !wanted.isDisjoint(with: [.int, .double, .decimal])
        else { return }
        formUnion(TextTypes(NumberNotation(text)).intersection(wanted))
        if wanted.contains(.decimal), text.contains("E"),
            case .decimal(let number)? = ValueText.value(text, as: .decimal),
            number.description == text
        {
            insert(.decimal)
        }
    }

    /// The type that a column of such texts becomes.
    var preferred: PropertyType? {
        if contains(.int) { return .int }
        if contains(.double) { return .double }
        if contains(.decimal) { return .decimal }
        if contains(.bool) { return .bool }
        if contains(.date) { return .date }
        return contains(.uuid) ? .uuid : nil
    }
}

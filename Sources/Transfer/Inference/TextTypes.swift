import DataFormats
import ObjectStore

/// The types whose values equal a text.
///
/// `1.50` and `1.5` are the same number, and `2026-01-01` and `2026-01-01T00:00:00Z` the same date. `00601` and
/// `+4930123456` are codes and not numbers.
struct TextTypes: OptionSet {
    let rawValue: UInt8

    static let int = TextTypes(rawValue: 1)
    static let double = TextTypes(rawValue: 2)
    static let bool = TextTypes(rawValue: 4)
    static let date = TextTypes(rawValue: 8)
    static let uuid = TextTypes(rawValue: 16)

    /// All types.
    static let all: TextTypes = [.int, .double, .bool, .date, .uuid]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The number types.
    private static let numbers: TextTypes = [.int, .double]

    /// Determines the types of a CSV field, among the wanted types.
    init(_ record: CSVReader, _ index: Int, among wanted: TextTypes) {
        let numbers = wanted.isDisjoint(with: .numbers) ? [] : record.numberTypes(index)
        var types: TextTypes = []
        if numbers.contains(.int) { types.insert(.int) }
        if numbers.contains(.double) { types.insert(.double) }
        if numbers.isEmpty, !wanted.isSubset(of: .numbers) {
            // The import reports text that is not UTF-8.
            types = record.withUTF8(index) { utf8 in
                TextTypes(utf8, isExact: false) { (try? record.text(index)) ?? nil }
            }
        }
        self = types
    }

    /// Determines the types of a text that is not a number; `text` is `utf8` as a string.
    ///
    /// With `isExact`, only texts in the form in which a store writes the value have a type. This is the rule for formats
    /// that write booleans without quotes and that have no reason to write a date in another form.
    init(_ utf8: Span<UInt8>, isExact: Bool, text: () -> String?) {
        self = []
        switch utf8.count {
        case 4, 5:
            if !isExact, let text = text()?.lowercased(), text == "true" || text == "false" {
                insert(.bool)
            }
        case 36 where utf8[8] == UInt8(ascii: "-"):
            if let text = text(), let value = UUIDValue(text), !isExact || value.description == text
            {
                insert(.uuid)
            }
        case 10...40 where Self.isDigit(utf8[0]) || utf8[0] == UInt8(ascii: "-"):
            if Timestamp(canonical: utf8) != nil {
                insert(.date)
            } else if let text = text(), let value = PreciseTimestamp(text), value.isExact,
                !isExact || value.floor.description == text
            {
                insert(.date)
            }
        default: break
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// The type of a column with such texts.
    var preferred: PropertyType {
        if contains(.int) { return .int }
        if contains(.double) { return .double }
        if contains(.bool) { return .bool }
        return contains(.date) ? .date : .uuid
    }
}

import DataFormats
import ObjectStore

/// Infers the type of one property from its values.
struct PropertyGuess {
    private struct Kinds: OptionSet {
        let rawValue: UInt8
        static let bool = Kinds(rawValue: 1)
        static let number = Kinds(rawValue: 2)
        static let text = Kinds(rawValue: 4)
        static let tagged = Kinds(rawValue: 8)
        static let list = Kinds(rawValue: 16)
        static let object = Kinds(rawValue: 32)
    }

    /// A value of the property, for notes.
    struct Example {
        let text: String
        /// The line of a CSV file; nil in other formats.
        let line: Int?

        init(_ text: String, line: Int? = nil) {
            self.text = text
            self.line = line
        }

        var description: String {
            let shown = text.count > 40 ? text.prefix(40) + "…" : text[...]
            return "\"\(shown)\"" + (line.map { " (line \($0))" } ?? "")
        }
    }

    private let hasGivenType: Bool
    private let isUntyped: Bool
    private var kinds: Kinds = []
    private(set) var hasNull = false
    /// The number of values, including nulls.
    private(set) var count = 0

    /// The types that match all texts so far, except those counted by `misfits`.
    private var texts = TextTypes.all
    private var fits = 0
    private var misfits = 0
    /// The first text that none of `texts` matches.
    private var misfit: Example?
    /// The number of such texts from which a column is text if most of its values are.
    private static let misfitsOfText = 16
    // These flags describe the numbers.
    private var areInts = true
    private var areDoubles = true
    private var areDecimals = true
    /// The type of all type tags so far; nil after different tags.
    private var tag: PropertyType?
    /// The guess for the elements of lists; contains one element or none.
    private var elements: [PropertyGuess] = []
    /// The values of a property that could be the primary key; nil for all other properties.
    private var keys: RepeatedValue?
    /// The first value of a possible primary key that occurs twice.
    private(set) var repetition: Example?

    /// Creates a guess for untyped text, as in CSV files, or for values with types.
    ///
    /// If the type is specified, only missing values matter. `canBeKey` means that repeated values matter too.
    init(isUntyped: Bool, hasGivenType: Bool = false, canBeKey: Bool = false) {
        self.hasGivenType = hasGivenType
        self.isUntyped = isUntyped
        keys = canBeKey ? RepeatedValue() : nil
    }

    // MARK: Values

    /// Adds a field of a CSV file.
    mutating func add(_ record: CSVReader, _ index: Int) {
        count += 1
        if record.isNil(index) {
            hasNull = true
            return
        }
        func example() -> Example {
            Example(((try? record.text(index)) ?? nil) ?? "", line: record.line)
        }
        if keys != nil { addKey(record.int(index), example) }
        guard !hasGivenType else { return }
        kinds.insert(.text)
        if !isText { add(TextTypes(record, index, among: texts), example) }
    }

    /// Whether most values are text without another type.
    private var isText: Bool { misfits > (isUntyped ? max(Self.misfitsOfText, fits) : 0) }

    /// Adds the types of a text.
    private mutating func add(_ types: TextTypes, _ example: () -> Example) {
        let common = texts.intersection(types)
        if common.isEmpty {
            if misfit == nil { misfit = example() }
            misfits += 1
        } else {
            texts = common
            fits += 1
        }
    }

    /// Adds a value of a possible primary key: an integer or a text.
    private mutating func addKey(_ number: Int64?, _ example: () -> Example) {
        let isFirst =
            if let number { keys?.add(number) } else { keys?.add(example().text) }
        if isFirst == true { repetition = example() }
    }

    /// Adds a value on a tape.
    mutating func add(_ tape: JSONTape, _ index: Int) {
        count += 1
        if hasGivenType, tape.kind(index) != .null { return }
        switch tape.kind(index) {
        case .null, .end: hasNull = true
        case .truth, .falsehood: kinds.insert(.bool)
        case .int:
            addInt(tape.int(index))
            addKey(tape.int(index)) { Example(String(tape.int(index))) }
        case .real: addReal(tape, index)
        case .string:
            kinds.insert(.text)
            let example = { Example(tape.text(index)) }
            if !isText {
                let types = tape.withUTF8(index) {
                    TextTypes($0, isExact: true) { tape.text(index) }
                }
                add(types, example)
            }
            if keys != nil { addKey(nil, example) }
        case .object:
            let node = JSONNode(tape, index)
            guard let name = ExtendedJSON.tag(of: node), let type = ExtendedJSON.type(of: name)
            else {
                kinds.insert(.object)
                return
            }
            if keys != nil, let value = node.only(name), value.kind == .string {
                addKey(nil) { Example(value.text) }
            }
            tag = kinds.contains(.tagged) && tag != type ? nil : type
            kinds.insert(.tagged)
        case .array:
            kinds.insert(.list)
            if elements.isEmpty { elements = [PropertyGuess(isUntyped: false)] }
            JSONNode(tape, index).forEachElement { elements[0].add(tape, $0.index) }
        }
    }

    private mutating func addInt(_ number: Int64) {
        kinds.insert(.number)
        if areDoubles, Int64(exactly: Double(number)) != number { areDoubles = false }
    }

    private mutating func addReal(_ tape: JSONTape, _ index: Int) {
        kinds.insert(.number)
        areInts = false
        let isDouble = tape.exactDouble(index) != nil
        if !isDouble { areDoubles = false }
        // Usually only one of the two flags is needed.
        guard areDecimals, !areDoubles || !isDouble || tape.textLength(index) > 34 else { return }
        areDecimals = ValueText.value(tape.text(index), as: .decimal) != nil
    }

    // MARK: The type

    /// Whether all values are lists.
    var isList: Bool { kinds == .list && elements.first?.kinds.contains(.list) != true }

    /// Whether a list has null elements.
    var hasNullElements: Bool { elements.first?.hasNull ?? false }

    /// The type of a single value, or of the elements of a list.
    var type: PropertyType {
        switch kinds {
        case []: return .string
        case .bool: return .bool
        case .number:
            if areInts { return .int }
            return areDoubles ? .double : areDecimals ? .decimal : .mixed
        case .text: return misfits > 0 ? .string : texts.preferred
        case .tagged: return tag ?? .mixed
        case .list where isList: return elements.first?.type ?? .string
        default: return .mixed
        }
    }

    /// Returns why a column of text does not have the type of its other values, with the option that would give it this
    /// type; nil for other properties.
    func reason(_ field: String) -> String? {
        guard isUntyped, kinds == .text, fits > 0, fits >= misfits, let misfit else { return nil }
        let type = texts.preferred
        func option(_ type: PropertyType) -> String {
            let pair = "\(field)=\(type.rawValue)"
            return "--types " + (SchemaNames.isName(field) ? pair : "'\(pair)'")
        }
        var remedy = option(type)
        if let value = ValueText.value(misfit.text, as: type).flatMap(ValueText.text) {
            remedy += " reads it as \(value)"
        } else if type == .int || type == .double,
            ValueText.value(misfit.text, as: .decimal) != nil
        {
            remedy = option(.decimal) + " keeps its digits"
        } else if let value = ValueText.rounded(misfit.text, as: type).flatMap(ValueText.text) {
            remedy += " --round rounds it to \(value)"
        } else {
            remedy +=
                " with --nulls '\(misfit.text.prefix(40))' reads it as nil, and with --rejects FILE skips its row"
        }
        return "is text because of \(misfit.description); \(remedy)"
    }
}

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

/// Detects whether the values of a property are unique, so that the property can be the primary key.
///
/// Takes no memory for consecutive integers, and otherwise a few bytes for each value, up to a limit; values beyond the
/// limit are not compared.
struct RepeatedValue {
    /// Whether a value has occurred twice.
    private(set) var isRepeated = false
    private var run: ClosedRange<Int64>?
    /// The hashes of values outside of the run.
    private var others: Set<Int> = []
    private static let limit = 1 << 20

    /// Adds an integer; returns whether it is the first value that occurs again.
    mutating func add(_ number: Int64) -> Bool {
        guard !isRepeated else { return false }
        let run = run ?? number...number
        if self.run == nil {
            self.run = run
        } else if run.contains(number) {
            isRepeated = true
        } else if run.upperBound < .max, number == run.upperBound + 1 {
            self.run = run.lowerBound...number
            isRepeated = others.contains(number.hashValue)
        } else {
            add(hash: number.hashValue)
        }
        return isRepeated
    }

    /// Adds a text; returns whether it is the first value that occurs again.
    mutating func add(_ text: String) -> Bool {
        guard !isRepeated else { return false }
        add(hash: text.hashValue)
        return isRepeated
    }

    private mutating func add(hash: Int) {
        if others.count < Self.limit { isRepeated = !others.insert(hash).inserted }
    }
}

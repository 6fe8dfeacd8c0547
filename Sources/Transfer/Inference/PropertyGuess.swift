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

    private let hasGivenType: Bool
    private var kinds: Kinds = []
    private(set) var hasNull = false
    /// The number of values, including nulls.
    private(set) var count = 0

    /// The types that match all texts so far.
    private var texts = TextTypes.all
    // These flags describe the numbers.
    private var areInts = true
    private var areDoubles = true
    private var areDecimals = true
    private var areReadable = true
    /// The type of all type tags so far; nil after different tags.
    private var tag: PropertyType?
    /// The guess for the elements of lists; contains one element or none.
    private var elements: [PropertyGuess] = []

    /// Creates a guess for untyped text, as in CSV files, or for values with types.
    ///
    /// If the type is specified, only missing values matter.
    init(isUntyped: Bool, hasGivenType: Bool = false) {
        self.hasGivenType = hasGivenType
        texts = isUntyped ? .all : .quoted
    }

    // MARK: Values

    /// Adds a field of a CSV file.
    mutating func add(_ record: CSVReader, _ index: Int) {
        count += 1
        if record.isNil(index) {
            hasNull = true
            return
        }
        guard !hasGivenType else { return }
        kinds.insert(.text)
        guard !texts.isEmpty else { return }
        if !texts.isDisjoint(with: .numbers) {
            let notation = record.notation(index)
            if !notation.isEmpty {
                texts.formIntersection(TextTypes(notation))
                return
            }
        }
        // The import reports text that is not UTF-8.
        let types = record.withUTF8(index) {
            TextTypes($0, among: texts, text: (try? record.text(index)) ?? nil)
        }
        texts.formIntersection(types)
    }

    /// Adds a value on a tape.
    mutating func add(_ tape: JSONTape, _ index: Int) {
        count += 1
        if hasGivenType, tape.kind(index) != .null { return }
        switch tape.kind(index) {
        case .null, .end: hasNull = true
        case .truth, .falsehood: kinds.insert(.bool)
        case .int: addInt(tape.int(index))
        case .real: addReal(tape, index)
        case .string:
            kinds.insert(.text)
            if !texts.isEmpty {
                let types = tape.withUTF8(index) {
                    TextTypes($0, among: texts, text: tape.text(index))
                }
                texts.formIntersection(types)
            }
        case .object:
            guard let type = ExtendedJSON.tag(of: JSONNode(tape, index)).flatMap(ExtendedJSON.type)
            else {
                kinds.insert(.object)
                return
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

    /// Whether the values are objects or lists of objects, so that they can become objects of a class.
    var holdsObjects: Bool {
        kinds == .object || kinds == .list && elements.first?.kinds == .object
    }

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
        case .text: return texts.preferred ?? .string
        case .tagged: return tag ?? .mixed
        case .list where isList: return elements.first?.type ?? .string
        default: return .mixed
        }
    }
}

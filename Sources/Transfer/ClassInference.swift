import DataFormats
import ObjectStore

/// Finds out which classes a file holds: from the schema in it, else from the values of its first rows.
///
/// A property that some row does not have becomes optional; ints among doubles become doubles; what does not agree
/// becomes mixed. A property called `id` or `_id` that every row has becomes the primary key.
final class ClassInference {
    /// How many rows are looked at.
    static let sample = 1000

    private struct Enough: Error {}

    private var declared: [ClassSchema]?
    private var guesses: [String: ClassGuess] = [:]
    private var order: [String] = []
    private var rows = 0
    private let options: ImportOptions

    private init(_ options: ImportOptions) { self.options = options }

    /// The classes of a file; none for standard input, which cannot be read twice.
    static func classes(
        in path: String, _ format: TransferFormat, _ options: ImportOptions
    ) throws -> [ClassSchema] {
        guard path != "-" else { return [] }
        let inference = ClassInference(options)
        let file = try FileReader(path)
        do {
            switch format {
            case .jsonLines: try inference.readLines(file)
            case .json: try inference.readJSON(file)
            case .csv: try inference.readCSV(file)
            case .lua: try inference.readLua(file)
            case .sqlite, .realm: break
            }
        } catch is Enough {}
        return inference.declared
            ?? inference.order.compactMap { inference.guesses[$0]?.classSchema($0) }
    }

    private func readLines(_ file: FileReader) throws {
        let lines = LineReader(file)
        let parser = JSONParser(.values) { [self] in try look($0.tape, section: nil) }
        var isOpen = true
        while isOpen {
            isOpen = try lines.next { bytes, range in
                do {
                    try parser.parse(bytes, range)
                    try parser.parse([0x0A])
                    if parser.isInsideValue { parser.reset() }
                } catch is FormatError {
                    // What is wrong with the row is told when it is imported.
                    parser.reset()
                }
            }
        }
    }

    private func readJSON(_ file: FileReader) throws {
        let parser = JSONParser(.elements) { [self] in try look($0.tape, section: $0.section) }
        while true {
            let bytes = try file.read()
            if bytes.isEmpty { break }
            do { try parser.parse(bytes) } catch is FormatError { break }
        }
    }

    private func readLua(_ file: FileReader) throws {
        let reader = LuaDataReader(file) { [self] in try look($0.tape, section: $0.section) }
        // What is wrong with the text is told when it is imported.
        do { try reader.read() } catch is FormatError {}
    }

    private func look(_ tape: JSONTape, section: String?) throws {
        let root = JSONNode(tape)
        if section == "$schema" {
            declared = try SchemaJSON.read(tape, 0)
            throw Enough()
        }
        if tape.kind(0) == .object, tape.kind(1) == .string, tape.text(1) == "$schema" {
            declared = try SchemaJSON.read(tape, 2)
            throw Enough()
        }
        var name = section ?? options.className
        root.forEachMember { if $0 == "$class", $1.kind == .string { name = $1.text } }
        guard let name, root.kind == .object else { return }
        var members: [(String, TypeGuess)] = []
        root.forEachMember { member, value in
            let property = options.names[member] ?? member
            if !member.hasPrefix("$"), !property.isEmpty {
                members.append((property, TypeGuess(value)))
            }
        }
        try add(members, to: name)
    }

    private func readCSV(_ file: FileReader) throws {
        guard let name = options.className else { return }
        var header: [String]?
        let parser = CSVParser { [self] record, _ in
            guard let names = header else {
                header = record.fields.map { field in
                    field.map { options.names[$0] ?? $0 } ?? ""
                }
                return
            }
            let members = zip(names, record.fields).compactMap { name, field in
                name.isEmpty ? nil : (name, TypeGuess(text: field))
            }
            try add(members, to: name)
        }
        while true {
            let bytes = try file.read()
            if bytes.isEmpty { break }
            do { try parser.parse(bytes) } catch is FormatError { break }
        }
        do { try parser.finish() } catch is FormatError {}
        if let header, guesses[name] == nil {
            // No row tells a type: text takes everything.
            try add(header.map { ($0, TypeGuess(text: "")) }, to: name)
        }
    }

    private func add(_ members: [(String, TypeGuess)], to name: String) throws {
        if guesses[name] == nil { order.append(name) }
        guesses[name, default: ClassGuess()].add(members)
        rows += 1
        if rows >= Self.sample { throw Enough() }
    }
}

/// What the rows of one class have shown.
private struct ClassGuess {
    private var types: [String: TypeGuess] = [:]
    private var counts: [String: Int] = [:]
    private var order: [String] = []
    private var rows = 0

    mutating func add(_ members: [(String, TypeGuess)]) {
        rows += 1
        for (name, type) in members {
            if let known = types[name] {
                types[name] = known.merged(with: type)
            } else {
                types[name] = type
                order.append(name)
            }
            counts[name, default: 0] += 1
        }
    }

    func classSchema(_ className: String) -> ClassSchema {
        let properties = order.map { name -> Property in
            let guess = types[name] ?? TypeGuess()
            let isOptional = guess.isOptional || counts[name] != rows
            let type = guess.type ?? .string
            let isPrimary =
                ["id", "_id"].contains(name) && !isOptional && !guess.isList
                && [.int, .string, .uuid, .objectID].contains(type)
            let takesNull = guess.isList ? guess.hasNullElements : isOptional && type != .mixed
            return Property(
                name, type, isOptional: takesNull, collection: guess.isList ? .list : nil,
                isPrimary: isPrimary)
        }
        return ClassSchema(className, properties)
    }
}

/// What the values of one property have shown.
private struct TypeGuess {
    /// Nil while there were only nulls.
    var type: PropertyType?
    var isOptional = false
    var isList = false
    var hasNullElements = false
    /// Whether the values came as text without types, as in CSV files.
    var isUntyped = false

    init() {}

    init(_ node: JSONNode) {
        switch node.kind {
        case .null, .end: isOptional = true
        case .truth, .falsehood: type = .bool
        case .int: type = .int
        case .real: type = .double
        case .string: type = Self.type(ofText: node.text, isQuoted: true)
        case .object: type = ExtendedJSON.tag(of: node).flatMap(ExtendedJSON.type) ?? .mixed
        case .array:
            var element: TypeGuess?
            node.forEachElement { child in
                let next = TypeGuess(child)
                element = element?.merged(with: next) ?? next
            }
            let isNested = element?.isList ?? false
            type = isNested ? .mixed : element?.type ?? .string
            isList = !isNested
            hasNullElements = element?.isOptional ?? false
        }
    }

    /// A field of a CSV file; nil for nothing.
    init(text: String?) {
        guard let text else {
            isOptional = true
            return
        }
        isUntyped = true
        type = Self.type(ofText: text, isQuoted: false)
    }

    func merged(with other: TypeGuess) -> TypeGuess {
        var result = self
        result.isOptional = isOptional || other.isOptional
        result.hasNullElements = hasNullElements || other.hasNullElements
        guard let type, let next = other.type else {
            result.type = type ?? other.type
            result.isList = isList || other.isList
            return result
        }
        if isList != other.isList {
            result.type = .mixed
            result.isList = false
        } else if type != next {
            let both: Set = [type, next]
            let isText = both.isSubset(of: [.string, .date, .uuid, .objectID])
            result.type =
                both == [.int, .double] ? .double : isText || isUntyped ? .string : .mixed
            result.isUntyped = isUntyped || other.isUntyped
        }
        return result
    }

    /// CSV knows no types: there, numbers and truth are text too.
    private static func type(ofText text: String, isQuoted: Bool) -> PropertyType {
        if !isQuoted {
            // What begins with a zero is a code, such as 007.
            let digits = text.utf8.prefix(2)
            if digits.count == 2, digits.first == 0x30, digits.last != 0x2E { return .string }
            if Int64(text) != nil { return .int }
            if let number = Double(text), number.isFinite { return .double }
            if text == "true" || text == "false" { return .bool }
        }
        if text.utf8.count == 36, UUIDValue(text) != nil { return .uuid }
        if text.utf8.count >= 20, text.utf8.count <= 32, Timestamp(text) != nil { return .date }
        return .string
    }
}

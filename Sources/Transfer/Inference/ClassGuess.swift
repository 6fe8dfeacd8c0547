import DataFormats
import ObjectStore

/// Infers the properties of one class from the values of its rows.
final class ClassGuess {
    private var names: [String] = []
    private var utf8: [[UInt8]] = []
    private var guesses: [PropertyGuess] = []
    private var indexes: [String: Int] = [:]
    /// The property index of each member of the previous row.
    private var order: [Int] = []
    private var position = 0
    private var rows = 0
    private let isUntyped: Bool
    private let hasRepetitions: Bool
    private let options: ImportOptions

    /// Creates a guess; with `hasRepetitions`, several rows can describe the same object.
    init(isUntyped: Bool, _ options: ImportOptions, hasRepetitions: Bool) {
        self.hasRepetitions = hasRepetitions
        self.isUntyped = isUntyped
        self.options = options
    }

    func startRow() {
        rows += 1
        position = 0
    }

    // MARK: Values

    /// Adds the value of a member; `name` and `value` are indexes of the tape.
    func add(_ tape: JSONTape, _ name: Int, _ value: Int) {
        let index = index(tape, name)
        guesses[index].add(tape, value)
    }

    /// Adds the fields of a record.
    func add(_ record: CSVReader) {
        startRow()
        Self.add(record, to: &guesses)
    }

    /// Adds a record with one access to all guesses, because Swift checks each access to a property of a class.
    private static func add(_ record: CSVReader, to guesses: inout [PropertyGuess]) {
        for index in 0..<min(record.count, guesses.count) { guesses[index].add(record, index) }
    }

    /// Returns the index of a name, and registers it if it is new.
    @discardableResult  // because a header only declares its names
    func index(of name: String) -> Int {
        if let index = indexes[name] { return index }
        let index = names.count
        indexes[name] = index
        names.append(name)
        utf8.append(Array(name.utf8))
        // A link takes precedence over a specified type.
        let hasGivenType =
            options.links.isEmpty && options.types[name] != nil || options.isAllText && isUntyped
        let canBeKey =
            !hasRepetitions && Self.namesOfKeys.contains(options.names[name] ?? name)
            && options.types[name] == nil
        guesses.append(
            PropertyGuess(
                isUntyped: isUntyped, hasGivenType: hasGivenType, canBeKey: canBeKey))
        return index
    }

    private func index(_ tape: JSONTape, _ name: Int) -> Int {
        defer { position += 1 }
        if position < order.count {
            let expected = order[position]
            if tape.equals(name, utf8[expected]) { return expected }
        }
        let index = index(of: tape.text(name))
        if position < order.count { order[position] = index } else { order.append(index) }
        return index
    }

    // MARK: The class

    /// Returns the class, the properties of fields with other names, and notes about decisions that can surprise users.
    ///
    /// Throws `invalid_schema` for a type in the options that does not exist.
    func finished(_ className: String) throws -> (
        classSchema: ClassSchema, renames: [String: String], notes: [String]
    ) {
        var columns = ColumnNames()
        let names = try columns.properties(of: names.map { ($0, nil) }) { options.names[$0] }
        var properties: [Property] = []
        var renames: [String: String] = [:]
        var notes: [String] = []
        for (index, file) in self.names.enumerated() {
            guard let name = names[index] else { continue }
            if name != file, options.names[file] == nil { renames[file] = name }
            if options.names[file] == nil, SchemaNames.property(file) != name {
                notes.append(
                    "the property of '\(file)' is '\(className).\(name)', because another column has the name "
                        + "'\(SchemaNames.property(file))'"
                )
            }
            let property = try property(name, file: file, index: index, className: className)
            properties.append(property)
            notes += self.notes(property, file, guesses[index]).map {
                "'\(className).\(name)' \($0)"
            }
        }
        return (ClassSchema(className, properties), renames, notes)
    }

    private func property(
        _ name: String, file: String, index: Int, className: String
    ) throws -> Property {
        let guess = guesses[index]
        let isOptional = guess.hasNull || guess.count != rows
        if let target = options.links[file] ?? options.links[name] {
            return Property(
                name, .object, collection: guess.isList ? .list : nil, target: target)
        }
        if let given = options.types[file] ?? options.types[name] {
            return try Self.property(name, className, given, isOptional: isOptional)
        }
        let type = options.isAllText && isUntyped ? .string : guess.type
        let takesNull = guess.isList ? guess.hasNullElements : isOptional && type != .mixed
        let isKey =
            Self.namesOfKeys.contains(name) && type.canBePrimary && !isOptional && !guess.isList
            && guess.repetition == nil
        return Property(
            name, type, isOptional: takesNull, collection: guess.isList ? .list : nil,
            isPrimary: isKey)
    }

    private static let namesOfKeys: Set = ["id", "_id"]

    /// Returns a property of a type that the options specify; the property is optional if values are missing.
    private static func property(
        _ name: String, _ className: String, _ text: String, isOptional: Bool
    ) throws -> Property {
        var property = try PropertySyntax.parse(name: name, in: className, text)
        let isPlain = property.isSingle && property.type != .object && property.type != .mixed
        if isPlain, !property.isPrimary, isOptional { property.isOptional = true }
        return property
    }

    /// Returns notes about a property whose type users may not expect, without its name.
    private func notes(
        _ property: Property, _ field: String, _ guess: PropertyGuess
    ) -> [String] {
        guard options.types[field] == nil, options.types[property.name] == nil,
            options.links[field] == nil, options.links[property.name] == nil
        else { return [] }
        var notes: [String] = []
        if let value = guess.repetition, !property.isPrimary {
            notes.append(
                "is not the primary key, because \(value.description) occurs more than once")
        }
        if property.type == .decimal {
            let type = SchemaNames.isName(field) ? "\(field)=double" : "'\(field)=double'"
            notes.append("is decimal, which keeps all digits; for doubles, add --types \(type)")
        }
        if !options.isAllText, let reason = guess.reason(field) { notes.append(reason) }
        return notes
    }
}

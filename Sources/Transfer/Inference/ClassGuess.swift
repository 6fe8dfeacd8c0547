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
    private let options: ImportOptions

    init(isUntyped: Bool, _ options: ImportOptions) {
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
        guesses.append(PropertyGuess(isUntyped: isUntyped, hasGivenType: hasGivenType))
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

    /// Returns the class, and the properties of fields whose names are not valid property names.
    ///
    /// Throws `invalid_schema` for a type in the options that does not exist.
    func finished(
        _ className: String
    ) throws -> (classSchema: ClassSchema, renames: [String: String]) {
        let names = propertyNames()
        var properties: [Property] = []
        var renames: [String: String] = [:]
        for (index, file) in self.names.enumerated() {
            guard let name = names[index] else { continue }
            if name != file, options.names[file] == nil { renames[file] = name }
            properties.append(try property(name, file: file, index: index, className: className))
        }
        return (ClassSchema(className, properties), renames)
    }

    /// Returns the property name of each field; nil for fields that are omitted.
    private func propertyNames() -> [String?] {
        var taken: Set<String> = []
        var result = [String?](repeating: nil, count: names.count)
        // Names from options are assigned first, and then the names that can remain unchanged.
        for (index, name) in names.enumerated() {
            let wanted = options.names[name] ?? (SchemaNames.isName(name) ? name : nil)
            if let wanted, !wanted.isEmpty, taken.insert(wanted).inserted { result[index] = wanted }
        }
        for (index, name) in names.enumerated()
        where result[index] == nil && options.names[name] == nil {
            let wanted = SchemaNames.property(name)
            var unique = wanted
            var number = 1
            while !taken.insert(unique).inserted {
                number += 1
                unique = "\(wanted)_\(number)"
            }
            result[index] = unique
        }
        return result
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
        return Property(
            name, type, isOptional: takesNull, collection: guess.isList ? .list : nil,
            isPrimary: Self.isKey(name, type, isOptional: isOptional) && !guess.isList)
    }

    /// Returns a property of a type that the options specify; the property is optional if values are missing.
    private static func property(
        _ name: String, _ className: String, _ text: String, isOptional: Bool
    ) throws -> Property {
        var property = try PropertySyntax.parse(name: name, in: className, text)
        let isPlain = property.isSingle && property.type != .object && property.type != .mixed
        guard isPlain, !property.isPrimary, !property.isOptional else { return property }
        if isOptional {
            property.isOptional = true
        } else if isKey(name, property.type, isOptional: false) {
            property.isPrimary = true
        }
        return property
    }

    private static func isKey(_ name: String, _ type: PropertyType, isOptional: Bool) -> Bool {
        ["id", "_id"].contains(name) && !isOptional
            && [.int, .string, .uuid, .objectID].contains(type)
    }
}

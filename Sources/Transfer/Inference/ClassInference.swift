import DataFormats
import ObjectStore

/// Infers the classes of a file from the schema in the file, or from the values of its rows.
///
/// All rows count unless the options limit them. A property that is missing in some row becomes optional. A property
/// with values of different kinds becomes mixed. Text becomes a number, a boolean, a date or a UUID only if every text
/// equals a value of this type. A property called `id` or `_id` becomes the primary key if every row has another value.
package final class ClassInference {
    /// The classes of a file.
    package struct Result {
        var classes: [ClassSchema] = []
        /// The properties of fields whose names are not valid property names, by class and field.
        var renames: [String: [String: String]] = [:]
        /// Notes about decisions that can surprise users.
        var notes: [String] = []

        package init(classes: [ClassSchema] = []) { self.classes = classes }
    }

    private var declared: [ClassSchema]?
    private var guesses: [String: ClassGuess] = [:]
    private var order: [String] = []
    private var rows = 0
    private var isFirst = true
    private let options: ImportOptions
    private let known: Schema
    private var isGeoJSON = false

    private init(_ options: ImportOptions, _ known: Schema) {
        self.options = options
        self.known = known
    }

    /// Reads a file until its classes are known.
    ///
    /// Invalid lines and records are left for the import to report.
    static func classes(
        in file: FileReader, _ format: TransferFormat, _ options: ImportOptions,
        besides known: Schema
    ) throws -> Result {
        let inference = ClassInference(options, known)
        if format == .csv || format == .tsv {
            try inference.readCSV(file)
        } else {
            try inference.readTrees(TreeRows(file, format, options))
        }
        return try inference.finished()
    }

    private func finished() throws -> Result {
        if let declared { return Result(classes: declared) }
        var result = Result()
        for name in order {
            guard let guess = guesses[name] else { continue }
            let (classSchema, renames, notes) = try guess.finished(name)
            result.classes.append(classSchema)
            result.renames[name] = renames
            result.notes += notes
            for (field, property) in renames
            where isGeoJSON && field.hasPrefix(GeoJSONFeature.prefix) {
                result.notes.append(
                    "the features have a property and a member with one name: '\(field)' is "
                        + "'\(name).\(property)'; --map \(field)=NAME renames it")
            }
        }
        return result
    }

    private var isEnough: Bool { declared != nil || options.sample.map { rows >= $0 } ?? false }

    private func readTrees(_ rows: TreeRows) throws {
        while !isEnough, try rows.reader.next() {
            let tape: JSONTape
            do { tape = try rows.parse() } catch is FormatError { continue }
            isGeoJSON = rows.areFeatures
            try look(
                tape,
                section: isGeoJSON
                    ? options.className ?? GeoJSONFeature.className : rows.reader.section)
        }
    }

    private func readCSV(_ file: FileReader) throws {
        guard let name = options.className else { return }
        let table = try CSVReader(file, options.csv)
        let guess = self.guess(of: name, isUntyped: true)
        for name in table.names { guess.index(of: name) }
        while !isEnough, try table.next() {
            // Invalid records do not contribute to the types.
            guard table.fault == nil, table.count == table.names.count else { continue }
            guess.add(table)
            rows += 1
        }
    }

    // MARK: Rows of JSON

    private func look(_ tape: JSONTape, section: String?) throws {
        defer { isFirst = false }
        guard tape.kind(0) == .object else { return }
        if isFirst, let classes = try SchemaJSON.schema(tape, section: section) {
            declared = classes
            return
        }
        rows += 1
        var name = section ?? options.className
        var position = 1
        if let own = RowName.className(tape, known, isGiven: name != nil) {
            name = own
            position = 3
        }
        guard let name, known.find(name) == nil else { return }
        add(tape, from: position, to: guess(of: name, isUntyped: false))
    }

    private func guess(of name: String, isUntyped: Bool) -> ClassGuess {
        if let guess = guesses[name] { return guess }
        order.append(name)
        let guess = ClassGuess(
            isUntyped: isUntyped, options, hasRepetitions: options.links.values.contains(name))
        guesses[name] = guess
        assert(order.count == guesses.count, "the order has each class once")
        return guess
    }

    /// Adds the members of an object whose first member is at `start`.
    private func add(_ tape: JSONTape, from start: Int, to guess: ClassGuess) {
        guess.startRow()
        var position = start
        while tape.kind(position) != .end {
            let value = position + 1
            if !RowName.isNumber(tape, position, start) {
                guess.add(tape, position, value)
                if !options.links.isEmpty { addLinked(tape, position, value) }
            }
            position = tape.after(value)
        }
    }

    /// Adds the nested objects of a member that becomes a link.
    private func addLinked(_ tape: JSONTape, _ name: Int, _ value: Int) {
        let member = tape.text(name)
        guard let target = options.links[member] ?? options.links[options.names[member] ?? member],
            known.find(target) == nil
        else { return }
        switch tape.kind(value) {
        case .object:
            add(tape, from: value + 1, to: guess(of: target, isUntyped: false))
        case .array:
            JSONNode(tape, value).forEachElement { element in
                guard element.kind == .object else { return }
                add(tape, from: element.index + 1, to: guess(of: target, isUntyped: false))
            }
        default: break
        }
    }
}

/// The members of a row that contain its class and its number in an export.
enum RowName {
    private static let classMember = Array("$class".utf8)
    private static let numberMember = Array("$key".utf8)

    /// Returns the class name in the first member of a row; nil if this member is data.
    ///
    /// If the class of the rows is specified, the member is data unless it contains the name of a class of the schema.
    static func className(_ tape: JSONTape, _ schema: Schema, isGiven: Bool) -> String? {
        guard tape.kind(1) == .string, tape.equals(1, classMember), tape.kind(2) == .string else {
            return nil
        }
        let name = tape.text(2)
        return !isGiven || schema.find(name) != nil ? name : nil
    }

    /// Returns whether a member is the number that other rows use to link to this row; `first` is the index of the
    /// first member after the class.
    static func isNumber(_ tape: JSONTape, _ member: Int, _ first: Int) -> Bool {
        member == first && tape.kind(member + 1) == .int && tape.equals(member, numberMember)
    }
}

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
        assert(
            guesses.count == names.count && indexes.count == names.count
                && utf8.count == names.count, "each name has its guess")
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

/// Assigns columns to properties, by one rule for new and existing classes.
///
/// 1. A name in the options.
/// 2. For a foreign key to objects: the name of the link, such as `owner` for `owner_id`.
/// 3. The column's own name, if a property can have it.
/// 4. A similar name, such as `unit_price` for `unit price`, with a number if it is taken.
///
/// The result depends only on the columns and the options. Therefore a second import of the same table uses the same
/// properties.
struct ColumnNames {
    private var taken: Set<String> = []

    /// Returns a name that no other property has: the wanted name, or the first free variant of it.
    mutating func unique(_ wanted: String) -> String {
        var name = wanted
        var number = 1
        while !taken.insert(name).inserted {
            number += 1
            name = Self.numbered(wanted, number)
        }
        return name
    }

    /// Returns the variant of a name that is used for its second, third … column.
    static func numbered(_ name: String, _ number: Int) -> String { "\(name)_\(number)" }

    /// Returns the property of each column; nil for columns that are omitted.
    ///
    /// `link` is the wanted name of a link; `given` returns the name from the options, which is empty for an omitted
    /// column. Throws a `FormatError` if the options give two columns the same name.
    mutating func properties(
        of columns: [(name: String, link: String?)], given: (String) -> String?
    ) throws -> [String?] {
        var result = [String?](repeating: nil, count: columns.count)
        var rest: [Int] = []
        for (index, column) in columns.enumerated() {
            guard let name = given(column.name) else {
                rest.append(index)
                continue
            }
            guard !name.isEmpty else { continue }
            guard taken.insert(name).inserted else {
                throw FormatError("two columns map to '\(name)'")
            }
            result[index] = name
        }
        let names = Set(columns.map(\.name))
        for index in rest {
            let link = columns[index].link.flatMap { names.contains($0) ? nil : $0 }
            let own = SchemaNames.isName(columns[index].name) ? columns[index].name : nil
            result[index] = [link, own].compactMap(\.self).first { taken.insert($0).inserted }
        }
        for index in rest where result[index] == nil {
            result[index] = unique(SchemaNames.property(columns[index].name))
        }
        return result
    }
}

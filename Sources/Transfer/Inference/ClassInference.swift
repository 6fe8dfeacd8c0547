import DataFormats
import ObjectStore

/// Infers the classes of a file from the schema in the file, or from the values of its rows.
///
/// All rows count unless the options limit them. A property that is missing in some row becomes optional. A property
/// with values of different kinds becomes mixed. Text becomes a number, a boolean, a date or a UUID only if every text
/// equals a value of this type. A property called `id` or `_id` becomes the primary key if every row has another value.
final class ClassInference {
    /// The classes of a file.
    struct Result {
        var classes: [ClassSchema] = []
        /// The properties of fields whose names are not valid property names, by class and field.
        var renames: [String: [String: String]] = [:]
        /// Notes about decisions that can surprise users.
        var notes: [String] = []
    }

    private var declared: [ClassSchema]?
    private var guesses: [String: ClassGuess] = [:]
    private var order: [String] = []
    private var rows = 0
    private var isFirst = true
    private let options: ImportOptions
    private let known: Schema
    private let flat = JSONTape()
    private var readsTypedRows = true
    private var isGeoJSON = false

    private init(_ options: ImportOptions, _ known: Schema) {
        self.options = options
        self.known = known
    }

    /// Reads a file until its classes are known.
    ///
    /// Invalid lines and records are left for the import to report. Unless `readsTypedRows`, the header of a CSV file is enough if
    /// the options give the types of all columns.
    static func classes(
        in file: FileReader, _ format: TransferFormat, _ options: ImportOptions,
        besides known: Schema, readsTypedRows: Bool = true
    ) throws -> Result {
        let inference = ClassInference(options, known)
        inference.readsTypedRows = readsTypedRows
        do {
            switch format {
            case .jsonLines: try inference.readLines(file)
            case .json: try inference.readJSON(JSONRowReader(file, path: options.records))
            case .geoJSON: try inference.readJSON(.features(file))
            case .csv, .tsv: try inference.readCSV(file)
            case .lua: try inference.readLua(file)
            case .sqlite, .realm, .postgres: break
            }
        } catch is Enough {}
        return try inference.finished()
    }

    private struct Enough: Error {}

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

    private func readLines(_ file: FileReader) throws {
        let reader = JSONLineReader(file)
        while !isEnough, try reader.advance() {
            do { try reader.parse() } catch is FormatError { continue }
            try look(reader.tape, section: nil)
        }
    }

    private func readJSON(_ reader: JSONRowReader) throws {
        while !isEnough, try reader.next() {
            if reader.isGeoJSON {
                isGeoJSON = true
                GeoJSONFeature.flatten(reader.tape, onto: flat)
                try look(flat, section: options.className ?? GeoJSONFeature.className)
            } else {
                try look(reader.tape, section: reader.section)
            }
        }
    }

    private func readLua(_ file: FileReader) throws {
        let reader = LuaDataReader(file) { [self] in
            try look($0.tape, section: $0.section)
            if isEnough { throw Enough() }
        }
        try reader.read()
    }

    private func readCSV(_ file: FileReader) throws {
        guard let name = options.className else { return }
        let table = try CSVTable(file, options.csv)
        let guess = self.guess(of: name, isUntyped: true)
        for name in table.names { guess.index(of: name) }
        let isTyped = table.names.allSatisfy { field in
            let name = options.names[field] ?? field
            return name.isEmpty || options.types[field] ?? options.types[name] != nil
        }
        if isTyped, !readsTypedRows { return }
        while !isEnough, try table.next() {
            // Invalid records do not contribute to the types.
            guard table.reader.fault == nil, table.reader.count == table.names.count else {
                continue
            }
            guess.add(table.reader)
            rows += 1
        }
    }

    // MARK: Rows of JSON

    private func look(_ tape: JSONTape, section: String?) throws {
        defer { isFirst = false }
        guard tape.kind(0) == .object else { return }
        if section == "$schema", isFirst, let classes = try SchemaJSON.schema(tape, 0) {
            declared = classes
            return
        }
        if section == nil, isFirst, let classes = try SchemaJSON.schema(ofLine: tape) {
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
